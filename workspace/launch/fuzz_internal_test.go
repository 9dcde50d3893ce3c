package launch

import (
	"bytes"
	"io"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// FuzzSpec: whatever comes through the pipe is refused, or can be started as it
// stands and says the same when it is sent again: no field is lost on the way.
func FuzzSpec(f *testing.F) {
	umask := 0o22
	for _, s := range []Spec{
		{Argv: []string{"true"}},
		{Argv: []string{"a", ""}, Dir: "/x", Env: []string{"A=b"}, Nice: 5, OOMScore: 300, Umask: &umask, Limits: map[string]uint64{"core": 0}},
		{Argv: []string{"a"}, Profile: &Profile{Name: "p", Read: []string{"/"}, Write: []string{"/tmp"}, List: []string{"/"}, Ports: []uint16{}, NoUnix: true, KeepModes: true, Capabilities: []string{"chown"}}},
		{Argv: []string{"a"}, Profile: &Profile{Ports: []uint16{443}}},
		{Argv: []string{"a"}, Profile: &Profile{NoTCP: true}},
	} {
		data, err := s.encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	for _, text := range []string{
		``, `{}`, `null`, `[]`, `{"version":1}`, `{"version":2,"argv":["a"]}`, `{"version":1,"argv":["a"]}{}`, `{"version":1,"argv":["a"],"profil":{}}`,
		`{"version":1,"argv":["a"],"profile":{"no_unixx":true}}`, `{"version":1,"argv":["a\u0000"]}`, `{"version":1,"argv":["a"],"profile":{"write":["/../x"]}}`,
		`{"version":1,"argv":["a"],"profile":{"name":""},"Profile":null}`, `{"version":1,"argv":["a\u0000ff"]}`, `{"version":1,"argv":["a\u000041"]}`,
		`{"version":1,"argv":["a"],"profile":{"name":"","ports":null,"capabilities":["sys_admin"]}}`,
		`{"version":1,"argv":["a"],"nice":99}`, `{"version":1,"argv":["a"],"limits":{"x":1}}`, `{"version":1,"argv":["a"],"umask":-1}`,
		`{"version":1,"argv":["a"],"profile":{"ports":[70000]}}`, `{"version":1,"argv":["a"],"profile":{"ports":[],"no_tcp":true}}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := decode(bytes.NewReader(data))
		if err != nil {
			return
		}
		if err := s.check(); err != nil {
			t.Fatalf("what is decoded is wrong: %v", err)
		}
		again, err := s.encode()
		if err != nil || !bytes.Equal(data, again) {
			t.Fatalf("%v: %s became %s", err, data, again)
		}
	})
}

// FuzzBytes: whatever bytes paths, arguments and variables are of, they come out as
// they went in.
func FuzzBytes(f *testing.F) {
	for _, text := range []string{"", "a", "\xff", "\xc3\x28 \xe2\x82", "ü\xed\xa0\x80\ufffd", "<&>\u2028"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.ContainsRune(text, 0) || text == "" {
			return
		}
		in := &Spec{Argv: []string{text, ""}, Dir: filepath.Clean("/" + text), Env: []string{text}, Profile: &Profile{Write: []string{filepath.Clean("/" + text)}, Ports: []uint16{}}}
		data, err := in.encode()
		if err != nil {
			t.Fatal(err)
		}
		if out, err := decode(bytes.NewReader(data)); err != nil || !reflect.DeepEqual(in, out) {
			t.Fatalf("%v: %+v became %+v", err, in, out)
		}
	})
}

// A specification without an end isn't read for ever.
func TestSpecIsBounded(t *testing.T) {
	endless := io.MultiReader(strings.NewReader(`{"version":1,"argv":["`), blanks{})
	if _, err := decode(endless); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("got %v", err)
	}
}

type blanks struct{}

func (blanks) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}
