package jsonlite_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"waymark/sdk-guest/jsonlite"
)

func TestWriter(t *testing.T) {
	var w jsonlite.Writer
	w.BeginObject()
	w.Key("list")
	w.BeginArray()
	w.String("a\"b")
	w.Int(-3)
	w.BeginObject()
	w.EndObject()
	w.BeginArray()
	w.EndArray()
	w.EndArray()
	w.RawKey(`"yes"`)
	w.Bool(true)
	w.Key("none")
	w.Null()
	w.Key("raw")
	w.Raw([]byte(`{"x":1}`))
	w.Key("more")
	w.Grow(20)
	w.BeginArray()
	w.RawString(`1,2`)
	w.RawString(`3`)
	w.EndArray()
	w.EndObject()
	want := `{"list":["a\"b",-3,{},[]],"yes":true,"none":null,"raw":{"x":1},"more":[1,2,3]}`
	if got := string(w.Bytes()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestEveryByte puts every byte at every place of a word, between others that stand
// for themselves.
func TestEveryByte(t *testing.T) {
	for c := range 256 {
		for _, other := range []byte{'a', ' ', '~', 0x7f, '!', '#', '[', ']'} {
			for at := range 17 {
				text := bytes.Repeat([]byte{other}, 17)
				text[at] = byte(c)
				lit := jsonlite.AppendString(nil, string(text))
				var got string
				if err := json.Unmarshal(lit, &got); err != nil || got != string([]rune(string(text))) || jsonlite.StringLen(string(text)) != len(lit) {
					t.Fatalf("%q is written as %s, which is %q, %v", text, lit, got, err)
				}
			}
		}
	}
}

func FuzzString(f *testing.F) {
	for _, s := range []string{"", "plain", "\"\\/\b\f\n\r\t\x00\x1f\x7f", "é😀\u2028", "\xff\xc3", "\xed\xa0\x80", "a\xffb"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		lit := jsonlite.AppendString(nil, s)
		if n := jsonlite.StringLen(s); n != len(lit) {
			t.Fatalf("%q is written as %s, %d bytes: StringLen says %d", s, lit, len(lit), n)
		}
		var theirs string
		if err := json.Unmarshal(lit, &theirs); err != nil {
			t.Fatalf("%q is written as %s: %v", s, lit, err)
		}
		v, err := jsonlite.Parse(lit, jsonlite.Options{})
		if err != nil {
			t.Fatalf("%q is written as %s: %v", s, lit, err)
		}
		ours, _ := v.Text()
		want := string([]rune(s)) // each bad byte becomes U+FFFD
		if ours != want || theirs != want {
			t.Fatalf("%q comes back as %q, encoding/json reads %q", s, ours, theirs)
		}
		if utf8.ValidString(s) && ours != s {
			t.Fatalf("%q comes back as %q", s, ours)
		}
	})
}

func BenchmarkAppendString(b *testing.B) {
	s := strings.Repeat("a description of ordinary length. ", 8)
	buf := make([]byte, 0, 2*len(s))
	b.SetBytes(int64(len(s)))
	for b.Loop() {
		buf = jsonlite.AppendString(buf[:0], s)
	}
}
