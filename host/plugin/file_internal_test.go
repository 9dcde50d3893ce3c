package plugin

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestYoungPlugin: a file that was written while its look was under way is
// young, however long the process stood still in between. One whose time lies
// ahead isn't: there would be no end to reading it again.
func TestYoungPlugin(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.wasm")
	if err := os.WriteFile(path, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	verified := func(begun time.Time) bool {
		f := &file{modulePath: modulePath{path, true}}
		f.seen = f.stat()
		f.take(begun, false)
		return !f.verify.IsZero()
	}
	if !verified(time.Now().Add(-10 * time.Second)) {
		t.Error("a file that was written after the look had begun isn't read again")
	}
	if verified(time.Now().Add(time.Hour)) {
		t.Error("an old file is read again")
	}
	ahead := time.Now().Add(time.Hour)
	if err := os.Chtimes(path, ahead, ahead); err != nil {
		t.Fatal(err)
	}
	if verified(time.Now()) {
		t.Error("a file whose time lies ahead is read again and again")
	}
}

// TestTriedAgain: as long as the file is what it was, and nobody asks, a reason
// that differs from try to try, by a number in it perhaps, is told as it was first.
// That the file is tried again takes half a minute and longer each time.
func TestTriedAgain(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.wasm")
	write := func(more byte) {
		t.Helper()
		if err := os.WriteFile(path, append([]byte("\x00asm\x01\x00\x00\x00\x00\x02\x01"), more), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write('a')
	now := time.Now()
	f := &file{modulePath: modulePath{path, true}}
	tries := 0
	try := func(atOnce bool) string {
		t.Helper()
		tries++
		now = now.Add(2 * longestRetry)
		f.seen = f.stat()
		f.take(now, atOnce)
		if v := f.newest; v.err != nil || v.was != nil && v.inWork().text != v.was.Error() {
			t.Fatalf("try %d: %v, was %v", tries, v.err, v.was)
		}
		f.newest.fail(f, now, fmt.Errorf("try %d failed", tries), true)
		return f.newest.said().Error()
	}
	for _, c := range []struct {
		what   string
		atOnce bool
		want   string
	}{
		{"first", false, "try 1 failed"},
		{"again", false, "try 1 failed"},
		{"and again", false, "try 1 failed"},
		{"when it is asked for", true, "try 4 failed"},
		{"again after that", false, "try 4 failed"},
	} {
		if got := try(c.atOnce); got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
	write('b')
	if got := try(false); got != "try 6 failed" {
		t.Errorf("another file: %q", got)
	}
	f.newest.fail(f, now, errors.New("for good"), false)
	if got := f.newest.said().Error(); got != "for good" {
		t.Errorf("what doesn't pass: %q", got)
	}
}
