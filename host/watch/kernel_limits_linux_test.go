package watch_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"waymark/host/watch"
	"waymark/test/testenv"
)

// limit sets a limit of this namespace.
func limit(t *testing.T, what, value string) {
	t.Helper()
	if err := os.WriteFile("/proc/sys/user/max_inotify_"+what, []byte(value), 0); err != nil {
		t.Fatal(err)
	}
}

// TestKernelLimits meets the kernel's own limits: no instance at all, and
// three watches.
func TestKernelLimits(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	dir := linkFreeDir(t)
	var dirs []watch.Dir
	for i := range 3 {
		d := watch.Dir{Path: fmt.Sprint(dir, "/", i)}
		if err := os.Mkdir(d.Path, 0o755); err != nil {
			t.Fatal(err)
		}
		dirs = append(dirs, d)
	}
	write := func() { _ = os.WriteFile(dirs[0].Path+"/f", nil, 0o644) }

	limit(t, "instances", "0")
	w := start(t, watch.Options{Quiet: time.Millisecond, Poll: 50 * time.Millisecond})
	w.Set("o", dirs)
	s := awaitState(t, w, watch.ModeDegraded)
	if !strings.Contains(s.Error, "user.max_inotify_instances is 0; raise it: sysctl -w user.max_inotify_instances=1024") || s.Dirs != 0 {
		t.Errorf("without instances: %+v", s)
	}
	awaitBatch(t, w, func() {}, func(b watch.Batch) bool { return b.All && b.Reason == watch.ReasonPoll })
	want := watch.KernelLimit{Name: "user.max_inotify_instances", Value: 0, Raise: "sysctl -w user.max_inotify_instances=1024"}
	if list := watch.KernelLimits(); !slices.Contains(list, want) || len(list) != 2 {
		t.Errorf("%+v", list)
	}

	limit(t, "watches", "3")
	limit(t, "instances", "100")
	for s.Dirs == 0 {
		_, changed := w.State()
		if s, _ = w.State(); s.Dirs == 0 {
			<-changed
		}
	}
	if !strings.Contains(s.Error, "user.max_inotify_watches is 3; raise it: sysctl -w user.max_inotify_watches=524288") || s.Dirs != 3 {
		t.Errorf("with three watches: %+v", s)
	}
	awaitBatch(t, w, write, eventsFor("o"))
	awaitBatch(t, w, func() {}, func(b watch.Batch) bool { return b.All && b.Reason == watch.ReasonPoll })

	limit(t, "watches", "10000")
	if s := awaitState(t, w, watch.ModeNotify); s.Dirs < 5 || s.Error != "" {
		t.Errorf("recovered: %+v", s)
	}
	awaitBatch(t, w, func() {}, func(b watch.Batch) bool { return b.Reason == watch.ReasonRecovered })
}

// TestKernelManyWatches adds thousands of watches while events of no interest
// come from the directories: fewer than would fill the kernel's queue, however
// long nobody takes them out.
func TestKernelManyWatches(t *testing.T) {
	n := testenv.Rounds(1000, 5000, 5000)
	events := 2 * n
	if queue := maxQueuedEvents(t); queue < 2*events {
		events = queue / 2
	}
	r := newLive(t, watch.Options{})
	var dirs []watch.Dir
	for i := range n {
		dirs = append(dirs, watch.Dir{Path: r.path(fmt.Sprintf("%d/%d", i%50, i)), Names: []string{"f"}})
		if err := os.MkdirAll(dirs[i].Path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var noise sync.WaitGroup
	quiet := make(chan struct{})
	noise.Go(func() {
		for i := range events {
			select {
			case <-quiet:
				return
			default:
				_ = os.WriteFile(dirs[i%n].Path+"/noise", nil, 0o644)
			}
		}
	})
	r.Set("o", dirs)
	r.until("o")
	close(quiet)
	noise.Wait()
	r.settled()
	s, _ := r.State()
	if s.Mode == watch.ModeDegraded && strings.Contains(s.Error, "no more inotify watches") {
		t.Skipf("this needs some %d inotify watches, and here: %s", n, s.Error)
	}
	if s.Mode != watch.ModeNotify || s.Dirs < n+50 {
		t.Fatalf("the state is %+v", s)
	}
	for _, path := range []string{"0/0", fmt.Sprintf("49/%d", n-1), "7/7"} {
		if err := os.WriteFile(r.path(path+"/f"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if woken := r.settled(); !slices.Contains(woken, "o") {
			t.Errorf("%s: woken %q", path, woken)
		}
	}
	r.Set("o", nil)
	r.settled()
	if s, _ := r.State(); s.Dirs > 20 {
		t.Errorf("%d directories are still watched", s.Dirs)
	}
}
