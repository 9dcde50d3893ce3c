package e2e_test

import (
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"waymark/agentapi/status"
	"waymark/host/push"
	"waymark/hub/store"
	"waymark/hub/store/sqlite"
	"waymark/test/e2e"
	"waymark/test/process"
	"waymark/test/testenv"
)

// startHub starts a hub in a process of its own.
func (w *world) startHub() *e2e.HubProcess {
	w.t.Helper()
	h, err := e2e.StartHubProcess(w.ctx, w.programs.Hub, w.home, agentID)
	w.must(err)
	w.t.Cleanup(func() {
		h.Kill()
		if w.t.Failed() {
			w.t.Logf("the hub said: %.20000s", h.Output())
		}
	})
	w.url, w.token = h.URL, h.TokenFile
	return h
}

// settlesIn waits until a database that another process writes has what is
// found in the directories.
func (w *world) settlesIn(st store.Store, dirs ...string) {
	w.t.Helper()
	want := w.found(dirs...)
	deadline := time.Now().Add(timeout)
	for {
		s := w.newest(st)
		if s != nil && slices.Equal(w.spell(s.Snapshot.Resources), want) {
			w.checkBodies(s.Snapshot.Resources)
			return
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("the hub doesn't have what is there: %v\nwant %v", s, want)
		}
		w.must(process.Pause(w.ctx, 20*time.Millisecond))
	}
}

// TestHubKilled: a hub that is killed while pushes come keeps what it has
// accepted; the agent says that it is gone, and brings what it missed.
func TestHubKilled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := newEditor(t, testenv.Rand(t), w.root)
	w.must(write(filepath.Join(w.root, "AGENTS.md"), "# One\n"))
	h := w.startHub()
	st, err := sqlite.Open(w.ctx, h.Database, sqlite.Options{BusyTimeout: timeout})
	w.must(err)
	t.Cleanup(func() { _ = st.Close() })
	agent := w.start()
	w.settlesIn(st, w.root)
	var revision int64
	for range 3 {
		for range 40 {
			e.edit()
			w.must(process.Pause(w.ctx, time.Duration(e.IntN(6))*time.Millisecond))
		}
		h.Kill()
		e.edit()
		w.fresh(filepath.Join(w.root, "CLAUDE.md"), e.text("CLAUDE.md"))
		w.await("that the hub is gone", func(s *status.Status) bool {
			return s.Push.LastError != "" && (s.Push.State == push.StateBackingOff || s.Push.State == push.StateConnecting)
		})
		h = w.startHub()
		w.settlesIn(st, w.root)
		w.await("that it is connected", connected)
		s := w.newest(st)
		if s.Revision <= revision {
			t.Errorf("revision %d after %d", s.Revision, revision)
		}
		revision = s.Revision
	}
	w.stop(agent)
}

func connected(s *status.Status) bool {
	return s.Push.State == push.StateConnected && s.Push.LastError == "" && s.Push.LastAccepted != nil
}

// TestAgentKilled: an agent that is killed at any moment leaves nothing behind
// that the next one stumbles over, least of all its memos.
func TestAgentKilled(t *testing.T) {
	t.Parallel()
	w := newWorld(t).withHub()
	e := newEditor(t, testenv.Rand(t), w.root)
	for range testenv.Rounds(3, 6, 6) {
		agent := w.start()
		until := time.Now().Add(time.Duration(50+e.IntN(700)) * time.Millisecond)
		for time.Now().Before(until) {
			e.edit()
			w.must(process.Pause(w.ctx, time.Duration(e.IntN(20))*time.Millisecond))
		}
		agent.Kill()
		for range 5 {
			e.edit()
		}
	}
	agent := w.start()
	w.settles(w.root)
	w.stop(agent)
	// Memos that were kept well are believed, so they must be right.
	e.edit()
	agent = w.start()
	w.settles(w.root)
	w.stop(agent)
}

// TestFrozen: an agent, and then a hub, that stand still for a while go on as
// if nothing had been.
func TestFrozen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := newEditor(t, testenv.Rand(t), w.root)
	h := w.startHub()
	st, err := sqlite.Open(w.ctx, h.Database, sqlite.Options{BusyTimeout: timeout})
	w.must(err)
	t.Cleanup(func() { _ = st.Close() })
	agent := w.start()
	for _, p := range []*process.Process{agent.Process, h.Process, agent.Process} {
		e.edit()
		w.must(p.Freeze(w.ctx))
		for range 60 {
			e.edit()
		}
		w.must(process.Pause(w.ctx, time.Second))
		e.edit()
		w.must(p.Signal(syscall.SIGCONT))
		w.settlesIn(st, w.root)
	}
	w.await("that it is connected", connected)

	// A hub that doesn't answer doesn't keep an agent from ending.
	w.must(h.Freeze(w.ctx))
	w.fresh(filepath.Join(w.root, "AGENTS.md"), "# Never answered\n")
	w.must(process.Pause(w.ctx, 300*time.Millisecond)) // now the push waits for its answer
	t.Logf("ended after %v", w.stop(agent))            // which never comes
}
