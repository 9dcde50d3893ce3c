//go:build !wasip1

package c_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os/exec"
	"sync"
	"testing"

	"waymark/sdk-guest/frontmatter"
	"waymark/sdk-guest/frontmatter/frontmattertest"
	"waymark/sdk-guest/jsonlite"
)

// oracle is the probe as a process that answers questions.
type oracle struct {
	t testing.TB

	mu     sync.Mutex // one question at a time
	in     io.WriteCloser
	out    io.Reader
	stderr bytes.Buffer
	cmd    *exec.Cmd
}

func newOracle(t testing.TB) *oracle {
	t.Helper()
	path, err := native()
	need(t, err)
	o := &oracle{t: t, cmd: exec.Command(path)}
	o.cmd.Stderr = &o.stderr
	if o.in, err = o.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if o.out, err = o.cmd.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := o.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(o.end)
	return o
}

// end ends the process, which then says what it has leaked.
func (o *oracle) end() {
	_ = o.in.Close()
	if err := o.cmd.Wait(); err != nil {
		o.t.Errorf("the probe ends with %v:\n%s", err, o.stderr.String())
	}
}

// ask asks one question.
func (o *oracle) ask(t testing.TB, op, param byte, data []byte) string {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	question := binary.NativeEndian.AppendUint32(nil, uint32(len(data)+2))
	question = append(append(question, op, param), data...)
	var size [4]byte
	_, err := o.in.Write(question)
	if err == nil {
		_, err = io.ReadFull(o.out, size[:])
	}
	answer := make([]byte, binary.NativeEndian.Uint32(size[:]))
	if err == nil {
		_, err = io.ReadFull(o.out, answer)
	}
	if err != nil {
		t.Fatalf("the probe died of %c %d %q: %v", op, param, data, err)
	}
	return string(answer)
}

// goAnswer is what the Go SDK answers. ok is false for what it doesn't have.
func goAnswer(op, param byte, data []byte) (answer string, ok bool) {
	var w jsonlite.Writer
	switch op {
	case 'j':
		v, err := jsonlite.Parse(data, jsonlite.Options{})
		if err != nil {
			return "", true
		}
		echo(&w, v)
	case 'w':
		w.String(string(data))
	case 'f':
		w.BeginArray()
		block, rest, err := frontmatter.Find(data, param != 0)
		found := int64(0)
		switch {
		case errors.Is(err, frontmatter.ErrNone):
			found = 1
		case errors.Is(err, frontmatter.ErrOpen):
			found = 2
		}
		w.Int(found)
		w.String(string(block))
		w.String(string(rest))
		w.EndArray()
	case 's':
		return frontmattertest.Show(frontmatter.Parse(data, frontmatter.Options{Lenient: param != 0})), true
	case 'g':
		v, _ := frontmatter.Parse(data, frontmatter.Options{Lenient: true})
		for _, glob := range v.Get("globs").Globs() {
			answer += glob + "\n"
		}
		return answer, true
	default:
		return "", false
	}
	return string(w.Bytes()), true
}

func echo(w *jsonlite.Writer, v jsonlite.Value) {
	switch v.Kind() {
	case jsonlite.Object:
		w.BeginObject()
		for key, m := range v.Members() {
			w.Key(key)
			echo(w, m)
		}
		w.EndObject()
	case jsonlite.Array:
		w.BeginArray()
		for e := range v.Elements() {
			echo(w, e)
		}
		w.EndArray()
	case jsonlite.String:
		s, _ := v.Text()
		w.String(s)
	default:
		if n, err := v.Int(); err == nil {
			w.Int(n)
		} else {
			w.Raw(v.Raw())
		}
	}
}

// FuzzKit: the C kit answers like the Go SDK, and touches no byte that isn't
// its own (the probe runs under the address sanitizer).
func FuzzKit(f *testing.F) {
	for _, s := range seeds() {
		for _, op := range "jwtflr" {
			f.Add(byte(op), byte(len(s)), []byte(s))
		}
	}
	o := newOracle(f)
	f.Fuzz(func(t *testing.T, op, param byte, data []byte) {
		if op == 's' || op == 'g' { // for a host
			return
		}
		got := o.ask(t, op, param, data)
		if want, ok := goAnswer(op, param, data); ok && got != want {
			t.Errorf("%c %d %q:\ngot  %s\nwant %s", op, param, data, got, want)
		}
		if op == 't' {
			checkTruncated(t, string(data), int(param), got)
		}
		if op == 'r' && got[0] == '+' {
			if _, err := jsonlite.Parse([]byte(got[1:]), jsonlite.Options{}); err != nil {
				t.Errorf("the response to %q is not JSON: %v\n%s", data, err, got)
			}
		}
	})
}
