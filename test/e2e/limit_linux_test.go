package e2e_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"waymark/agentapi/status"
	"waymark/test/contracts/vfstest"
	"waymark/test/e2e"
	"waymark/test/testenv"
)

// TestWatchLimit: with three watches the agent polls and says so, and when
// there are more it listens again. The limit is that of a user namespace, made
// for this agent alone.
func TestWatchLimit(t *testing.T) {
	t.Parallel()
	w := newWorld(t).withHub()
	e := newEditor(t, testenv.Rand(t), w.root)
	for range 100 {
		e.edit()
	}
	vfstest.Reopen(w.root) // to the agent, which is root in its namespace, nothing is closed
	w.fresh(filepath.Join(w.root, "AGENTS.md"), "# One\n")
	w.must(os.RemoveAll(filepath.Join(w.root, "skills")))
	w.put(filepath.Join(w.root, "skills/x/SKILL.md"), "---\nname: x\n---\n")
	more := w.limited(3)
	agent := w.startWith(e2e.AgentOptions{Command: more.wrap})
	w.settles(w.root)
	w.await("that it polls, and why", func(s *status.Status) bool {
		return s.Watch.Mode == "degraded" && strings.Contains(s.Watch.Error, "max_inotify_watches")
	})
	// The agent knows before the hub does.
	_, _, err := w.hub.Stored.Await(w.ctx, 0, func(s *e2e.Stored) bool { return s.Push.Snapshot.SnapshotError != "" })
	w.must(err)
	w.put(filepath.Join(w.root, "skills/x/SKILL.md"), "---\nname: x\n---\nseen by polling\n")
	w.settles(w.root)

	more.raise(10_000)
	w.await("that it listens", func(s *status.Status) bool { return s.Watch.Mode == "notify" && s.Watch.Error == "" })
	w.put(filepath.Join(w.root, "skills/x/SKILL.md"), "---\nname: x\n---\nseen by events\n")
	w.settles(w.root)
	w.stop(agent)
}

// limiter runs an agent in a user namespace that has its own limit.
type limiter struct {
	w     *world
	limit int
	stdin *os.File // of a shell in the namespace, which raises it
}

const watchesFile = "/proc/sys/user/max_inotify_watches"

// limited makes one, where that can be done.
func (w *world) limited(limit int) *limiter {
	w.t.Helper()
	cmd := exec.CommandContext(w.ctx, "sh", "-c", "echo 3 > "+watchesFile)
	inNamespace(cmd)
	if out, err := cmd.CombinedOutput(); err != nil {
		if os.Getenv("WAYMARK_REQUIRE_ALL") != "" {
			w.t.Fatalf("no user namespaces: %v: %s", err, out)
		}
		w.t.Skipf("no user namespaces here (%v): host's TestWatchLimits stands for this one", err)
	}
	return &limiter{w: w, limit: limit}
}

// wrap lets a shell in a new namespace set the limit, and then run the agent
// with itself beside it, to set it again.
func (l *limiter) wrap(cmd *exec.Cmd) {
	l.w.t.Helper()
	read, write, err := os.Pipe()
	l.w.must(err)
	l.stdin = write
	l.w.t.Cleanup(func() { _, _ = read.Close(), write.Close() })
	inNamespace(cmd)
	cmd.Stdin = read
	// The agent takes the place of the shell, so that signals reach it.
	script := fmt.Sprintf(`echo %d > %s || exit 9; exec 3<&0; (while read n; do echo $n > %s; done) <&3 >/dev/null 2>&1 & exec "$0" "$@" 3<&-`, l.limit, watchesFile, watchesFile)
	cmd.Args = append([]string{"sh", "-c", script, cmd.Path}, cmd.Args[1:]...)
	cmd.Path = "/bin/sh"
}

func (l *limiter) raise(limit int) {
	_, err := io.WriteString(l.stdin, fmt.Sprintln(limit))
	l.w.must(err)
}

func inNamespace(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
}
