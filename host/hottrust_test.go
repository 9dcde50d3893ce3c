package host_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"waymark/host"
)

// TestDropInTrust: files and directories that somebody else could write to are
// refused at every change, and taken back when that is mended.
func TestDropInTrust(t *testing.T) {
	noLeaks(t)
	b := hotplug(t, host.Options{})
	b.drop(t, "a.wasm", tiny{name: "a", version: "1"}.build())
	b.drop(t, "b.wasm", tiny{name: "b", version: "1"}.build())
	const all = "a.wasm ready; b.wasm ready; a=1; b=1"
	b.is(t, "both", all)
	file, dir, base := filepath.Join(b.dir, "a.wasm"), b.dir, filepath.Base(b.dir)
	open := filepath.Join(b.root, "open")
	put(t, filepath.Join(open, "real.wasm"), string(tiny{name: "a", version: "2"}.build()))
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	chmod := func(path string, mode os.FileMode) func() error {
		return func() error { return os.Chmod(path, mode) }
	}
	steps := []struct {
		name     string
		do, undo func() error
		want     string
	}{
		{"a file for everyone", chmod(file, 0o602), chmod(file, 0o600), "a.wasm rejected writable by everyone: chmod o-w it; b.wasm ready; b=1"},
		{"a directory for everyone", chmod(dir, 0o703), chmod(dir, 0o700), base + " rejected writable by everyone: chmod o-w it"},
		{"a link to where everyone writes", func() error {
			return errors.Join(os.Remove(file), os.Symlink(filepath.Join(open, "real.wasm"), file))
		}, func() error {
			return errors.Join(os.Remove(file), os.WriteFile(file, tiny{name: "a", version: "1"}.build(), 0o600))
		}, "a.wasm rejected it is a link into " + open + ", which is writable by everyone: chmod o-w it; b.wasm ready; b=1"},
	}
	if os.Geteuid() == 0 {
		steps = append(steps, []struct {
			name     string
			do, undo func() error
			want     string
		}{
			{"a file of somebody else", func() error { return os.Chown(file, 12345, 0) }, func() error { return os.Chown(file, 0, 0) },
				"a.wasm rejected owned by another user: chown it to yourself or to root; b.wasm ready; b=1"},
			{"a file for a group", func() error { return errors.Join(os.Chown(file, 0, 12345), os.Chmod(file, 0o620)) },
				func() error { return os.Chmod(file, 0o640) },
				"a.wasm rejected writable by a group that isn't the owner's own: chmod g-w it; b.wasm ready; b=1"},
			{"a directory of somebody else", func() error { return os.Chown(dir, 12345, 0) }, func() error { return os.Chown(dir, 0, 0) },
				base + " rejected owned by another user: chown it to yourself or to root"},
		}...)
	}
	for _, step := range steps {
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		b.is(t, step.name, step.want)
		if err := step.undo(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		b.is(t, step.name+", mended", all)
	}
}
