package e2e_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"waymark/hub/store"
	"waymark/snapshot"
	"waymark/test/e2e"
	"waymark/test/process"
)

func home(t *testing.T) e2e.Home {
	t.Helper()
	dir, err := os.MkdirTemp("", "wm")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	h, err := e2e.NewHome(dir)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func shell(t *testing.T, h e2e.Home, script string) *process.Process {
	t.Helper()
	p, err := h.Start(t.Context(), "/bin/sh", "-c", script)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return p
}

// soon is a context that a test which works never sees the end of.
func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func TestProcess(t *testing.T) {
	t.Parallel()
	h := home(t)
	p := shell(t, h, `trap 'echo bye; exit 0' TERM; echo "home $HOME"; while :; do sleep 0.01; done`)
	if err := p.Await(soon(t), regexp.MustCompile(`(?m)^home `+regexp.QuoteMeta(h.User())+`$`)); err != nil {
		t.Fatal(err)
	}
	took, err := p.Stop(soon(t))
	if err != nil || took <= 0 || !strings.HasSuffix(p.Output(), "bye\n") {
		t.Errorf("stopped after %v, %v: %q", took, err, p.Output())
	}
	p.Kill() // once more does no harm
}

func TestProcessErrors(t *testing.T) {
	t.Parallel()
	h := home(t)
	if _, err := h.Start(t.Context(), filepath.Join(h.Dir, "nothing")); err == nil {
		t.Error("what isn't there was started")
	}
	p := shell(t, h, "echo last words; exit 3")
	if err := p.Wait(soon(t)); err == nil || !strings.Contains(err.Error(), "exit status 3") || !strings.Contains(err.Error(), "last words") {
		t.Errorf("wait: %v", err)
	}
	if err := p.Await(soon(t), regexp.MustCompile("first words")); err == nil || !strings.Contains(err.Error(), "last words") {
		t.Errorf("await after the end: %v", err)
	}
	if err := p.Await(soon(t), regexp.MustCompile("last words")); err != nil {
		t.Errorf("await what was printed before the end: %v", err)
	}
	deaf := shell(t, h, "trap '' TERM; echo ready; while :; do sleep 0.01; done")
	if err := deaf.Await(soon(t), regexp.MustCompile("ready")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := deaf.Stop(ctx); err == nil || !strings.Contains(err.Error(), "doesn't end") {
		t.Errorf("stop one that doesn't listen: %v", err)
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("no /proc here")
	}
	h := home(t)
	if err := syscall.Mkfifo(filepath.Join(h.Dir, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := shell(t, h, "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; echo ready; read x < fifo")
	if err := p.Await(soon(t), regexp.MustCompile("ready")); err != nil {
		t.Fatal(err)
	}
	if cpu, err := p.CPU(); err != nil || cpu <= 0 {
		t.Errorf("CPU time %v, %v", cpu, err)
	}
	m, err := p.Memory()
	if err != nil || m.Resident <= 0 || m.High < m.Resident || m.Anonymous+m.File > m.Resident {
		t.Errorf("memory %+v, %v", m, err)
	}
	if n, err := p.Descriptors(); err != nil || n < 3 {
		t.Errorf("%d descriptors, %v", n, err)
	}
	if err := p.Freeze(soon(t)); err != nil {
		t.Error(err)
	}
	p.Kill()
	if err := p.Freeze(soon(t)); err == nil {
		t.Error("what has ended stands still")
	}
	if _, err := p.CPU(); err == nil {
		t.Error("CPU time of a process that has ended")
	}
}

// TestRecord: what is stored is noted, and what is refused isn't.
func TestRecord(t *testing.T) {
	t.Parallel()
	h, err := e2e.StartHub(t.Context(), home(t).Dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := h.Token(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	session, _, err := h.Stored.BeginSession(t.Context(), "a", "")
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	for _, push := range []store.Push{
		{Initial: true, Snapshot: snapshot.Snapshot{Version: 5}},
		{Snapshot: snapshot.Snapshot{Version: 4}},                                   // not accepted
		{Snapshot: snapshot.Snapshot{Version: 6, SnapshotError: "\x00 is refused"}}, // an error
		{Snapshot: snapshot.Snapshot{Version: 7, SnapshotError: "something"}},
	} {
		_, _ = h.Stored.Push(t.Context(), "a", session, push)
	}
	list, _ := h.Stored.All()
	if len(list) != 2 || list[0].Push.Snapshot.Version != 5 || list[1].Push.Snapshot.Version != 7 || list[0].At.Before(begun) {
		t.Fatalf("%d pushes are noted: %+v", len(list), list)
	}
	version := func(v uint64) func(*e2e.Stored) bool {
		return func(s *e2e.Stored) bool { return s.Push.Snapshot.Version == v }
	}
	if s, n, err := h.Stored.Await(soon(t), 0, version(7)); err != nil || n != 2 || s.Revision <= list[0].Revision {
		t.Errorf("await: %+v, %d, %v", s, n, err)
	}
	go func() {
		_, _ = h.Stored.Push(context.WithoutCancel(t.Context()), "a", session, store.Push{Snapshot: snapshot.Snapshot{Version: 9, SnapshotError: "else"}})
	}()
	if _, n, err := h.Stored.Await(soon(t), 2, version(9)); err != nil || n != 3 {
		t.Errorf("await what comes later: %d, %v", n, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := h.Stored.Await(ctx, 0, version(100)); err == nil {
		t.Error("a push that never comes")
	}
}

func TestSkillTree(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := e2e.SkillTree(dir, 9, e2e.SkillBytes); err != nil {
		t.Fatal(err)
	}
	for i := range 9 {
		text, err := os.ReadFile(filepath.Join(dir, e2e.SkillFile(i)))
		if err != nil || len(text) > e2e.SkillBytes || len(text) < e2e.SkillBytes-20 {
			t.Errorf("skill %d has %d bytes, %v", i, len(text), err)
		}
	}
	if a, b := e2e.SkillText(1, e2e.SkillBytes, "one\n"), e2e.SkillText(1, e2e.SkillBytes, "two\n"); a == b || len(a) != len(b) {
		t.Error("edits of a text differ in more than their last line")
	}
}
