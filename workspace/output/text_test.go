package output_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"waymark/workspace/output"
)

// plain is what data is as text, in the simplest way.
func plain(data []byte) string { return string([]rune(string(data))) }

func TestRuneEnd(t *testing.T) {
	for _, c := range []struct {
		data  string
		limit int
		last  bool
		want  int
	}{
		{"", 9, false, 0}, {"abc", 9, false, 3}, {"abc", 2, false, 2},
		{"aé", 2, false, 1}, {"é", 1, false, 2}, {"日本", 4, false, 3}, {"😀", 3, false, 4},
		{"a\xe2\x82", 9, false, 1}, {"a\xe2\x82", 9, true, 3}, {"\xe2\x82", 9, false, 0}, {"\xe2\x82", 1, false, 0},
		{"\xe2\x82A", 2, false, 2}, {"a\xff", 2, false, 2}, {"\x80\x80\x80\x80\x80", 3, false, 3}, {"\xf0\x9f\x98", 9, true, 3},
	} {
		if got := output.RuneEnd([]byte(c.data), c.limit, c.last); got != c.want {
			t.Errorf("%q to %d, last %v: %d, want %d", c.data, c.limit, c.last, got, c.want)
		}
	}
}

// FuzzPages: pages of whatever sizes, taken while the output grows, are together
// what the whole is; each is whole runes and more than nothing, but for where
// only half a rune is there.
func FuzzPages(f *testing.F) {
	f.Add([]byte("aé日😀\xff\xe2\x82\xf0\x9f\x98\x80"), []byte{1, 2, 3, 0, 9})
	f.Add([]byte("\x80\x80\x80\x80\x80\xe2"), []byte{1})
	f.Add([]byte(strings.Repeat("日", 40)), []byte{7, 1, 0, 200})
	f.Fuzz(func(t *testing.T, whole, steps []byte) {
		var text strings.Builder
		at, there := 0, 0
		for i := 0; at < len(whole); i++ {
			step := byte(i)
			if len(steps) > 0 && i < 4*len(whole) {
				step = steps[i%len(steps)]
			}
			there = min(len(whole), there+int(step&7))
			if i >= 4*len(whole) {
				there = len(whole)
			}
			limit := 1 + int(step>>3)
			window := whole[at:min(there, at+limit+utf8.UTFMax-1)]
			last := there == len(whole) && at+len(window) == there
			n := output.RuneEnd(window, limit, last)
			if n < 0 || n > len(window) || n > max(limit, utf8.UTFMax) {
				t.Fatalf("%d of %q within %d", n, window, limit)
			}
			if n == 0 && len(window) > 0 && (last || utf8.FullRune(window)) {
				t.Fatalf("nothing of %q within %d", window, limit)
			}
			page := output.ToText(window[:n])
			if !utf8.ValidString(page) {
				t.Fatalf("not text: %q", page)
			}
			text.WriteString(page)
			at += n
		}
		if got := text.String(); got != plain(whole) {
			t.Errorf("got %q, want %q", got, plain(whole))
		}
	})
}
