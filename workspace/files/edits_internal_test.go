package files

// Internal, since no file system fails at the wanted moment: the call that
// exchanges two files is replaced.

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"waymark/agentapi"
)

// editAll edits "old" to "new" in some files of a directory.
func editAll(t *testing.T, s *Service, dir string, names ...string) error {
	t.Helper()
	return editTo(t, s, "new", dir, names...)
}

// editTo edits "old" to something else.
func editTo(t *testing.T, s *Service, replace, dir string, names ...string) error {
	t.Helper()
	a, err := s.asker(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var body agentapi.EditFiles
	for _, name := range names {
		body.Files = append(body.Files, agentapi.FileEdits{Path: filepath.Join(dir, name), Edits: []agentapi.Edit{{Search: "old", Replace: replace}}})
	}
	_, _, err = a.edit(t.Context(), body)
	return err
}

func fill(t *testing.T, names ...string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		save(t, filepath.Join(dir, name), "old "+name)
	}
	return dir
}

func save(t *testing.T, path, content string) {
	t.Helper()
	if err := errors.Join(os.WriteFile(path+".save", []byte(content), 0o644), os.Rename(path+".save", path)); err != nil {
		t.Fatal(err)
	}
}

// compareFiles compares a directory with what it must hold, and nothing else.
func compareFiles(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil || len(list) != len(want) {
		t.Errorf("%v, %v", list, err)
	}
	for name, content := range want {
		if data, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(data) != content {
			t.Errorf("%s: %q, %v, want %q", name, data, err, content)
		}
	}
}

// none is a file system that can't exchange files.
func none(int, string, string) error { return unix.EINVAL }

// TestFailingRename: the one that fails is 500, and those before it are put back,
// as the same files that they were.
func TestFailingRename(t *testing.T) {
	for _, failing := range []string{"a", "b", "c"} {
		dir := fill(t, "a", "b", "c")
		before, err := os.Stat(filepath.Join(dir, "a"))
		if err != nil {
			t.Fatal(err)
		}
		s := New(Options{})
		s.exchange = func(dir int, x, y string) error {
			if y == failing {
				return unix.EIO
			}
			return exchange(dir, x, y)
		}
		err = editAll(t, s, dir, "a", "b", "c")
		if r, ok := errors.AsType[*refusal](err); !ok || r.code != http.StatusInternalServerError || !strings.Contains(r.text, failing) {
			t.Errorf("%s fails: %v", failing, err)
		}
		compareFiles(t, dir, map[string]string{"a": "old a", "b": "old b", "c": "old c"})
		if after, err := os.Stat(filepath.Join(dir, "a")); err != nil || !os.SameFile(before, after) {
			t.Error("it is another file")
		}
	}
}

// TestNoExchange: without an exchange the same comes out, by a second name.
func TestNoExchange(t *testing.T) {
	s := New(Options{})
	for _, errno := range []error{unix.EINVAL, unix.ENOSYS, unix.ENOTSUP, unix.EPERM} {
		dir := fill(t, "a", "b")
		s.exchange = func(int, string, string) error { return errno }
		if err := editAll(t, s, dir, "a", "b"); err != nil {
			t.Error(err)
		}
		compareFiles(t, dir, map[string]string{"a": "new a", "b": "new b"})
	}

	dir := fill(t, "a", "b")
	s.exchange = func(_ int, _, y string) error {
		if y == "b" {
			return unix.EIO
		}
		return unix.ENOSYS
	}
	if err := editAll(t, s, dir, "a", "b"); err == nil {
		t.Error("no error")
	}
	compareFiles(t, dir, map[string]string{"a": "old a", "b": "old b"})
}

// TestSavedBefore: what somebody saves at the last moment is edited in turn, once
// and several times, and by both ways.
func TestSavedBefore(t *testing.T) {
	for _, times := range []int{1, 2, 3} {
		dir := fill(t, "a", "b")
		s := New(Options{})
		saves := 0
		s.exchange = func(fd int, x, y string) error {
			if y == "b" && saves < times {
				saves++
				save(t, filepath.Join(dir, "b"), "saved, and old")
			}
			return exchange(fd, x, y)
		}
		if err := editAll(t, s, dir, "a", "b"); err != nil {
			t.Error(err)
		}
		compareFiles(t, dir, map[string]string{"a": "new a", "b": "saved, and new"})
	}
	// In place, with the same length and perhaps the same time.
	dir := fill(t, "a")
	s := New(Options{})
	saves := 0
	s.exchange = func(fd int, x, y string) error {
		if saves++; saves == 1 {
			if err := os.WriteFile(filepath.Join(dir, "a"), []byte("old b"), 0o600); err != nil {
				t.Error(err)
			}
		}
		return exchange(fd, x, y)
	}
	if err := editAll(t, s, dir, "a"); err != nil {
		t.Error(err)
	}
	compareFiles(t, dir, map[string]string{"a": "new b"})
}

// TestSavedAndMoved: what somebody saves at the last moment isn't lost where
// somebody moves the new file away at the next: it gets its name again.
func TestSavedAndMoved(t *testing.T) {
	dir := fill(t, "a")
	s := New(Options{})
	calls := 0
	s.exchange = func(fd int, x, y string) error {
		switch calls++; calls {
		case 1:
			save(t, filepath.Join(dir, "a"), "saved, and old")
		case 2:
			if err := os.Rename(filepath.Join(dir, "a"), filepath.Join(dir, "moved")); err != nil {
				t.Error(err)
			}
		}
		return exchange(fd, x, y)
	}
	if err := editAll(t, s, dir, "a"); err != nil {
		t.Error(err)
	}
	compareFiles(t, dir, map[string]string{"a": "saved, and new", "moved": "new a"})
}

// TestRemoved: what somebody removes while it is edited is gone, which is no error of the
// agent's; and an edit that was made isn't made again because what it replaced is gone.
func TestRemoved(t *testing.T) {
	for name, c := range map[string]struct {
		saved  bool // before the first exchange
		after  int  // the exchange after which something is removed; 0 is before the second
		remove func(dir, temp string) error
		code   int
		left   map[string]string
	}{
		"all":                        {false, 1, removeAll, http.StatusNotFound, nil},
		"all, saved":                 {true, 1, removeAll, http.StatusNotFound, nil},
		"all, before it is put back": {true, 0, removeAll, http.StatusNotFound, nil},
		"all, when it was put back":  {true, 2, removeAll, http.StatusNotFound, nil},
		"what was replaced":          {false, 1, removeTemp, 0, map[string]string{"a": "new, not old a"}},
		"what was made":              {true, 2, removeTemp, 0, map[string]string{"a": "saved, and new, not old"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(fill(t), "dir")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			save(t, filepath.Join(dir, "a"), "old a")
			s := New(Options{})
			calls := 0
			s.exchange = func(fd int, x, y string) error {
				calls++
				if calls == 1 && c.saved {
					save(t, filepath.Join(dir, "a"), "saved, and old")
				}
				if calls == 2 && c.after == 0 {
					if err := c.remove(dir, x); err != nil {
						t.Error(err)
					}
				}
				err := exchange(fd, x, y)
				if calls == c.after {
					if err := c.remove(dir, x); err != nil {
						t.Error(err)
					}
				}
				return err
			}
			code, err := 0, editTo(t, s, "new, not old", dir, "a")
			if r, ok := errors.AsType[*refusal](err); ok {
				code = r.code
			}
			if code != c.code || (err == nil) != (c.code == 0) {
				t.Errorf("%d %v, want %d", code, err, c.code)
			}
			if c.left != nil {
				compareFiles(t, dir, c.left)
			}
		})
	}
}

func removeAll(dir, _ string) error     { return os.RemoveAll(dir) }
func removeTemp(dir, temp string) error { return os.Remove(filepath.Join(dir, temp)) }

// TestSavedAlways: where somebody doesn't stop saving, theirs stays and the call
// says so.
func TestSavedAlways(t *testing.T) {
	dir := fill(t, "a", "b")
	s := New(Options{})
	calls := 0
	s.exchange = func(fd int, x, y string) error {
		if y == "b" {
			if calls++; calls%2 == 1 { // the other one swaps it back
				save(t, filepath.Join(dir, "b"), "saved, and old")
			}
		}
		return exchange(fd, x, y)
	}
	err := editAll(t, s, dir, "a", "b")
	if r, ok := errors.AsType[*refusal](err); !ok || r.code != http.StatusConflict {
		t.Error(err)
	}
	compareFiles(t, dir, map[string]string{"a": "old a", "b": "saved, and old"})
}

// TestSavedAfter: what somebody saves over an edit stays when that is rolled back.
func TestSavedAfter(t *testing.T) {
	for _, way := range []func(int, string, string) error{exchange, none} {
		dir := fill(t, "a", "b")
		s := New(Options{})
		s.exchange = func(fd int, x, y string) error {
			if y == "b" {
				save(t, filepath.Join(dir, "a"), "saved")
				return unix.EIO
			}
			return way(fd, x, y)
		}
		if err := editAll(t, s, dir, "a", "b"); err == nil || !strings.Contains(err.Error(), "couldn't be put back") {
			t.Error(err)
		}
		compareFiles(t, dir, map[string]string{"a": "saved", "b": "old b"})
	}
}
