package hub_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"waymark/abi"
	"waymark/host"
	"waymark/host/push"
	"waymark/hub"
	"waymark/hub/api"
	"waymark/hub/store"
	"waymark/internal/await"
	"waymark/snapshot"
	"waymark/test/testenv"
)

// servers is a provider of random MCP servers.
type servers struct {
	name string

	mu        sync.Mutex // guards rows and discovery
	rows      []snapshot.Candidate
	discovery snapshot.Discovery
	changed   await.Signal
}

func (s *servers) Resources() []snapshot.Candidate {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rows
}

func (s *servers) Discovery() snapshot.Discovery {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.discovery
}

func (s *servers) Changed() <-chan struct{} { return s.changed.Changed() }

// shuffle makes other servers, of which one bears the mark.
func (s *servers) shuffle(r *rand.Rand, mark string) {
	d := snapshot.Discovery{Phase: snapshot.PhaseComplete}
	rows := []snapshot.Candidate{s.row("mark", mark)}
	for i := range r.IntN(6) {
		name := fmt.Sprint(i)
		row := s.row(name, strings.Repeat("x", r.IntN(4)))
		outcome := snapshot.Outcomes()[r.IntN(8)]
		switch outcome {
		case snapshot.OutcomePending:
			d.Phase = snapshot.PhasePending
		case snapshot.OutcomeConnected, snapshot.OutcomeCached:
			var tools []json.RawMessage
			for range r.IntN(8) {
				tools = append(tools, json.RawMessage(`{"name":"t","description":"`+strings.Repeat("d", r.IntN(20_000))+`"}`))
			}
			row.Payload = snapshot.ToolsPayload(tools)
		default:
			row.Status, row.Error = snapshot.StatusExcluded, "do something about it"
		}
		if outcome != snapshot.OutcomePending {
			rows = append(rows, row)
		}
		d.Sources = append(d.Sources, snapshot.SourceOutcome{ID: row.ID(), Name: name, Outcome: outcome, Error: row.Error})
	}
	s.mu.Lock()
	s.rows, s.discovery = rows, d
	s.mu.Unlock()
	s.changed.Notify()
}

func (s *servers) row(name, description string) snapshot.Candidate {
	return snapshot.Candidate{Resource: snapshot.Resource{
		Kind: abi.KindMCPServer, Source: "/w/" + s.name, Key: name, Name: name, Description: description,
		Status: snapshot.StatusOK, Resolver: "host/mcp@1", Attributes: snapshot.Attributes{"state": {Text: "known"}},
	}}
}

// TestProvidedReachesTheHub: whatever providers do, and however often the connection
// is another one, the hub has the agent's rows and discovery in the end, and tells
// its readers what the agent tells.
func TestProvidedReachesTheHub(t *testing.T) {
	t.Parallel()
	f := newFixture(t, hub.Options{})
	opts, err := push.Remote(f.web(), push.RemoteOptions{Token: f.token(store.RoleAgent, "a")})
	if err != nil {
		t.Fatal(err)
	}
	providers := []*servers{{name: "one"}, {name: "two"}}
	h, err := host.New(host.Options{Providers: []host.Provider{providers[0], providers[1]}, Push: &opts})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- h.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		_ = h.Close()
	})
	reader := f.token(store.RoleReader, "")
	r := testenv.Rand(t)
	for round := range testenv.Rounds(8, 20, 1000) {
		mark := ""
		for i := range 1 + r.IntN(5) {
			mark = fmt.Sprint(round, ".", i)
			for _, p := range providers {
				p.shuffle(r, mark)
			}
			if r.IntN(6) == 0 {
				if err := h.SetPush(&opts); err != nil {
					t.Fatal(err)
				}
			}
		}
		arrived(t, h, mark)
		agent, stored := h.Current(), f.snapshot("a")
		stored.Snapshot.Version = agent.Version
		for i := range stored.Snapshot.Resources { // precedence is the agent's own
			stored.Snapshot.Resources[i].Order = agent.Resources[min(i, len(agent.Resources)-1)].Order
		}
		if !snapshot.SameContent(agent, &stored.Snapshot) || stored.Snapshot.PayloadBytes != agent.PayloadBytes {
			t.Fatalf("round %d: the hub has %d rows and %s, the agent %d and %s", round, len(stored.Snapshot.Resources),
				stored.Snapshot.Discovery.Summary(), len(agent.Resources), agent.Discovery.Summary())
		}
		response := f.do("GET", "/api/v0/agents/a", reader, "")
		var told api.Agent
		if err := json.NewDecoder(response.Body).Decode(&told); err != nil || !told.Discovery.Equal(agent.Discovery.Summary()) {
			t.Fatalf("round %d: readers are told %s, the agent says %s (%v)", round, told.Discovery, agent.Discovery.Summary(), err)
		}
	}
}

// arrived waits until the hub has what bears the mark.
func arrived(t *testing.T, h *host.Host, mark string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	marked := func(s *snapshot.Snapshot) bool {
		for _, source := range []string{"/w/one", "/w/two"} {
			if r := s.Find("mcp_server:" + source + "#mark"); r == nil || r.Description != mark {
				return false
			}
		}
		return true
	}
	for version := uint64(0); ; {
		s, err := h.Wait(ctx, version)
		if err != nil {
			t.Fatalf("the agent never has %s: %v", mark, err)
		}
		if version = s.Version; marked(s) {
			break
		}
	}
	if err := h.Accepted(ctx, h.Current().Version); err != nil {
		t.Fatalf("the hub never has %s: %v", mark, err)
	}
}
