package snapshot_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"waymark/abi"
	"waymark/snapshot"
)

// text is a list with one file of that content.
func text(content string) []snapshot.Resource {
	return []snapshot.Resource{{Kind: abi.KindInstructionFile, Source: "/w/AGENTS.md", Status: snapshot.StatusOK, Payload: []byte(content)}}
}

func TestVersionsCountChanges(t *testing.T) {
	ready := []snapshot.Plugin{{Name: "waymark", State: snapshot.PluginReady}}
	none := snapshot.Discovery{}
	asked := func(phase snapshot.Phase, outcome snapshot.Outcome) snapshot.Discovery {
		return snapshot.Discovery{Phase: phase, Sources: snapshot.SourceOutcomes{{ID: "mcp_server:/w/.mcp.json#a", Name: "a", Outcome: outcome}}}
	}
	steps := []struct {
		name      string
		resources []snapshot.Resource
		plugins   []snapshot.Plugin
		err       string
		discovery snapshot.Discovery
		want      uint64
	}{
		{"the first one is new, also when empty", nil, nil, "", none, 1},
		{"nothing new", nil, nil, "", none, 1},
		{"a resource", text("a"), nil, "", none, 2},
		{"the same again", text("a"), nil, "", none, 2},
		{"another payload, the same hash", text("b"), nil, "", none, 3},
		{"plugins", text("b"), ready, "", none, 4},
		{"the same plugins", text("b"), ready, "", none, 4},
		{"an error", text("b"), ready, "watching is degraded", none, 5},
		{"all gone", nil, ready, "", none, 6},
		{"something is asked for", nil, ready, "", asked(snapshot.PhasePending, snapshot.OutcomePending), 7},
		{"it is still", nil, ready, "", asked(snapshot.PhasePending, snapshot.OutcomePending), 7},
		{"an answer", nil, ready, "", asked(snapshot.PhasePending, snapshot.OutcomeConnected), 8},
		{"the phase alone", nil, ready, "", asked(snapshot.PhaseComplete, snapshot.OutcomeConnected), 9},
	}
	var p snapshot.Publisher
	last := p.Current()
	if last.Version != 0 || !last.Discovery.Pending() {
		t.Fatalf("version %d, discovery %+v before anything was published", last.Version, last.Discovery)
	}
	hash := ""
	for _, step := range steps {
		got, changed := p.Publish(p.Begin(), snapshot.Content{
			Resources: step.resources, Plugins: step.plugins, SnapshotError: step.err, Discovery: step.discovery,
		})
		if got.Version != step.want || changed != (got.Version > last.Version) {
			t.Errorf("%s: version %d, changed %v; want %d", step.name, got.Version, changed, step.want)
		}
		if got != p.Current() {
			t.Errorf("%s: the result isn't current", step.name)
		}
		if len(got.Resources) == 0 && hash != "" && got.AggregateHash.String() != hash {
			t.Errorf("%s: it changes the aggregate hash", step.name)
		}
		if len(got.Resources) == 0 {
			hash = got.AggregateHash.String()
		}
		last = got
	}
}

func TestPublishedSnapshotIsComplete(t *testing.T) {
	var p snapshot.Publisher
	in := append(text("abc"), snapshot.Resource{Kind: abi.KindHook, Source: "/h", Status: snapshot.StatusOK, Payload: []byte("de")})
	s, _ := p.Publish(p.Begin(), snapshot.Content{Resources: in})
	if s.PayloadBytes != 5 || s.AggregateHash.String() != snapshot.Aggregate(in).String() {
		t.Errorf("%d bytes, hash %s", s.PayloadBytes, s.AggregateHash)
	}
	if s.Resources[0].Kind != abi.KindHook || in[0].Kind == abi.KindHook {
		t.Error("the list isn't in order of id, or the caller's was changed")
	}
}

func TestLateResultsAreDropped(t *testing.T) {
	var p snapshot.Publisher
	early, late := p.Begin(), p.Begin()
	p.Publish(late, snapshot.Content{Resources: text("new")})
	for _, ticket := range []snapshot.Ticket{early, late, 0, late + 1} {
		if s, changed := p.Publish(ticket, snapshot.Content{Resources: text("old")}); changed || string(s.Resources[0].Payload) != "new" {
			t.Errorf("ticket %d was published after %d", ticket, late)
		}
	}
}

func degraded(content string) snapshot.Content {
	return snapshot.Content{Resources: text(content), SnapshotError: "degraded"}
}

func TestAmend(t *testing.T) {
	var p snapshot.Publisher
	if s, changed := p.Amend(degraded("a")); changed || s.Version != 0 {
		t.Error("amended a snapshot that doesn't exist")
	}
	p.Publish(p.Begin(), snapshot.Content{Resources: text("a")})
	underWay := p.Begin()
	if s, changed := p.Amend(degraded("a")); !changed || s.Version != 2 || s.SnapshotError != "degraded" || string(s.Resources[0].Payload) != "a" {
		t.Errorf("amended to %+v", s)
	}
	if _, changed := p.Amend(degraded("a")); changed {
		t.Error("the same amendment counts as a change")
	}
	if s, changed := p.Publish(underWay, degraded("b")); !changed || s.Version != 3 {
		t.Error("an amendment made the resolve under way late")
	}
}

func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p snapshot.Publisher
		got := make(chan uint64)
		for range 3 {
			go func() {
				s, err := p.Wait(t.Context(), 1)
				if err != nil {
					t.Error(err)
				}
				got <- s.Version
			}()
		}
		p.Publish(p.Begin(), snapshot.Content{Resources: text("1")})
		synctest.Wait() // version 1 isn't newer than 1: all still wait
		select {
		case v := <-got:
			t.Fatalf("woke up at version %d", v)
		default:
		}
		p.Publish(p.Begin(), snapshot.Content{Resources: text("2")})
		for range 3 {
			if v := <-got; v != 2 {
				t.Errorf("woke up at version %d, want 2", v)
			}
		}
	})
}

func TestWaitEndsWithItsContext(t *testing.T) {
	var p snapshot.Publisher
	cause := errors.New("client went away")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if s, err := p.Wait(ctx, 0); !errors.Is(err, cause) || s.Version != 0 {
		t.Errorf("got %v, %v", s, err)
	}
	p.Publish(p.Begin(), snapshot.Content{})
	if s, err := p.Wait(ctx, 0); err != nil || s.Version != 1 {
		t.Errorf("what is there already needs no waiting: %v, %v", s, err)
	}
}

// TestConcurrentPublishing has readers watch while writers publish: versions
// rise, and the last word has the highest ticket that was published.
func TestConcurrentPublishing(t *testing.T) {
	var p snapshot.Publisher
	var writers, readers sync.WaitGroup
	stop := make(chan struct{})
	for range 4 {
		readers.Go(func() {
			var last uint64
			for {
				s := p.Current()
				if s.Version < last {
					t.Errorf("version %d after %d", s.Version, last)
				}
				last = s.Version
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	const rounds = 200
	for range 4 {
		writers.Go(func() {
			for range rounds {
				ticket := p.Begin()
				p.Publish(ticket, snapshot.Content{Resources: text(string(rune('a' + ticket%26)))})
			}
		})
	}
	writers.Wait()
	close(stop)
	readers.Wait()
	if got, want := string(p.Current().Resources[0].Payload), string(rune('a'+4*rounds%26)); got != want {
		t.Errorf("the last content is %q, want that of the highest ticket, %q", got, want)
	}
}
