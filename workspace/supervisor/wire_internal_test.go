package supervisor

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"waymark/workspace/launch"
)

// These are internal: the other end of the protocol is what they play.

// FuzzReadFrame: whatever arrives, the decoder takes no more memory than what has
// arrived, and what it takes is what was sent.
func FuzzReadFrame(f *testing.F) {
	var b bytes.Buffer
	if err := writeFrame(&b, request{ID: 1, Method: "list"}, []byte("data")); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte("\xff\xff\xff\xff\xff\xff\xff\xff"))
	f.Add([]byte("\x00\x7f\xff\xff\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, in []byte) {
		r := bytes.NewReader(in)
		head, data, err := readFrame(r, maxHead, maxData)
		if err != nil {
			return
		}
		if used := len(in) - r.Len(); used != 8+len(head)+len(data) || !bytes.Equal(in[8:used], append(bytes.Clone(head), data...)) {
			t.Errorf("of %q it made %q and %q", in, head, data)
		}
		var q request
		if decode(head, &q) != nil {
			return
		}
		var again bytes.Buffer
		if err := writeFrame(&again, q, data); err != nil {
			t.Fatal(err)
		}
		if _, data2, err := readFrame(&again, maxHead, maxData); err != nil || !bytes.Equal(data, data2) {
			t.Errorf("%q, %v", data2, err)
		}
	})
}

func TestFrameBounds(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := writeFrame(&b, strings.Repeat("x", maxHead), nil); !errors.Is(err, errTooLarge) {
		t.Error(err)
	}
	if err := writeFrame(&b, 1, make([]byte, maxData+1)); !errors.Is(err, errTooLarge) {
		t.Error(err)
	}
	if _, _, err := readFrame(strings.NewReader("\x00\x00\x10\x01\x00\x00\x00\x00"), maxHello, 0); !errors.Is(err, errTooLarge) {
		t.Error(err)
	}
}

// pair returns two ends of a connection.
func pair(t *testing.T) (a, b *net.UnixConn) {
	t.Helper()
	dir, err := os.MkdirTemp("", "wm")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, "s"), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	if a, err = net.DialUnix("unix", nil, l.Addr().(*net.UnixAddr)); err != nil {
		t.Fatal(err)
	}
	if b, err = l.AcceptUnix(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = a.Close(), b.Close() })
	_ = a.SetDeadline(time.Now().Add(time.Minute))
	return a, b
}

// TestHandshake: both ends must know the key, and each end notices when the other
// one doesn't.
func TestHandshake(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		theirs string
		ok     bool
	}{"same key": {"key", true}, "another key": {"other", false}} {
		a, b := pair(t)
		type result struct {
			role string
			err  error
		}
		greeted := make(chan result, 1)
		go func() {
			role, err := greet(b, []byte("key"), "instance")
			greeted <- result{role, err}
			_ = b.Close()
		}()
		h, err := introduce(a, []byte(test.theirs), roleOwned)
		got := <-greeted
		switch {
		case test.ok && (err != nil || got.err != nil || got.role != roleOwned || h.Instance != "instance"):
			t.Errorf("%s: %v, %+v", name, err, got)
		case !test.ok && (!errors.Is(err, fs.ErrPermission) || !errors.Is(got.err, fs.ErrPermission)):
			t.Errorf("%s: %v, %v", name, err, got.err)
		}
	}
	// Who listens in the supervisor's place and knows no key is noticed, too.
	a, b := pair(t)
	go func() {
		var h hello
		_ = writeFrame(b, hello{Oldest: 1, Newest: 1, Nonce: nonce()}, nil)
		_ = readHello(b, &h)
		_ = writeFrame(b, welcome{Proof: h.Proof, Protocol: 1}, nil)
	}()
	if _, err := introduce(a, []byte("key"), roleCalls); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("an impostor: %v", err)
	}
}

// TestVersions: an older or newer end is spoken to where that can be, and else
// told apart with what to do.
func TestVersions(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ oldest, newest, want int }{
		{1, 1, 1}, {1, 7, 1}, {0, 1, 1}, {2, 3, 0}, {0, 0, 0},
	} {
		if got := version(&hello{Oldest: test.oldest, Newest: test.newest}); got != test.want {
			t.Errorf("with %d to %d it is %d, not %d", test.oldest, test.newest, got, test.want)
		}
		a, b := pair(t)
		go func() {
			var h hello
			_ = writeFrame(b, hello{Oldest: test.oldest, Newest: test.newest, PID: 77, Program: "v9"}, nil)
			_ = readHello(b, &h)
			_ = b.Close()
		}()
		_, err := introduce(a, []byte("key"), roleCalls)
		if errors.Is(err, ErrProtocol) != (test.want == 0) || test.want == 0 && !strings.Contains(err.Error(), "77") {
			t.Errorf("%d to %d: %v", test.oldest, test.newest, err)
		}
	}
	// An older supervisor doesn't know a call: its error is told, and nothing else
	// is lost.
	c := &session{server: &server{}}
	if r, _ := c.call(t.Context(), &request{ID: 1, Method: "from the future"}, nil); !errors.Is(r.Error.err(), errors.ErrUnsupported) {
		t.Errorf("%+v", r)
	}
}

// TestSpecOnItsWay: a start arrives as it was, whatever bytes it has, and what a
// newer agent says of a profile is not passed over.
func TestSpecOnItsWay(t *testing.T) {
	t.Parallel()
	spec := &Spec{Argv: []string{"sh", "\xff\xfe"}, Dir: "/\x80", Env: []string{"A=\xf0"}, Token: "t", Profile: &launch.Profile{Name: "a", Read: []string{"/\xff"}}}
	data, err := json.Marshal(specToWire(spec))
	if err != nil {
		t.Fatal(err)
	}
	got, err := specFromWire(data)
	if diff := cmp.Diff(spec, got, cmpopts.IgnoreUnexported(launch.Profile{})); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	for text, ok := range map[string]bool{`{"New": 1}`: true, `{"Profile": {"name": "a"}}`: true, `{"Profile": {"name": "a", "no_x": true}}`: false} {
		if _, err := specFromWire([]byte(text)); (err == nil) != ok {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestOtherUser(t *testing.T) {
	t.Parallel()
	if err := sameUser(os.Geteuid() + 1); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("another user: %v", err)
	}
	a, b := pair(t)
	if err := errors.Join(samePeer(a), samePeer(b)); err != nil {
		t.Errorf("the same user: %v", err)
	}
}

func TestLookPath(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/tool", []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"tool": dir + "/tool", "./tool": dir + "/tool", "/x/y": "/x/y"} {
		if got, err := lookPath(name, dir, []string{"PATH=/nowhere:" + dir}); err != nil || got != want {
			t.Errorf("%s is %s, %v", name, got, err)
		}
	}
}
