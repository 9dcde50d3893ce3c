package mcp_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"waymark/agentapi/client"
	"waymark/snapshot"
	"waymark/test/process"
	"waymark/test/testenv"
)

// tenServers are well-behaved ones and such as don't want to end.
func (w *world) tenServers() (config, []string) {
	servers, names := config{}, []string{}
	for i, mode := range []string{"good", "good", "good", "good", "good", "ignores-sigterm", "ignores-eof", "detaches", "litters", "late"} {
		name := fmt.Sprintf("s%d", i)
		servers[name], names = w.hostileEntry(mode), append(names, name)
	}
	return servers, names
}

// TestAgentKilled: whenever an agent is killed, its servers end, without a next
// start of it; and the next one knows what they offer at once.
func TestAgentKilled(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	servers, names := w.tenServers()
	w.configure(servers)
	w.start()
	w.listed(names...)
	w.approve(names...)
	for _, name := range names {
		w.becomes(name, works...)
	}
	random := testenv.Rand(t)
	var gone, known []time.Duration
	for range testenv.Rounds(2, 20, 100) {
		// Most moments are while they start; some are when all run.
		called := random.IntN(3)
		for i := range names {
			if i%3 < called {
				go func() { _, _ = w.call(names[i]+"__echo", "{}") }()
			}
		}
		w.must(process.Pause(w.ctx, time.Duration(random.IntN(400))*time.Millisecond))
		w.agent.Kill()
		gone = append(gone, w.nothingLeft())
		known = append(known, w.knownAgain(names))
	}
	// What servers offer is known before the agent has looked at its workspace. One that
	// is ended in the middle of that is another test's.
	w.await("that the last one has started", func() (any, bool) {
		s, err := w.client.Snapshot(w.ctx, client.SnapshotOptions{Wait: time.Second})
		return err, err == nil && s.Version > 0 && !s.Discovery.Pending()
	})
	w.stop()
	slices.Sort(gone)
	slices.Sort(known)
	t.Logf("after kill -9 nothing is left within %v (promised: 5 s); the next agent has its catalogue %v after its first snapshot (aim: 100ms)", gone, known)
	if slowest := gone[len(gone)-1]; slowest > 15*time.Second { // three times what is promised
		t.Errorf("servers live on for %v", slowest)
	}
}

// TestRestartKilled: when an agent is killed while servers of many are restarted, nothing is
// left of those that ended, of those that took their places and of the others.
func TestRestartKilled(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	servers, names := config{}, []string{}
	for i := range 25 {
		name := fmt.Sprintf("s%02d", i)
		servers[name], names = w.hostileEntry("good"), append(names, name)
	}
	w.configure(servers)
	w.start()
	w.listed(names...)
	w.approve(names...)
	random := testenv.Rand(t)
	var gone []time.Duration
	for range testenv.Rounds(1, 1, 200) {
		for _, name := range names {
			w.becomes(name, works...)
		}
		for i := range names {
			if i%5 == 0 { // running ones are replaced
				go func() {
					_, _ = w.call(names[i]+"__echo", "{}")
					_ = w.client.RestartMCPServer(w.ctx, names[i])
				}()
			}
		}
		w.must(process.Pause(w.ctx, time.Duration(random.IntN(1000))*time.Millisecond))
		w.agent.Kill()
		gone = append(gone, w.nothingLeft())
		w.start()
	}
	w.stop()
	t.Logf("after kill -9 nothing is left within %v", slices.Max(gone))
}

// knownAgain starts the agent, which says what servers offer without starting one,
// and returns how long that took from the time at which it answered.
func (w *world) knownAgain(names []string) time.Duration {
	w.t.Helper()
	w.launch()
	w.connect()
	var begun time.Time
	var list any
	w.await("that all is known", func() (any, bool) {
		tools, err := w.client.ListMCPTools(w.ctx, client.MCPToolOptions{})
		if err != nil {
			return err, false
		}
		if begun.IsZero() {
			begun = time.Now()
		}
		list = tools
		cached := 0
		for _, s := range tools.Servers {
			if slices.Contains(works, s.Outcome) {
				cached++
			}
		}
		return list, cached == len(names) && tools.Phase == snapshot.PhaseComplete && len(tools.Tools) >= len(names)
	})
	return time.Since(begun)
}
