package watch_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"waymark/host/watch"
)

// inNamespace runs a test in a process with user and mount namespaces of its
// own, where it may set limits and mount without doing anything to others. It
// reports whether this is that process.
func inNamespace(t *testing.T) bool {
	t.Helper()
	const inside = "WAYMARK_TEST_INSIDE_NAMESPACE"
	if os.Getenv(inside) != "" {
		return true
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run=^"+t.Name()+"$", "-test.v", "-test.count=1")
	cmd.Env = append(os.Environ(), inside+"=1")
	ids := func(id int) []syscall.SysProcIDMap { return []syscall.SysProcIDMap{{HostID: id, Size: 1}} }
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: ids(os.Getuid()), GidMappings: ids(os.Getgid()),
	}
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		t.Errorf("inside the namespace:\n%s", out)
	case err != nil:
		t.Skipf("this needs user namespaces, and here: %v", err)
	case !strings.Contains(string(out), "--- PASS: "+t.Name()+" "):
		t.Errorf("it didn't run inside the namespace:\n%s", out)
	}
	return false
}

// awaitState waits for a mode.
func awaitState(t *testing.T, w *watch.Watcher, mode string) watch.State {
	t.Helper()
	for late := time.After(timeout); ; {
		s, changed := w.State()
		if s.Mode == mode {
			return s
		}
		select {
		case <-changed:
		case <-late:
			t.Fatalf("the state is %+v, want %s", s, mode)
		}
	}
}

// eventsFor says of a batch that it tells an owner of events. An All names no
// owners; its reason tells that there were events among what it is for.
func eventsFor(owner string) func(watch.Batch) bool {
	return func(b watch.Batch) bool {
		return b.Reason == watch.ReasonEvents && (b.All || slices.Contains(b.Owners, owner))
	}
}

// awaitBatch waits for a batch of one kind, leaving out others. The nudge
// comes before each wait of a while.
func awaitBatch(t *testing.T, w *watch.Watcher, nudge func(), want func(watch.Batch) bool) {
	t.Helper()
	for start := time.Now(); time.Since(start) < timeout; {
		nudge()
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		for {
			b, err := w.Wait(ctx)
			if err != nil {
				break
			}
			if want(b) {
				cancel()
				return
			}
		}
		cancel()
	}
	t.Fatal("the batch doesn't come")
}
