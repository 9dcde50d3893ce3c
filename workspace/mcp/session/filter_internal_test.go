package session

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
)

// This file tests what no public function shows alone: what comes out of the filter,
// to the byte.

// FuzzLineFilter: whatever a server writes, only messages come through, each on a line,
// and what doesn't is told.
func FuzzLineFilter(f *testing.F) {
	for _, seed := range []string{
		"", "\n\r\n", "hello\n", `{"jsonrpc":"2.0","id":1,"result":{}}`, "[\n{\n", `[{"jsonrpc":"2.0","method":"a"},{"jsonrpc":"2.0","id":1,"result":[[[[]]]]}]` + "\n",
		`{"a":"\"{[","b":[{"c":"}"}]}` + "\nx", strings.Repeat("x", 300), strings.Repeat("[", 600) + strings.Repeat("]", 600) + "\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, said []byte) {
		const most = 4096
		filter := newLineFilter(io.NopCloser(bytes.NewReader(said)), most, func(line []byte) {
			if len(line) == 0 || len(line) > maxNoise || !bytes.Contains(said, line) {
				t.Errorf("told %q", line)
			}
		})
		got, err := io.ReadAll(filter)
		if err != nil && !strings.Contains(err.Error(), "more than") {
			t.Fatal(err)
		}
		for line := range bytes.Lines(got) {
			if !json.Valid(line) || !bytes.HasSuffix(line, []byte("\n")) || line[0] != '{' {
				t.Errorf("%q comes through", line)
			}
		}
	})
}

// TestPrune: what is nested too deep becomes null, and the rest stays to the byte, in
// whatever pieces it comes.
func TestPrune(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		`{"a":[1,[2,[3]]],"b":"[[[["}`: `{"a":[1,null],"b":"[[[["}`,
		`{"a":"\"[[[","b":{"c":{}}}`:   `{"a":"\"[[[","b":{"c":null}}`,
		`[[]]`:                         `[[]]`,
		`]]]{"a":1}`:                   `]]]{"a":1}`,
	} {
		if got := prune([]byte(src), 2); string(got) != want {
			t.Errorf("%s becomes %s, want %s", src, got, want)
		}
		p := pruner{max: 2}
		var got []byte
		for i := range len(src) {
			got = p.append(got, []byte{src[i]})
		}
		if string(got) != want {
			t.Errorf("%s in pieces becomes %s, want %s", src, got, want)
		}
	}
}

// TestPruneEvents: in a stream of events each is cut for itself, also one that isn't
// JSON to its end.
func TestPruneEvents(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", maxNesting+1)
	src := "data: " + deep + "\r\n\r\n: note\n\ndata: {\"a\":\ndata: [1]}\n\n"
	want := "data: " + deep[:maxNesting] + "null" + "\n\n: note\n\ndata: {\"a\":\ndata: [1]}\n\n"
	for _, size := range []int{1, 2, 7, 4096} {
		body := newEventsBody(io.NopCloser(strings.NewReader(src)), 1<<20, nil)
		var got bytes.Buffer
		if _, err := io.CopyBuffer(struct{ io.Writer }{&got}, struct{ io.Reader }{body}, make([]byte, size)); err != nil {
			t.Fatal(err)
		}
		if strings.ReplaceAll(got.String(), "\r", "") != want {
			t.Errorf("in pieces of %d: %q\nwant %q", size, got.String(), want)
		}
	}
}
