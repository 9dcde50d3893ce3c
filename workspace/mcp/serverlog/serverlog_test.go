package serverlog_test

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"waymark/workspace/mcp/serverlog"
)

var stamp = regexp.MustCompile(`(?m)^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z `)

// all reads a whole log, without times.
func all(t *testing.T, l *serverlog.Log) string {
	t.Helper()
	text, _, _ := l.Read(t.Context(), 0, 1<<30, 0)
	if n, lines := len(stamp.FindAllString(text, -1)), strings.Count(text, "\n"); n != lines {
		t.Errorf("%d of %d lines have a time: %s", n, lines, text)
	}
	return stamp.ReplaceAllString(text, "")
}

func TestLines(t *testing.T) {
	l := serverlog.New(1 << 20)
	l.Event("started\nas it is")
	w := l.Writer(serverlog.Stderr)
	for _, s := range []string{"one\r\nt", "wo", "\n\n", "bad \xff byte\nlast"} {
		if n, err := io.WriteString(w, s); n != len(s) || err != nil {
			t.Error(n, err)
		}
	}
	l.Line(serverlog.Noise, "hello")
	for range 2 {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}
	want := "event  started as it is\nstderr one\nstderr two\nstderr bad \ufffd byte\nstdout hello\nstderr last\n"
	if got := all(t, l); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// What is too long is cut, and said to be.
func TestLongLine(t *testing.T) {
	l := serverlog.New(1 << 20)
	w := l.Writer(serverlog.Stderr)
	for range 100 {
		_, _ = io.WriteString(w, strings.Repeat("é", 500))
	}
	_, _ = io.WriteString(w, "\nnext\n")
	l.Event(strings.Repeat("a\u00e9", 5000))
	got := strings.Split(all(t, l), "\n")
	if len(got) != 4 || !strings.HasSuffix(got[0], "é … (95904 bytes more)") || got[1] != "stderr next" || !strings.HasSuffix(got[2], " … (10904 bytes more)") {
		t.Errorf("%.300q", got)
	}
	for _, line := range got {
		if len(line) > 5000 || strings.Contains(line, "\ufffd") {
			t.Errorf("%d bytes: %.100q", len(line), line)
		}
	}
}

// The newest lines stay, whole; offsets go on counting.
func TestBounded(t *testing.T) {
	const size = 32 << 10
	l := serverlog.New(size)
	for i := range 5000 {
		l.Event(fmt.Sprintf("line %d é", i))
	}
	text, at, next := l.Read(t.Context(), 5, 1<<30, 0)
	if len(text) > size*5/4 || len(text) < size*3/4 || at == 5 || next != at+int64(len(text)) {
		t.Errorf("%d bytes from %d to %d", len(text), at, next)
	}
	if !stamp.MatchString(text[:25]) || !strings.HasSuffix(text, "line 4999 é\n") {
		t.Errorf("it begins with %.50q and ends with %q", text, text[len(text)-30:])
	}
	// In pieces it is the same.
	var pieces strings.Builder
	for offset := at; offset < next; {
		piece, from, to := l.Read(t.Context(), offset, 7, 0)
		if from != offset || to <= from || len(piece) > 7 || !utf8.ValidString(piece) {
			t.Fatalf("%q from %d to %d, at %d", piece, from, to, offset)
		}
		pieces.WriteString(piece)
		offset = to
	}
	if pieces.String() != text {
		t.Error("in pieces it is another text")
	}
	for _, c := range []struct{ offset, at int64 }{{-2, next - 1}, {-3, next - 3}, {next + 100, next}, {-1 << 40, at}} { // -2 is in a rune
		if _, got, _ := l.Read(t.Context(), c.offset, 0, 0); got != c.at {
			t.Errorf("from %d: at %d, want %d", c.offset, got, c.at)
		}
	}
}

func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := serverlog.New(0)
		start := time.Now()
		if text, at, next := l.Read(t.Context(), 0, 0, time.Second); text != "" || at != 0 || next != 0 || time.Since(start) != time.Second {
			t.Errorf("%q at %d, %d after %v", text, at, next, time.Since(start))
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if text, _, _ := l.Read(ctx, 0, 0, time.Hour); text != "" || time.Since(start) != 2*time.Second {
			t.Errorf("%q after %v", text, time.Since(start))
		}
		time.AfterFunc(time.Second, func() { l.Event("x") })
		var wg sync.WaitGroup
		for _, offset := range []int64{0, -1, 1 << 40} {
			wg.Go(func() {
				text, _, next := l.Read(t.Context(), offset, 0, time.Hour)
				if !strings.HasSuffix(text, "x\n") || next != int64(len(text)) || time.Since(start) != 3*time.Second {
					t.Errorf("from %d: %q to %d after %v", offset, text, next, time.Since(start))
				}
			})
		}
		wg.Wait()
	})
}

func TestRedacted(t *testing.T) {
	l := serverlog.New(0)
	w := l.Writer(serverlog.Stderr)
	_, _ = io.WriteString(w, "early 0a1b2c3d4e5f\nkept\n")
	_, _, before := l.Read(t.Context(), 0, 0, 0)
	l.Redact(serverlog.NewRedactor("0a1b2c3d4e5f").String)
	if text, _, next := l.Read(t.Context(), 0, 0, 0); strings.Contains(text, "0a1b2c3d") || !strings.Contains(text, " kept\n") || next != before {
		t.Errorf("what was there: %q", text)
	}
	_, _ = io.WriteString(w, "token=0a1b2c")
	_, _ = io.WriteString(w, "3d4e5f!\n")
	l.Event("exited: 0a1b2c3d4e5f")
	if got := since(t, l, before); got != "stderr token=[redacted]!\nevent  exited: [redacted]\n" {
		t.Errorf("got:\n%s", got)
	}
}

// TestRedactedAcross: a value is found wherever writes part it, and wherever a line is cut.
func TestRedactedAcross(t *testing.T) {
	const value = "0a1b2c3d4e5f6g7h"
	log := func(writes ...string) string {
		l := serverlog.New(1 << 20)
		l.Redact(serverlog.NewRedactor(value).String)
		w := l.Writer(serverlog.Stderr)
		for _, text := range writes {
			_, _ = io.WriteString(w, text)
		}
		_ = w.Close()
		text, _, _ := l.Read(t.Context(), 0, 1<<20, 0)
		return text
	}
	text := "x " + value + " y " + value + "\n" + value
	for i := range len(text) {
		for j := i; j <= len(text); j++ {
			got := log(text[:i], text[i:j], text[j:])
			if strings.Count(got, serverlog.Mask) != 3 || strings.Contains(got, "0a") || strings.Contains(got, "7h") {
				t.Fatalf("parted at %d and %d: %s", i, j, got)
			}
		}
	}
	for _, end := range []int{4 << 10, 6 << 10, 8 << 10} {
		for at := end - 20; at < end+4; at++ {
			if got := log(strings.Repeat("-", at) + value + strings.Repeat("-", 10<<10)); strings.Contains(got, value[:2]) {
				t.Fatalf("cut at %d: …%s", at, got[len(got)-60:])
			}
		}
	}
}

func since(t *testing.T, l *serverlog.Log, from int64) string {
	t.Helper()
	text, _, _ := l.Read(t.Context(), from, 0, 0)
	return stamp.ReplaceAllString(text, "")
}
