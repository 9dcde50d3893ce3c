package plugin

import (
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
