package errtext_test

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"waymark/internal/errtext"
	"waymark/test/goisms"
)

type target struct {
	Name  string    `json:"name"`
	Count int       `json:"count"`
	Size  uint      `json:"size"`
	On    bool      `json:"on"`
	At    time.Time `json:"at"`
	List  []struct {
		Rate float64 `json:"rate"`
	} `json:"list"`
	Data  []byte            `json:"data"`
	Table map[string]string `json:"table"`
}

// TestOf: what Go's packages say is put in other words, however deep it is
// wrapped, and what stands around it stays.
func TestOf(t *testing.T) {
	failed := func(_ any, err error) error { return err }
	v1 := func(text string) error { return json.Unmarshal([]byte(text), new(target)) }
	v2 := func(text string) error {
		return jsonv2.Unmarshal([]byte(text), new(target), jsonv2.RejectUnknownMembers(true))
	}
	strict := func(text string) error {
		dec := json.NewDecoder(strings.NewReader(text))
		dec.DisallowUnknownFields()
		return dec.Decode(new(target))
	}
	dir := t.TempDir()
	var noDial net.Dialer
	_, refused := noDial.DialContext(t.Context(), "unix", dir+"/s")
	_, noURL := url.Parse("http://a b/") //nolint:staticcheck // that is what it is for
	_, get := http.Get("http://unix.invalid:99999/")
	for _, c := range []struct {
		err  error
		want string
	}{
		{v1(`{"name":3}`), `"name" must be a string, not a number`},
		{v1(`{"count":"x"}`), `"count" must be a whole number, not a string`},
		{v1(`{"count":1.5}`), `"count" must be a whole number, not a number`},
		{v1(`{"list":[{"rate":"x"}]}`), `"list.rate" must be a number, not a string`},
		{v1(`[]`), `it must be an object, not a list`},
		{v1(`{`), `unexpected end of JSON input`},
		{v1(`nonsense`), `invalid character 'o' in literal null (expecting 'u')`},
		{strict(`{"nme":3}`), `unknown field "nme"`},
		{strict(`{`), `it ends too early`},
		{v2(`{"name":3}`), `"name" must be a string, not a number`},
		{v2(`{"on":"x"}`), `"on" must be true or false, not a string`},
		{v2(`{"on":1}`), `"on" must be true or false, not a number`},
		{v2(`{"size":-1}`), `"size" must be a whole number from 0`},
		{v2(`{"size":{}}`), `"size" must be a whole number from 0, not an object`},
		{v2(`{"at":true}`), `"at" must be a time such as 2026-01-02T15:04:05Z, not true or false`},
		{v2(`{"data":[]}`), `"data" must be a string, not a list`},
		{v2(`{"table":[]}`), `"table" must be an object, not a list`},
		{v2(`{"list":[{"rate":"x"}]}`), `"list.0.rate" must be a number, not a string`},
		{v2(`{"nme":3}`), `unknown key "nme"`},
		{v2(`{"name":"a","name":"b"}`), `"name" is there twice`},
		{v2(`[]`), `it must be an object, not a list`},
		{failed(strconv.Atoi("x")), `"x" isn't a whole number`},
		{failed(strconv.ParseUint("-1", 10, 8)), `"-1" isn't a whole number from 0`},
		{failed(strconv.ParseInt("999", 10, 8)), `"999" is out of range`},
		{failed(strconv.ParseBool("x")), `"x" isn't true or false`},
		{failed(strconv.ParseFloat("x", 64)), `"x" isn't a number`},
		{failed(time.ParseDuration("x")), `invalid duration "x"`},
		{failed(time.Parse(time.RFC3339, "x")), `"x" isn't a time such as 2026-01-02T15:04:05Z`},
		{failed(hex.DecodeString("x")), `invalid byte: U+0078 'x'`},
		{failed(hex.DecodeString("abc")), `an odd number of hexadecimal digits`},
		{failed(os.Open(dir + "/no")), dir + "/no: no such file or directory"},
		{failed(os.Lstat(dir + "/no")), dir + "/no: no such file or directory"},
		{failed(os.Open(dir + "/\n")), strconv.Quote(dir+"/\n") + ": no such file or directory"},
		{failed(os.ReadFile(dir)), "can't read " + dir + ": is a directory"},
		{os.Mkdir(dir, 0o700), "can't make the directory " + dir + ": file exists"},
		{os.Remove(dir + "/no"), "can't remove " + dir + "/no: no such file or directory"},
		{os.Rename(dir+"/a", dir+"/b"), "can't rename " + dir + "/a to " + dir + "/b: no such file or directory"},
		{exec.Command("no-such-program").Run(), `"no-such-program" can't be started: it isn't installed, or not in $PATH`},
		{refused, "can't connect to " + dir + "/s: no such file or directory"},
		{failed(net.Listen("unix", dir+"/no/s")), "can't listen on " + dir + "/no/s: no such file or directory"},
		{noURL, `"http://a b/" isn't a URL: invalid character " " in host name`},
		{get, `can't connect`},
		{context.DeadlineExceeded, "the time is up"},
		{context.Canceled, "interrupted"},
		{io.ErrUnexpectedEOF, "it ends too early"},
		{nil, ""},
		{errors.New("as it is: json is mine"), "as it is: json is mine"},
	} {
		got := errtext.Of(c.err)
		if got != c.want && (c.want != "can't connect" || got == "") {
			t.Errorf("%v\n is %q\n want %q", c.err, got, c.want)
		}
		if c.err == nil {
			continue
		}
		if found := goisms.Find(got); found != "" {
			t.Errorf("%q holds %q", got, found)
		}
		wrapped := errors.Join(fmt.Errorf("a (%w): b", fmt.Errorf("c: %w", c.err)), errors.New("d"))
		if text, want := errtext.Of(wrapped), "a (c: "+got+"): b\nd"; text != want {
			t.Errorf("wrapped: %q, want %q", text, want)
		}
	}
}

// TestHidden: an error whose text doesn't quote what it wraps keeps it.
func TestHidden(t *testing.T) {
	_, inner := os.Open("/no/such/secret")
	if got := errtext.Of(&hidden{inner}); got != "the file is secret" {
		t.Errorf("%q", got)
	}
}

type hidden struct{ err error }

func (*hidden) Error() string   { return "the file is secret" }
func (h *hidden) Unwrap() error { return h.err }
