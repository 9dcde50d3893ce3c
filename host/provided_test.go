package host_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"waymark/abi"
	"waymark/host"
	"waymark/internal/await"
	"waymark/snapshot"
	"waymark/test/contracts/vfstest"
	"waymark/test/testenv"
)

// provider is one whose rows a test sets.
type provider struct {
	mu        sync.Mutex // guards rows and discovery
	rows      []snapshot.Candidate
	discovery snapshot.Discovery
	changed   await.Signal
}

func (p *provider) Resources() []snapshot.Candidate {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.rows
}

func (p *provider) Discovery() snapshot.Discovery {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.discovery
}

func (p *provider) Changed() <-chan struct{} { return p.changed.Changed() }

// set replaces all that the provider has: a server of each name, with a tool of the
// text. Those whose text is "" are pending.
func (p *provider) set(texts map[string]string) {
	d := snapshot.Discovery{Phase: snapshot.PhaseComplete}
	var rows []snapshot.Candidate
	for name, text := range texts {
		row := serverRow(name, text)
		outcome := snapshot.SourceOutcome{ID: row.ID(), Name: name, Outcome: snapshot.OutcomeConnected}
		if text == "" {
			d.Phase, outcome.Outcome = snapshot.PhasePending, snapshot.OutcomePending
		} else {
			rows = append(rows, row)
		}
		d.Sources = append(d.Sources, outcome)
	}
	p.mu.Lock()
	p.rows, p.discovery = rows, d
	p.mu.Unlock()
	p.changed.Notify()
}

func serverRow(name, text string) snapshot.Candidate {
	tool, _ := json.Marshal(map[string]string{"name": text})
	return snapshot.Candidate{Resource: snapshot.Resource{
		Kind: abi.KindMCPServer, Source: "/w/.mcp.json", Key: name, Name: name, Status: snapshot.StatusOK,
		Resolver: "host/mcp@1", Payload: snapshot.ToolsPayload([]json.RawMessage{tool}),
	}}
}

// outcomes spells a discovery.
func outcomes(d snapshot.Discovery) string {
	list := []string{string(d.Phase)}
	for _, s := range d.Sources {
		list = append(list, s.Name+"="+string(s.Outcome))
	}
	return strings.Join(list, " ")
}

// TestProvider: what a provider has is in the snapshot, what it changes is
// published, and no resolver runs for that.
func TestProvider(t *testing.T) {
	noLeaks(t)
	root := vfstest.Build(t, []string{"AGENTS.md = one"})
	var runs atomic.Int64
	told := make(chan uint64, 100)
	p := &provider{}
	p.set(map[string]string{"b": "", "a": ""})
	h := newHost(t, host.Options{
		Builtin: module(builtin(t)), Watch: slow, Roots: []host.RootSpec{{Path: root}}, Providers: []host.Provider{p, &provider{}},
		Observe: func(r *host.Report) {
			for _, o := range r.Checked {
				if !o.Reused {
					runs.Add(1)
				}
			}
			told <- r.Snapshot.Version // last: who hears of it looks at the runs
		},
		Amended: func(s *snapshot.Snapshot) { told <- s.Version },
	})
	if !h.Current().Discovery.Pending() {
		t.Error("discovery is complete before there is a snapshot")
	}
	running(t, h)
	first := awaitSnapshot(t, h, "first", func(s *snapshot.Snapshot) bool { return s.Version > 0 })
	if got := outcomes(first.Discovery); got != "pending a=pending b=pending" || len(first.Resources) != 1 {
		t.Errorf("first: %s, %s", got, payloads(first))
	}

	// What sees a snapshot is told of it, by a refresh or without one, and later than
	// it can be seen.
	heard := func(version uint64) {
		t.Helper()
		for last := uint64(0); last != version; {
			select {
			case last = <-told:
			case <-time.After(time.Minute):
				t.Fatalf("told of version %d, not of %d", last, version)
			}
		}
	}
	heard(first.Version)
	before := runs.Load()

	p.set(map[string]string{"b": "", "a": "x"})
	s := awaitSnapshot(t, h, "one server", func(s *snapshot.Snapshot) bool { return len(s.Resources) == 2 })
	if got := outcomes(s.Discovery); got != "pending a=connected b=pending" {
		t.Errorf("one server: %s", got)
	}
	p.set(map[string]string{"b": "y", "a": "x"})
	s = awaitSnapshot(t, h, "both", func(s *snapshot.Snapshot) bool { return !s.Discovery.Pending() })
	if got := lines(s.Resources, root); len(got) != 3 || s.Find("mcp_server:/w/.mcp.json#b") == nil || s.Find("instruction_file:"+root+"/AGENTS.md") == nil {
		t.Errorf("complete: %v", got)
	}
	if s.AggregateHash.String() != first.AggregateHash.String() {
		t.Error("servers change what a chat pins")
	}
	if runs.Load() != before {
		t.Errorf("%d resolvers ran for it", runs.Load()-before)
	}

	// The answer to a question is of the same snapshot.
	if _, err := h.Why(t.Context(), filepath.Join(root, "AGENTS.md")); err != nil {
		t.Error(err)
	}
	heard(s.Version)
	put(t, filepath.Join(root, "AGENTS.md"), "two")
	s = awaitSnapshot(t, h, "an edit", func(s *snapshot.Snapshot) bool { return strings.Contains(payloads(s), "AGENTS.md=two") })
	if len(s.Resources) != 3 || s.Discovery.Pending() {
		t.Errorf("after an edit: %v", lines(s.Resources, root))
	}
}

// TestProviderWhileNothingIsKnown: between a reload, or other roots, and the refresh
// that follows, what a provider changes takes nothing away.
func TestProviderWhileNothingIsKnown(t *testing.T) {
	noLeaks(t)
	root := vfstest.Build(t, []string{"AGENTS.md = one", "CLAUDE.md = two"})
	p := &provider{}
	opts := testOptions(host.Options{
		Builtin: module(builtin(t)), Watch: slow, Roots: []host.RootSpec{{Path: root}}, Providers: []host.Provider{p},
	})
	h := newHost(t, opts)
	running(t, h)
	awaitSnapshot(t, h, "first", func(s *snapshot.Snapshot) bool { return len(s.Resources) == 2 })
	if err := h.Reconfigure(t.Context(), opts); err != nil {
		t.Fatal(err)
	}
	p.set(map[string]string{"a": "x"})
	s := awaitSnapshot(t, h, "the server", func(s *snapshot.Snapshot) bool { return s.Find("mcp_server:/w/.mcp.json#a") != nil })
	if len(s.Resources) != 3 {
		t.Errorf("only %v", lines(s.Resources, root))
	}
}

// TestProvidedRanksLast: whatever a provider says of its candidates, what lies in the
// workspace goes first.
func TestProvidedRanksLast(t *testing.T) {
	noLeaks(t)
	root := vfstest.Build(t, []string{"skills/z/SKILL.md = ---\nname: z\n---\n"})
	p := &provider{}
	p.set(map[string]string{"a": "x"})
	p.rows[0].Rank, p.rows[0].Root = -1, -1
	h := newHost(t, host.Options{
		Builtin: module(builtin(t)), Roots: []host.RootSpec{{Path: root}}, Providers: []host.Provider{p}, Caps: snapshot.Caps{MaxResources: 1},
	})
	got := lines(refresh(t, h).Snapshot.Resources, root)
	if len(got) != 2 || !strings.HasPrefix(got[0], "mcp_server:/w/.mcp.json#a excluded") || got[1] != "skill:skills/z ok" {
		t.Errorf("got %q", got)
	}
}

// TestProvidersRandomly lets two providers change while files are edited, roots
// come and go and everything is looked at anew: in the end all is there, as a new
// host finds it, and versions have only risen.
func TestProvidersRandomly(t *testing.T) {
	noLeaks(t)
	rnd := testenv.Rand(t)
	root := vfstest.Build(t, []string{"AGENTS.md = 0"})
	providers := []*provider{{}, {}}
	opts := host.Options{
		Builtin: module(builtin(t)), Watch: slow, Roots: []host.RootSpec{{Path: root}},
		Providers: []host.Provider{providers[0], providers[1]},
	}
	h := newHost(t, opts)
	running(t, h)
	for round := range testenv.Rounds(8, 25, 500) {
		for range 1 + rnd.IntN(6) {
			switch rnd.IntN(4) {
			case 0:
				put(t, filepath.Join(root, "AGENTS.md"), fmt.Sprint(rnd.IntN(100)))
			case 1:
				path := filepath.Join(root, "CLAUDE.md")
				if os.Remove(path) != nil {
					put(t, path, "here")
				}
			case 2:
				which := rnd.IntN(2)
				texts := map[string]string{}
				for i := range rnd.IntN(5) {
					texts[fmt.Sprintf("%c%d", 'a'+which, i)] = []string{"", "x", "y"}[rnd.IntN(3)]
				}
				providers[which].set(texts)
			case 3:
				if err := h.Reconfigure(t.Context(), testOptions(opts)); err != nil {
					t.Fatal(err)
				}
				go func() { _, _ = h.Refresh(t.Context()) }()
			}
		}
		clean := newHost(t, opts)
		want := refresh(t, clean).Snapshot
		if err := clean.Close(); err != nil { // there are hundreds, and each has two hundred mappings
			t.Fatal(err)
		}
		awaitSnapshot(t, h, fmt.Sprintf("round %d: want %v, %s", round, lines(want.Resources, root), outcomes(want.Discovery)), func(s *snapshot.Snapshot) bool {
			return snapshot.SameContent(s, want)
		})
	}
}
