//go:build linux

package supervisor_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/uuid"

	"waymark/workspace/launch"
	"waymark/workspace/supervisor"
)

// TestKin: what a chat starts may signal what it has started before, in the session or
// out of it, and neither what others have started, nor what holds and starts all of it.
func TestKin(t *testing.T) {
	t.Parallel()
	if _, err := launch.Supported(); err != nil || !launch.HoldsSignals() {
		t.Skip(err)
	}
	o := options(t, supervisor.Limits{})
	c := open(t, o)
	dir := t.TempDir()
	chats := [...]uuid.UUID{uuid.New(), uuid.New(), uuid.Nil}
	confined := func(command string, chat uuid.UUID, fence string) *supervisor.Spec {
		spec := sh(command)
		spec.Chat, spec.Fence, spec.Dir = chat, fence, dir
		spec.Profile = &launch.Profile{Name: "test", Read: []string{"/"}, Write: []string{dir, "/dev/null"}}
		return spec
	}
	run := func(spec *supervisor.Spec) string {
		t.Helper()
		info := start(t, c, spec)
		wait(t, c, info.ID)
		return strings.TrimSpace(string(output(t, c, info.ID, 0)))
	}
	// leave has a start leave two processes, one of which has left its session.
	leave := func(name string, chat uuid.UUID, fence string) (pids [2]int) {
		t.Helper()
		run(confined("sleep 1000 >/dev/null 2>&1 & echo $! >"+name+"0; setsid sh -c 'echo $$ >"+name+"1; exec sleep 1000' >/dev/null 2>&1 &", chat, fence))
		for i := range pids {
			pids[i] = readPID(t, filepath.Join(dir, name+strconv.Itoa(i)))
			t.Cleanup(func() { _ = syscall.Kill(pids[i], syscall.SIGKILL) })
		}
		return pids
	}
	kill := func(signal, pid int) string {
		return fmt.Sprintf("kill -%d %d 2>/dev/null; echo $?", signal, pid)
	}
	own, other, fenced, nobodys := leave("own", chats[0], "a"), leave("other", chats[1], "a"), leave("fenced", chats[0], "b"), leave("nobodys", chats[2], "a")
	holder := runningPID(t, o)
	others := append(append(append(fenced[:], other[:]...), nobodys[:]...), holder, os.Getpid())
	others = append(others, threads(t, holder)...)
	for _, pid := range others {
		if got := run(confined(kill(0, pid), chats[0], "a")); got == "0" {
			t.Errorf("it may signal %d", pid)
		}
	}
	if got := run(confined(kill(0, nobodys[0]), chats[2], "a")); got == "0" {
		t.Error("without a chat an earlier start may be signaled")
	}
	for _, pid := range own {
		if got := run(confined(kill(9, pid), chats[0], "a")); got != "0" {
			t.Errorf("%d can't be killed", pid)
		}
		gone(t, pid)
	}
	// Who ends, or stops, all that it may has nothing of it but that.
	for _, signal := range []int{9, 19} {
		again := leave("again", chats[0], "a")
		run(confined(fmt.Sprintf("kill -%d -1", signal), chats[0], "a"))
		if signal == 9 {
			gone(t, again[0])
		}
		if got := run(confined("echo fine", chats[0], "a")); got != "fine" {
			t.Errorf("after kill -%d of all it says %q", signal, got)
		}
	}
	for _, pid := range others {
		if !alive(pid) {
			t.Errorf("%d has ended", pid)
		}
	}
}

// threads returns those of a process.
func threads(t *testing.T, pid int) (ids []int) {
	t.Helper()
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		id, _ := strconv.Atoi(e.Name())
		ids = append(ids, id)
	}
	return ids
}
