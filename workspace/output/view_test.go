package output_test

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"waymark/agentapi"
	"waymark/workspace/output"
)

const half = 16 << 10

// show is the view of a whole output.
func show(whole []byte, last bool) (string, *agentapi.OutputTruncated) {
	n := len(whole)
	head := output.Piece{Data: whole[:min(n, half)]}
	tail := output.Piece{Offset: int64(max(min(n, half), n-half))}
	tail.Data = whole[tail.Offset:]
	return output.Show(head, tail, int64(n), last)
}

var omission = regexp.MustCompile(`\n\n\.\.\. \[omitted (\d+) bytes\] \.\.\.\n\n`)

func TestShow(t *testing.T) {
	line := strings.Repeat("x", 99) + "\n"
	long := strings.Repeat("y", 5000)
	for _, c := range []struct {
		name, whole string
		last        bool
		want        string
		left        int64
	}{
		{"nothing", "", true, "", 0},
		{"short", "a\nb", true, "a\nb", 0},
		{"not text", "a\xffb\xe2\x82", true, "a\uFFFDb\uFFFD\uFFFD", 0},
		{"half a rune, running", "a\xe2\x82", false, "a", 0},
		{"the most that is shown whole", strings.Repeat(line, 327) + "12345678901234567\n", true, strings.Repeat(line, 327) + "12345678901234567\n", 0},
		{"a long line", "a\n" + long + "\nb", true, "a\n" + long[:2032] + " ... [truncated]\nb", 5000 - 2032},
		{"a line as long as may be", long[:2048] + "\n", true, long[:2048] + "\n", 0},
		{"a long line of runes", strings.Repeat("日", 1000), true, strings.Repeat("日", 677) + " ... [truncated]", 3000 - 677*3},
		{"lines", strings.Repeat(line, 1000), true,
			strings.Repeat(line, 163) + "\n\n... [omitted 67400 bytes] ...\n\n" + strings.Repeat(line, 163), 67400},
		{"one endless line", strings.Repeat("z", 100000), true,
			strings.Repeat("z", 2032) + " ... [truncated]\n\n... [omitted 67232 bytes] ...\n\n[truncated] ... " + strings.Repeat("z", 2032), 100000 - 4064},
		{"an endless line of runes", strings.Repeat("日", 50000), true,
			strings.Repeat("日", 677) + " ... [truncated]\n\n... [omitted 117234 bytes] ...\n\n[truncated] ... " + strings.Repeat("日", 677), 150000 - 2*677*3},
	} {
		got, truncated := show([]byte(c.whole), c.last)
		if got != c.want {
			t.Errorf("%s: got %.200q… (%d), want %.200q… (%d)", c.name, got, len(got), c.want, len(c.want))
		}
		switch {
		case c.left == 0 && truncated == nil:
		case truncated == nil || truncated.OmittedBytes != c.left || truncated.OriginalBytes != int64(len(c.whole)) || truncated.Strategy != "head_tail":
			t.Errorf("%s: %+v, want %d left out", c.name, truncated, c.left)
		}
	}
}

// TestShowOfWhatIsGone: the spool no longer has the beginning, or the middle.
func TestShowOfWhatIsGone(t *testing.T) {
	for _, c := range []struct {
		name       string
		head, tail output.Piece
		length     int64
		want       string
		left       int64
	}{
		{"the beginning", output.Piece{Offset: 50}, output.Piece{Offset: 90, Data: []byte("rest\nlast\n")}, 100, "\n\n... [omitted 95 bytes] ...\n\nlast\n", 95},
		{"all", output.Piece{}, output.Piece{}, 100, "\n\n... [omitted 100 bytes] ...\n\n", 100},
		{"the end, for now", output.Piece{Data: []byte("a\nb")}, output.Piece{}, 10, "a\n\n\n... [omitted 8 bytes] ...\n\n", 8},
	} {
		got, truncated := output.Show(c.head, c.tail, c.length, true)
		if got != c.want || truncated == nil || truncated.OmittedBytes != c.left {
			t.Errorf("%s: %q, %+v", c.name, got, truncated)
		}
	}
}

// FuzzShow compares the view with an oracle that goes by lines, and checks what
// must hold for all.
func FuzzShow(f *testing.F) {
	f.Add([]byte("abc\n"), 9000, []byte("tail\n"), true)
	f.Add([]byte("日本\xff"), 20000, []byte("\xe2\x82"), false)
	f.Add([]byte("xxxxxxxxxxxxxxxxxx"), 3000, []byte(""), true)
	f.Fuzz(func(t *testing.T, unit []byte, times int, end []byte, last bool) {
		if times < 0 || len(unit)*times > 1<<20 {
			return
		}
		whole := append(bytes.Repeat(unit, times), end...)
		got, truncated := show(whole, last)
		if !utf8.ValidString(got) {
			t.Fatalf("not text: %q", got)
		}
		for line := range strings.SplitSeq(got, "\n") {
			if len(line) > 3*2048+50 || utf8.Valid(whole) && len(line) > 2048 {
				t.Fatalf("a line of %d bytes", len(line))
			}
		}
		known := whole
		if !last {
			known = whole[:output.RuneEnd(whole, len(whole), false)]
		}
		if truncated == nil {
			if got != plain(known) {
				t.Fatalf("nothing is left out, and yet it is %q", got)
			}
			return
		}
		if truncated.OriginalBytes != int64(len(known)) || truncated.RetainedBytes+truncated.OmittedBytes != truncated.OriginalBytes || truncated.OmittedBytes <= 0 {
			t.Fatalf("%+v of %d", truncated, len(known))
		}
		if longest(whole) <= 2048 && !omission.Match(whole) {
			if want := byLines(known); got != want {
				t.Fatalf("got %q\nwant %q", got, want)
			}
		}
	})
}

func longest(data []byte) int {
	n := 0
	for line := range bytes.SplitSeq(data, []byte("\n")) {
		n = max(n, len(line))
	}
	return n
}

// byLines is the view of an output without long lines that is too large.
func byLines(whole []byte) string {
	lines := bytes.SplitAfter(whole, []byte("\n"))
	head, tail := 0, len(whole)
	for _, line := range lines {
		if head+len(line) > half {
			break
		}
		head += len(line)
	}
	for i := len(lines) - 1; i >= 0 && tail-len(lines[i]) > len(whole)-half; i-- {
		tail -= len(lines[i])
	}
	return plain(whole[:head]) + fmt.Sprintf("\n\n... [omitted %d bytes] ...\n\n", tail-head) + plain(whole[tail:])
}
