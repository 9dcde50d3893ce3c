package watch_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"waymark/host/watch"
)

// TestBackend holds the system's Backend to what its interface says, event by
// event. Each step is followed by one in another directory, whose event ends it.
func TestBackend(t *testing.T) {
	n := newNative(t)
	n.step("add .")
	for _, c := range []struct{ do, want string }{
		{"write f one", "create f, write f, finish f"},
		{"write f two", "write f, finish f"}, // the second of two alike is dropped
		{"append f", "write f, finish f"},
		{"touch f", "chmod f"},
		{"open f", "finish f"},
		{"map f", "finish f"},
		{"write tmp x; mv tmp f", "create tmp, write tmp, finish tmp, rename tmp, create+finish f"},
		{"link f g", "create g"},
		{"link f tmp; mv tmp g", "create tmp"}, // a rename to the same file does nothing
		{"rm g", "remove g"},
		{"chmod private f", "chmod f"},
		{"mkdir d", "create d"},
		{"symlink nowhere l", "create l"},
		{"add d", ""},
		{"write d/f x", "create d/f, write d/f, finish d/f"},
		{"chmod private d", "chmod d"}, // of both watches
		{"remove d", ""},
		{"append d/f", ""},
		{"remove d", ""},
		{"add d; add d", ""},
		{"append d/f", "write d/f, finish d/f"},
		{"mv d e", "rename d, create+finish e, rename d"},
		{"append e/f", "write d/f, finish d/f"}, // until the move has been taken notice of
		{"remove d; add e", ""},
		{"append e/f", "write e/f, finish e/f"},
		{"rm e/f; rm e", "remove e/f, remove e"},
		{"mkdir e", "create e"},
		{"write e/f x", ""}, // another directory than the one that was watched
		{"add e", ""},
		{"append e/f", "write e/f, finish e/f"},
		{"mkdir way; pass way", "create way"},
		{"write way/f one", "create way/f"},
		{"append way/f", ""},
		{"open way/f; map way/f", ""},
		{"touch way/f; chmod private way/f", "chmod way/f"},
		{"mkdir way/d; mv way/d way/e", "create way/d, rename way/d, create+finish way/e"},
		{"rm way/e; rm way/f", "remove way/e, remove way/f"},
		{"add way; write way/f one", "create way/f, write way/f, finish way/f"},
		{"pass way; append way/f", "write way/f, finish way/f"}, // what was asked for stays
		{"remove way; pass way; append way/f", ""},
	} {
		if got := n.step(c.do); got != c.want {
			t.Errorf("%s: got %q, want %q", c.do, got, c.want)
		}
	}
	if got, want := n.WatchList(), []string{n.dir, n.path("e"), n.path("way"), n.fence}; !sameSet(got, want) {
		t.Errorf("watched are %q, want %q", got, want)
	}
}

func sameSet(a, b []string) bool {
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}

// TestBackendRefuses adds what can't be watched.
func TestBackendRefuses(t *testing.T) {
	n := newNative(t)
	for _, do := range []string{"write file x", "mkdir d", "symlink d link"} {
		n.step(do)
	}
	for path, want := range map[string]error{
		"missing": syscall.ENOENT, "file": syscall.ENOTDIR, "link": syscall.ENOTDIR, "file/x": syscall.ENOTDIR,
		strings.Repeat("x", 300): syscall.ENAMETOOLONG,
	} {
		if err := n.Add(n.path(path), true); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", path, err, want)
		}
	}
	if got := n.WatchList(); !slices.Equal(got, []string{n.fence}) {
		t.Errorf("watched are %q", got)
	}
}

// TestBackendCloses has Read end, whether it waits or not, and descriptors closed.
func TestBackendCloses(t *testing.T) {
	before := descriptors(t)
	for range 20 {
		b, err := watch.System()
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Add(linkFreeDir(t), true); err != nil {
			t.Fatal(err)
		}
		var reading sync.WaitGroup
		reading.Go(func() {
			if got, err := b.Read(); !errors.Is(err, io.EOF) {
				t.Errorf("Read: %v, %v", got, err)
			}
		})
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		reading.Wait()
	}
	if after := descriptors(t); after > before {
		t.Errorf("%d notifiers are still open", after-before)
	}
}

// descriptors counts those of inotify.
func descriptors(t *testing.T) (n int) {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && to == "anon_inode:inotify" {
			n++
		}
	}
	return n
}

// native is the system's Backend with directories that a test changes.
type native struct {
	watch.Backend
	live
	fence string
	posts int
}

func newNative(t *testing.T) *native {
	t.Helper()
	b, err := watch.System()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	base := linkFreeDir(t)
	n := &native{Backend: b, live: live{t: t, dir: filepath.Join(base, "w")}, fence: filepath.Join(base, "fence")}
	for _, dir := range []string{n.dir, n.fence} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := n.Add(n.fence, false); err != nil {
		t.Fatal(err)
	}
	return n
}

func (n *native) path(name string) string { return filepath.Join(n.dir, name) }

// step does something, and spells the events that it makes.
func (n *native) step(line string) string {
	n.t.Helper()
	for op := range strings.SplitSeq(line, ";") {
		fields := strings.Fields(op)
		if err := n.do(fields[0], fields[1:]); err != nil {
			n.t.Fatalf("%s: %v", op, err)
		}
	}
	n.posts++
	post := filepath.Join(n.fence, fmt.Sprint(n.posts))
	if err := os.Mkdir(post, 0o755); err != nil {
		n.t.Fatal(err)
	}
	var got []string
	for {
		list, err := n.Read()
		if err != nil {
			n.t.Fatal(err)
		}
		for _, ev := range list {
			if ev.Path == post {
				return strings.Join(slices.Compact(got), ", ")
			}
			rel, err := filepath.Rel(n.dir, ev.Path)
			if err != nil {
				n.t.Fatal(err)
			}
			got = append(got, spellOp(ev.Op)+" "+rel)
		}
	}
}

func spellOp(op watch.Op) string {
	var words []string
	for i, word := range []string{"create", "write", "remove", "rename", "chmod", "finish"} {
		if op&(1<<i) != 0 {
			words = append(words, word)
		}
	}
	return strings.Join(words, "+")
}

func (n *native) do(op string, args []string) error {
	switch op {
	case "add":
		return n.Add(n.path(args[0]), true)
	case "pass": // on the way to elsewhere
		return n.Add(n.path(args[0]), false)
	case "remove":
		return n.Remove(n.path(args[0]))
	case "touch":
		return syscall.Utimes(n.path(args[0]), make([]syscall.Timeval, 2))
	case "open":
		f, err := os.OpenFile(n.path(args[0]), os.O_RDWR, 0)
		return errors.Join(err, f.Close())
	case "map":
		return writeMapped(n.path(args[0]))
	}
	return n.live.do(op, args)
}

// writeMapped changes a file without writing to it.
func writeMapped(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	data, err := unix.Mmap(int(f.Fd()), 0, 1, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	data[0]++
	return unix.Munmap(data)
}
