package watch_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"waymark/host/watch"
)

// TestKernelSlash watches "/" itself, made small.
func TestKernelSlash(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	r := newLive(t, watch.Options{})
	_ = r.Close() // it only lends its directories
	outside, err := os.Open("/")
	if err != nil {
		t.Fatal(err)
	}
	defer outside.Close()
	if err := syscall.Chroot(r.dir); err != nil {
		t.Skipf("this needs chroot, and here: %v", err)
	}
	defer func() {
		if err := errors.Join(outside.Chdir(), syscall.Chroot(".")); err != nil {
			t.Error(err)
		}
	}()
	w := start(t, watch.Options{Quiet: time.Millisecond})
	w.Set("f", []watch.Dir{{Path: "/", Names: []string{"f"}}})
	w.Set("below", []watch.Dir{{Path: "/d/e"}})
	for _, step := range []struct{ path, owner string }{{"/f", "f"}, {"/d", "below"}, {"/d/e", "below"}, {"/d/e/f", "below"}} {
		create := func() {
			_ = os.Remove(step.path)
			_ = os.Mkdir(step.path, 0o755)
		}
		awaitBatch(t, w, create, func(b watch.Batch) bool { return slices.Equal(b.Owners, []string{step.owner}) })
	}
}

// maxQueuedEvents is how many events the kernel keeps for one notifier.
func maxQueuedEvents(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/sys/fs/inotify/max_queued_events")
	var queue int
	if _, scan := fmt.Sscan(string(text), &queue); err != nil || scan != nil {
		t.Skipf("the length of the kernel's queue isn't known: %v, %v", err, scan)
	}
	return queue
}

// TestKernelOverflow fills the kernel's queue, and replaces a directory while
// it is full.
func TestKernelOverflow(t *testing.T) {
	queue := maxQueuedEvents(t)
	if queue > 1_000_000 {
		t.Skipf("the queue is too long to fill: %d", queue)
	}
	var held sync.Mutex
	r := newLive(t, watch.Options{NewBackend: func() (watch.Backend, error) {
		b, err := watch.System()
		return &holding{Backend: b, held: &held}, err
	}})
	if err := r.do("mkdirs", []string{"x/y"}); err != nil {
		t.Fatal(err)
	}
	r.Set("o", []watch.Dir{{Path: r.path("x/y"), Names: []string{"f"}}})
	r.until("o")
	held.Lock()
	for i := range queue + 5000 { // the notifier holds some hundred, too
		if err := os.WriteFile(r.path(fmt.Sprint("x/", i%2)), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(r.path(fmt.Sprint("x/", i%2)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, op := range []string{"rmall", "mkdirs"} {
		if err := r.do(op, []string{"x/y"}); err != nil {
			t.Fatal(err)
		}
	}
	held.Unlock()
	r.until("everybody")
	r.settled()
	if err := r.do("write", []string{"x/y/f"}); err != nil {
		t.Fatal(err)
	}
	if woken := r.settled(); !slices.Contains(woken, "o") {
		t.Errorf("after an overflow: woken %q", woken)
	}
}

// TestKernelRenameAndRemove renames a watched directory and removes it before
// the notifier gets to the rename: the watch has ended by itself then, which is no
// failure.
func TestKernelRenameAndRemove(t *testing.T) {
	var held sync.Mutex
	r := newLive(t, watch.Options{NewBackend: func() (watch.Backend, error) {
		b, err := watch.System()
		return &holding{Backend: b, held: &held, keeps: "/x"}, err
	}})
	r.Set("o", []watch.Dir{{Path: r.path("x")}})
	r.until("o")
	for range 5 {
		if err := r.do("mkdir", []string{"x"}); err != nil {
			t.Fatal(err)
		}
		if woken := r.settled(); !slices.Equal(woken, []string{"o"}) {
			t.Fatalf("woken %q", woken)
		}
		held.Lock()
		for i := range 3 { // Read holds one
			if err := r.do("mkdir", []string{fmt.Sprint("x/", i)}); err != nil {
				t.Fatal(err)
			}
		}
		for _, step := range []string{"mv x y", "rmall y"} {
			fields := strings.Fields(step)
			if err := r.do(fields[0], fields[1:]); err != nil {
				t.Fatal(err)
			}
		}
		held.Unlock()
		if woken := r.settled(); !slices.Equal(woken, []string{"o"}) {
			t.Fatalf("woken %q", woken)
		}
		if s, _ := r.State(); s.Mode != watch.ModeNotify {
			t.Fatalf("the state is %+v", s)
		}
	}
}

// holding is a Backend whose Read doesn't return while its lock is held. Watches of
// paths that end in keeps aren't removed: they have to end by themselves.
type holding struct {
	watch.Backend
	held  *sync.Mutex
	keeps string
}

func (h *holding) Remove(path string) error {
	if h.keeps != "" && strings.HasSuffix(path, h.keeps) {
		return nil
	}
	return h.Backend.Remove(path)
}

func (h *holding) Read() ([]watch.Event, error) {
	ev, err := h.Backend.Read()
	h.held.Lock()
	defer h.held.Unlock()
	return ev, err
}
