package sealedstore_test

import (
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"waymark/internal/sealedstore"
	"waymark/test/testenv"
)

// edit changes one byte of a file; i counts from the end when negative.
func edit(t *testing.T, path string, i int) {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	if i < 0 {
		i += len(data)
	}
	data[i] ^= 1
	must(t, os.WriteFile(path, data, 0o600))
}

// TestDoubtful: whatever has become of a file, it is a miss, removed, and said
// once; and the next Put works.
func TestDoubtful(t *testing.T) {
	const payload = "this is the content"
	tests := []struct {
		name   string
		root   bool
		damage func(t *testing.T, s *sealedstore.Store, path string)
	}{
		{"empty", false, func(t *testing.T, _ *sealedstore.Store, path string) { must(t, os.Truncate(path, 0)) }},
		{"cut in the header", false, func(t *testing.T, _ *sealedstore.Store, path string) { must(t, os.Truncate(path, 20)) }},
		{"cut by one", false, func(t *testing.T, _ *sealedstore.Store, path string) {
			must(t, os.Truncate(path, int64(43+len(payload))))
		}},
		{"longer", false, func(t *testing.T, _ *sealedstore.Store, path string) { must(t, os.Truncate(path, 100)) }},
		{"too large", false, func(t *testing.T, _ *sealedstore.Store, path string) { must(t, os.Truncate(path, 1<<40)) }},
		{"format", false, func(t *testing.T, _ *sealedstore.Store, path string) { edit(t, path, 3) }},
		{"version", false, func(t *testing.T, _ *sealedstore.Store, path string) { edit(t, path, 15) }},
		{"nonce", false, func(t *testing.T, _ *sealedstore.Store, path string) { edit(t, path, 20) }},
		{"content", false, func(t *testing.T, _ *sealedstore.Store, path string) { edit(t, path, 30) }},
		{"tag", false, func(t *testing.T, _ *sealedstore.Store, path string) { edit(t, path, -1) }},
		{"another's", false, func(t *testing.T, s *sealedstore.Store, path string) {
			put(t, s, "b", []byte(payload))
			must(t, os.Rename(strings.Replace(path, "a.sealed", "b.sealed", 1), path))
		}},
		{"link to itself", false, func(t *testing.T, _ *sealedstore.Store, path string) {
			must(t, os.Rename(path, path+".real"))
			must(t, os.Symlink(path+".real", path))
		}},
		{"dangling link", false, func(t *testing.T, _ *sealedstore.Store, path string) {
			must(t, os.Remove(path))
			must(t, os.Symlink("nowhere", path))
		}},
		{"fifo", false, func(t *testing.T, _ *sealedstore.Store, path string) {
			must(t, os.Remove(path))
			must(t, unix.Mkfifo(path, 0o600))
		}},
		{"directory", false, func(t *testing.T, _ *sealedstore.Store, path string) {
			must(t, os.Remove(path))
			must(t, os.Mkdir(path, 0o700))
		}},
		{"readable for others", false, func(t *testing.T, _ *sealedstore.Store, path string) { must(t, os.Chmod(path, 0o604)) }},
		{"writable for the group", false, func(t *testing.T, _ *sealedstore.Store, path string) { must(t, os.Chmod(path, 0o620)) }},
		{"of another user", true, func(t *testing.T, _ *sealedstore.Store, path string) { must(t, os.Chown(path, 12345, -1)) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.root {
				testenv.NeedsRoot(t, "give files away")
			}
			s, dir, logs := open(t, sealedstore.Options{})
			path := filepath.Join(dir, "a.sealed")
			put(t, s, "a", []byte(payload))
			tt.damage(t, s, path)
			for range 3 {
				if got := get(t, s, "a"); got != nil {
					t.Fatalf("it is used: %q", got)
				}
			}
			if exists(path) {
				t.Error("it is still there")
			}
			if logs.lines() != 1 {
				t.Errorf("logged %d lines, want one: %s", logs.lines(), logs)
			}
			put(t, s, "a", []byte(payload))
			if got := get(t, s, "a"); string(got) != payload {
				t.Errorf("after the next Put: %q", got)
			}
		})
	}
}

// TestDirectory: a directory that isn't private is never used, whatever it
// holds; one that is removed is made again.
func TestDirectory(t *testing.T) {
	tests := []struct {
		name   string
		root   bool
		change func(t *testing.T, dir string)
		works  bool
	}{
		{"open to the group", false, func(t *testing.T, dir string) { must(t, os.Chmod(dir, 0o770)) }, false},
		{"readable for others", false, func(t *testing.T, dir string) { must(t, os.Chmod(dir, 0o704)) }, false},
		{"a link", false, func(t *testing.T, dir string) {
			must(t, os.Rename(dir, dir+".real"))
			must(t, os.Symlink(dir+".real", dir))
		}, false},
		{"a file", false, func(t *testing.T, dir string) {
			must(t, os.RemoveAll(dir))
			must(t, os.WriteFile(dir, nil, 0o600))
		}, false},
		{"of another user", true, func(t *testing.T, dir string) { must(t, os.Chown(dir, 12345, -1)) }, false},
		{"removed", false, func(t *testing.T, dir string) { must(t, os.RemoveAll(filepath.Dir(dir))) }, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.root {
				testenv.NeedsRoot(t, "give files away")
			}
			s, dir, logs := open(t, sealedstore.Options{})
			put(t, s, "a", []byte("data"))
			tt.change(t, dir)
			for range 3 {
				if got := get(t, s, "a"); got != nil {
					t.Errorf("it is used: %q", got)
				}
			}
			err := tryPut(s, "a", []byte("new"))
			if tt.works {
				if err != nil || string(get(t, s, "a")) != "new" {
					t.Errorf("it isn't made again: %v", err)
				}
				return
			}
			if !errors.Is(err, sealedstore.ErrUnsafe) || !strings.Contains(err.Error(), "remove it") {
				t.Errorf("Put: %v, want ErrUnsafe and what to do", err)
			}
			if logs.lines() != 1 {
				t.Errorf("logged %d lines, want one: %s", logs.lines(), logs)
			}
			if _, err := sealedstore.Open(dir, sealedstore.Options{}); !errors.Is(err, sealedstore.ErrUnsafe) {
				t.Errorf("Open: %v", err)
			}
		})
	}
}

// TestKey: a key that is damaged or was readable for others is replaced, and
// what it sealed is a miss.
func TestKey(t *testing.T) {
	tests := []struct {
		name   string
		root   bool
		change func(t *testing.T, path string)
	}{
		{"empty", false, func(t *testing.T, path string) { must(t, os.Truncate(path, 0)) }},
		{"short", false, func(t *testing.T, path string) { must(t, os.Truncate(path, 31)) }},
		{"long", false, func(t *testing.T, path string) { must(t, os.Truncate(path, 33)) }},
		{"altered", false, func(t *testing.T, path string) { edit(t, path, 0) }},
		{"missing", false, func(t *testing.T, path string) { must(t, os.Remove(path)) }},
		{"readable for others", false, func(t *testing.T, path string) { must(t, os.Chmod(path, 0o644)) }},
		{"a link", false, func(t *testing.T, path string) {
			must(t, os.Rename(path, path+".real"))
			must(t, os.Symlink(path+".real", path))
		}},
		{"of another user", true, func(t *testing.T, path string) { must(t, os.Chown(path, 12345, -1)) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.root {
				testenv.NeedsRoot(t, "give files away")
			}
			keyDir := filepath.Join(t.TempDir(), "key")
			s, dir, _ := open(t, sealedstore.Options{KeyDir: keyDir})
			put(t, s, "a", []byte("data"))
			tt.change(t, filepath.Join(keyDir, "key"))
			s, err := sealedstore.Open(dir, sealedstore.Options{KeyDir: keyDir})
			must(t, err)
			if got := get(t, s, "a"); got != nil {
				t.Errorf("it is used: %q", got)
			}
			put(t, s, "a", []byte("new"))
			if got := get(t, s, "a"); string(got) != "new" {
				t.Errorf("got %q", got)
			}
			info, err := os.Lstat(filepath.Join(keyDir, "key"))
			if err != nil || info.Mode() != 0o600 || info.Size() != 32 {
				t.Errorf("the new key: %v, %v", info, err)
			}
		})
	}
}

// TestNoRoom: a disk that is full, and a file that can't be written whole, are
// an error of Put and leave nothing behind.
func TestNoRoom(t *testing.T) {
	big := make([]byte, 4<<20)
	check := func(t *testing.T, s *sealedstore.Store, dir string) {
		t.Helper()
		put(t, s, "small", []byte("data"))
		if err := tryPut(s, "a", big); err == nil {
			t.Fatal("what can't be written is no error")
		}
		if get(t, s, "a") != nil || string(get(t, s, "small")) != "data" {
			t.Error("half a blob is used, or a whole one isn't")
		}
		if left, _ := filepath.Glob(filepath.Join(dir, ".tmp-*")); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
	t.Run("file size limit", func(t *testing.T) {
		s, dir, _ := open(t, sealedstore.Options{})
		signal.Ignore(syscall.SIGXFSZ)
		defer signal.Reset(syscall.SIGXFSZ)
		var was unix.Rlimit
		must(t, unix.Getrlimit(unix.RLIMIT_FSIZE, &was))
		must(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 1 << 20, Max: was.Max}))
		defer func() { must(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &was)) }()
		check(t, s, dir)
	})
	t.Run("full disk", func(t *testing.T) {
		testenv.NeedsRoot(t, "mount a small disk")
		mount := t.TempDir()
		if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=1m,mode=700", "waymark-test", mount).CombinedOutput(); err != nil {
			t.Skipf("no tmpfs can be mounted here: %s", out)
		}
		defer func() { must(t, exec.Command("umount", mount).Run()) }()
		dir := filepath.Join(mount, "store")
		s, err := sealedstore.Open(dir, sealedstore.Options{Logger: slog.New(slog.DiscardHandler)})
		must(t, err)
		check(t, s, dir)
	})
}
