package watch_test

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"waymark/host/watch"
)

// TestKernelBindMount has two paths for the same directories: inotify knows
// only one of them.
func TestKernelBindMount(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	r := newLive(t, watch.Options{})
	bindMount(t, r)
	for _, step := range []struct{ line, want string }{
		{"watch a one:f one/sub:f", "a"},
		{"watch b two:f two/sub:f", "b"},
		{"write one/f", "a b"},
		{"write two/f", "a b"},
		{"write two/sub/f", "a b"},
		{"append one/sub/f", "a b"},
		{"write one/sub/g", ""},
		{"chmod private one", "a b"},
		{"chmod open two/sub", "a b"},
		{"rmall two/sub", "a b"},
		{"mkdir one/sub", "a b"},
		{"write two/sub/f", "a b"},
		{"watch a", "b"}, // b gets watches of its own
		{"append two/sub/f", "b"},
		{"append one/f", "b"},
		{"watch c one", "c"},
		{"append two/f", "b c"},
		{"watch c", ""},
		{"append two/f", "b"},
	} {
		fields := strings.Fields(step.line)
		if err := r.do(fields[0], fields[1:]); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(r.settled(), " "); got != step.want {
			t.Errorf("%s: woken %q, want %q", step.line, got, step.want)
		}
	}
}

// bindMount has two mean what one means, with a directory sub.
func bindMount(t *testing.T, r *live) {
	t.Helper()
	for _, dir := range []string{"one/sub", "two"} {
		if err := os.MkdirAll(r.path(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mount(r.path("one"), r.path("two"), "", syscall.MS_BIND, ""); err != nil {
		t.Skipf("this needs bind mounts, and here: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(r.path("two"), syscall.MNT_DETACH) })
}

// TestPathsOfAnAlias has a directory under two paths: the event names both.
func TestPathsOfAnAlias(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	r := newLive(t, watch.Options{})
	bindMount(t, r)
	r.Set("a", []watch.Dir{{Path: r.path("one"), Names: []string{"f"}}})
	r.until("a")
	r.Set("b", []watch.Dir{{Path: r.path("two"), Names: []string{"f"}}})
	r.until("b")
	if err := r.do("write", []string{"two/f"}); err != nil {
		t.Fatal(err)
	}
	got, err := r.Wait(t.Context())
	if want := []string{r.path("one/f"), r.path("two/f")}; err != nil || !slices.Equal(got.Paths, want) {
		t.Errorf("the batch names %q, want %q; %v", got.Paths, want, err)
	}
}

// TestKernelUnmountIsSeen has no re-check: that what was mounted has gone makes
// an event.
func TestKernelUnmountIsSeen(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	r := newLive(t, watch.Options{})
	if err := r.do("mkdir", []string{"m"}); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("none", r.path("m"), "tmpfs", 0, ""); err != nil {
		t.Skipf("this needs mounts, and here: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(r.path("m"), syscall.MNT_DETACH) }) // of a test that fails
	r.Set("o", []watch.Dir{{Path: r.path("m"), Names: []string{"f"}}})
	r.until("o")
	unmount(t, r.path("m"))
	r.until("o")
	r.settled()
	if err := r.do("write", []string{"m/f"}); err != nil { // in the directory below
		t.Fatal(err)
	}
	r.until("o")
}

// TestKernelUnmount mounts over a watched directory, which makes no event: the
// safety re-check finds out.
func TestKernelUnmount(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	r := newLive(t, watch.Options{Quiet: time.Millisecond, Recheck: 100 * time.Millisecond})
	mount := r.path("m")
	if err := os.Mkdir(mount, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(mount, syscall.MNT_DETACH) }) // of a test that fails
	write := func() { _ = os.WriteFile(mount+"/f", nil, 0o644) }
	r.Set("o", []watch.Dir{{Path: mount, Names: []string{"f"}}})
	awaitBatch(t, r.Watcher, write, eventsFor("o"))
	// The first batch may say that the watch was lost; what comes after it is
	// of the new one.
	again := func() {
		t.Helper()
		for range 2 {
			awaitBatch(t, r.Watcher, write, eventsFor("o"))
		}
	}
	for range 2 {
		if err := syscall.Mount("none", mount, "tmpfs", 0, ""); err != nil {
			t.Skipf("this needs mounts, and here: %v", err)
		}
		again()
		unmount(t, mount)
		again()
	}
}

// unmount waits until nobody is in the middle of a look at what is mounted, as
// the watcher may be.
func unmount(t *testing.T, path string) {
	t.Helper()
	err := syscall.Unmount(path, 0)
	for start := time.Now(); err == syscall.EBUSY && time.Since(start) < timeout; err = syscall.Unmount(path, 0) {
		runtime.Gosched()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestKernelOverlay watches a directory of an overlay's lower layer, which is
// copied up at the first change: such a file system isn't silent.
func TestKernelOverlay(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	base := linkFreeDir(t)
	// Not on the outer overlay, if this runs on one.
	if err := syscall.Mount("none", base, "tmpfs", 0, ""); err != nil {
		t.Skipf("this needs mounts, and here: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(base, syscall.MNT_DETACH) })
	for _, dir := range []string{"lower/x/y", "upper", "work", "m"} {
		if err := os.MkdirAll(base+"/"+dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(base+"/lower/x/y/f", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	options := fmt.Sprintf("lowerdir=%s/lower,upperdir=%[1]s/upper,workdir=%[1]s/work,userxattr", base)
	if err := syscall.Mount("none", base+"/m", "overlay", 0, options); err != nil {
		t.Skipf("this needs overlay mounts, and here: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(base+"/m", syscall.MNT_DETACH) })
	r := newLive(t, watch.Options{})
	r.dir = base + "/m"
	for _, step := range []struct{ line, want string }{
		{"watch o x/y:f", "o"},
		{"append x/y/f", "o"},
		{"write x/y/g", ""},
		{"append x/y/f", "o"},
		{"chmod private x/y", "o"},
		{"rmall x/y", "o"},
		{"mkdir x/y", "o"},
		{"write x/y/f", "o"},
		{"mv x/y x/z", "o"},
		{"mv x/z x/y", "o"},
		{"append x/y/f", "o"},
		{"look", ""},
	} {
		fields := strings.Fields(step.line)
		if err := r.do(fields[0], fields[1:]); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(r.settled(), " "); got != step.want {
			t.Errorf("%s: woken %q, want %q", step.line, got, step.want)
		}
	}
	if s, _ := r.State(); s.Silent || s.Mode != watch.ModeNotify {
		t.Errorf("the state is %+v", s)
	}
}
