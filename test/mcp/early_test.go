package mcp_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"waymark/agentapi"
	"waymark/agentapi/client"
	"waymark/snapshot"
	"waymark/test/process"
	"waymark/test/testenv"
)

// early is what changes between two agents of a workspace.
type early struct {
	what string
	// servers changes what the workspace configures, agent is the agent's own [mcp],
	// and state changes what the last agent has left behind.
	servers func(w *world, servers config)
	agent   string
	state   func(w *world)
	// waiting are the servers that no longer fit their approval, or never had one; off
	// those that the agent's configuration doesn't allow.
	waiting, off []string
}

var changes = []early{
	{what: "nothing"},
	{what: "no catalogue is known", state: (*world).forgetCatalogues},
	{what: "an argument", waiting: []string{"s0"}, servers: func(_ *world, servers config) {
		e := servers["s0"]
		e.Args = append(slices.Clone(e.Args), "another")
		servers["s0"] = e
	}},
	{what: "a server more", waiting: []string{"s9"}, servers: func(w *world, servers config) { servers["s9"] = w.hostileEntry("good") }},
	{what: "a server less", servers: func(_ *world, servers config) { delete(servers, "s1") }},
	{what: "none is left", servers: func(_ *world, servers config) { clear(servers) }},
	{what: "one is switched off", agent: "deny = [\"s2\"]\n", off: []string{"s2"}},
	{what: "what is remembered is nonsense", state: func(w *world) {
		found, err := filepath.Glob(filepath.Join(w.home.State(), "w/*/mcp/files.json"))
		w.must(err)
		for _, path := range found {
			w.put(path, `{"key":"","files":[{"path":"/"}]}`)
		}
	}},
}

// TestAskedEarly: whoever asks a starting agent, at whatever moment, never gets a
// complete list in which an approved server is missing, and never a tool of a server
// whose approval doesn't fit what is configured now.
func TestAskedEarly(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	usual := config{}
	for i := range 4 {
		usual[fmt.Sprint("s", i)] = w.hostileEntry("good")
	}
	w.configure(usual)
	w.start()
	for name := range usual {
		w.listed(name)
		w.approve(name)
		w.becomes(name, works...)
	}
	random := testenv.Rand(t)
	for range testenv.Rounds(1, 1, 20) {
		for _, i := range random.Perm(len(changes)) {
			e := &changes[i]
			w.next(random, usual, e)
			for range testenv.Rounds(0, 1, 1) { // every agent is a start, which is slow there
				w.next(random, usual, &early{what: e.what + ", taken back"})
			}
		}
	}
	w.stop()
}

// next kills the agent, changes something, and asks the one after it.
func (w *world) next(random *rand.Rand, usual config, e *early) {
	w.t.Helper()
	w.agent.Kill()
	servers := maps.Clone(usual)
	if e.servers != nil {
		e.servers(w, servers)
	}
	w.configure(servers)
	w.must(w.home.Configure("[limits]\ntime = \"1m\"\n[mcp]\n" + e.agent))
	if e.state != nil {
		e.state(w)
	}
	w.launch()
	w.connect()
	want := map[string][]snapshot.Outcome{}
	for name := range servers {
		switch {
		case slices.Contains(e.waiting, name):
			want[name] = []snapshot.Outcome{snapshot.OutcomeNeedsApproval}
		case slices.Contains(e.off, name):
			want[name] = []snapshot.Outcome{snapshot.OutcomeSwitchedOff}
		default:
			want[name] = works
		}
	}
	asked := 0
	w.await("that "+e.what+" is told", func() (any, bool) {
		list, err := w.client.ListMCPTools(w.ctx, client.MCPToolOptions{Wait: time.Duration(random.IntN(3)) * 10 * time.Millisecond})
		if err != nil {
			return err, false
		}
		asked++
		if why := wrong(list, want); why != "" {
			w.t.Fatalf("%s: answer %d, %s, has %s", e.what, asked, list.Phase, why)
		}
		s, err := w.client.Snapshot(w.ctx, client.SnapshotOptions{})
		if err != nil {
			return err, false
		}
		found := s.Version > 0 && !s.Discovery.Pending()
		if have := len(s.Discovery.Sources); found && have != len(want) {
			w.t.Fatalf("%s: a snapshot, said to be complete, has %d of %d servers", e.what, have, len(want))
		}
		w.must(process.Pause(w.ctx, time.Duration(random.IntN(5))*time.Millisecond))
		return list.Servers, found && list.Phase == snapshot.PhaseComplete
	})
}

// wrong says what must not be in an answer; empty for nothing.
func wrong(list *agentapi.MCPTools, want map[string][]snapshot.Outcome) string {
	tools := map[string]int{}
	for _, tool := range list.Tools {
		if tools[tool.ServerName]++; !slices.Equal(want[tool.ServerName], works) {
			return "a tool of " + tool.ServerName
		}
	}
	if list.Phase != snapshot.PhaseComplete {
		return ""
	}
	if len(list.Servers) != len(want) {
		return fmt.Sprintf("%d of %d servers", len(list.Servers), len(want))
	}
	for _, s := range list.Servers {
		switch {
		case !slices.Contains(want[s.Name], s.Outcome):
			return fmt.Sprintf("%s as %s", s.Name, s.Outcome)
		case slices.Equal(want[s.Name], works) && tools[s.Name] == 0:
			return "no tool of " + s.Name
		}
	}
	return ""
}
