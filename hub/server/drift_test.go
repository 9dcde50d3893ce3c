package server_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"waymark/hub/server"
	"waymark/snapshot"
)

// driftStep is one step in the life of a pin, and what readers see of it.
type driftStep struct {
	name string
	do   func(w *driftWorld)
	// holds are the pinned texts and the descriptions of MCP servers; nil for
	// an empty pin.
	holds   []string
	drifted bool
	// announced says that there is one event about the pin, and not none.
	announced bool
	// differs are the ids in the diff from the pin to now.
	differs []string
	gone    bool
}

// driftWorld is one agent, its pin, and a stream about it.
type driftWorld struct {
	*fixture
	pin    pin
	stream *reader
}

func (w *driftWorld) refresh() { w.want(200, "POST", "/api/v0/pins/"+w.pin.ID+"/refresh", "") }

func (w *driftWorld) remove() {
	w.Helper()
	if err := w.store.RemoveAgent(w.Context(), "a"); err != nil {
		w.Fatal(err)
	}
	delete(w.sessions, "a")
}

// TestDrift is the semantics of drift, over HTTP alone but for the pushes.
func TestDrift(t *testing.T) {
	const agents = "instruction_file:/w/AGENTS.md"
	a := func(content string) snapshot.Resource { return text("/w/AGENTS.md", content) }
	w := &driftWorld{fixture: newFixture(t, server.Limits{})}
	w.push("a", a("1"))
	w.pin = w.fixture.pin("a")
	w.stream = w.follow("?after=" + w.newest() + "&pin_id=" + w.pin.ID)
	for _, step := range []driftStep{
		{name: "push, pin", do: func(*driftWorld) {}, holds: []string{"1"}},
		{name: "MCP-only change", do: func(w *driftWorld) { w.push("a", a("1"), mcpServer("m", "one")) }, holds: []string{"1", "one"}, announced: true},
		{name: "MCP-only change again", do: func(w *driftWorld) { w.push("a", a("1"), mcpServer("m", "two")) }, holds: []string{"1", "two"}, announced: true},
		{name: "edit", do: func(w *driftWorld) { w.push("a", a("2"), mcpServer("m", "two")) }, holds: []string{"1", "two"}, drifted: true, announced: true, differs: []string{agents}},
		{name: "another edit", do: func(w *driftWorld) { w.push("a", a("3"), mcpServer("m", "two")) }, holds: []string{"1", "two"}, drifted: true, differs: []string{agents}},
		{name: "MCP while drifted", do: func(w *driftWorld) { w.push("a", a("3")) }, holds: []string{"1"}, drifted: true, announced: true, differs: []string{agents}},
		{name: "edit back", do: func(w *driftWorld) { w.push("a", a("1")) }, holds: []string{"1"}, drifted: true},
		{name: "refresh", do: (*driftWorld).refresh, holds: []string{"1"}, announced: true},
		{name: "edit anew", do: func(w *driftWorld) { w.push("a", a("4"), text("/w/new", "n")) }, holds: []string{"1"}, drifted: true, announced: true, differs: []string{agents, "instruction_file:/w/new"}},
		{name: "refresh to it", do: (*driftWorld).refresh, holds: []string{"4", "n"}, announced: true},
		{name: "agent rebuilt, the same", do: func(w *driftWorld) { w.session("a"); w.push("a", a("4"), text("/w/new", "n")) }, holds: []string{"4", "n"}},
		{name: "agent rebuilt, something else", do: func(w *driftWorld) { w.session("a"); w.push("a", a("5")) }, holds: []string{"4", "n"}, drifted: true, announced: true, differs: []string{agents, "instruction_file:/w/new"}},
		{name: "agent gone", do: (*driftWorld).remove, holds: []string{"4", "n"}, drifted: true, announced: true, differs: []string{agents, "instruction_file:/w/new"}, gone: true},
		{name: "refresh without an agent", do: (*driftWorld).refresh, announced: true, gone: true},
		{name: "agent back: hydrated", do: func(w *driftWorld) { w.push("a", a("6")) }, holds: []string{"6"}, announced: true},
	} {
		w.step(step)
	}
}

func (f *fixture) newest() string {
	f.Helper()
	newest, err := f.store.Newest(f.Context())
	if err != nil {
		f.Fatal(err)
	}
	return newest.String()
}

func (w *driftWorld) step(step driftStep) {
	w.Helper()
	before := w.pin
	step.do(w)
	w.pin = get[pin](w.fixture, "/api/v0/pins/"+w.pin.ID)
	got := w.pin
	if drifted := got.DriftedAt != nil; drifted != step.drifted || drifted != (got.DriftRevision > 0) || got.AgentGone != step.gone {
		w.Errorf("%s: %+v", step.name, got)
	}
	if before.DriftedAt != nil && got.DriftedAt != nil && (*before.DriftedAt != *got.DriftedAt || before.DriftRevision != got.DriftRevision) {
		w.Errorf("%s: drift was marked again: %+v, %+v", step.name, before, got)
	}
	if step.announced {
		var announced pin
		if err := json.Unmarshal([]byte(w.stream.event().data), &announced); err != nil || fmt.Sprint(announced.Revision, announced.DriftRevision) != fmt.Sprint(got.Revision, got.DriftRevision) {
			w.Errorf("%s: announced as %+v (%v), want %+v", step.name, announced, err, got)
		}
	}
	w.holds(step)
	changes := get[struct {
		From    int64
		Changes []struct{ ID, Diff string }
	}](w.fixture, "/api/v0/pins/"+w.pin.ID+"/diff")
	var ids []string
	for _, ch := range changes.Changes {
		ids = append(ids, ch.ID)
		if ch.Diff == "" {
			w.Errorf("%s: %s has no diff", step.name, ch.ID)
		}
	}
	if !slices.Equal(ids, step.differs) || changes.From != got.Revision {
		w.Errorf("%s: from %d %q differ, want %q", step.name, changes.From, ids, step.differs)
	}
}

// holds compares what is pinned.
func (w *driftWorld) holds(step driftStep) {
	w.Helper()
	path := "/api/v0/pins/" + w.pin.ID + "/context"
	if step.holds == nil {
		w.want(404, "GET", path, "")
		return
	}
	var got []string
	for _, r := range get[struct {
		Resources []struct{ ID, Kind, Description string }
	}](w.fixture, path).Resources {
		if r.Kind == "mcp_server" {
			got = append(got, r.Description)
			continue
		}
		got = append(got, w.want(200, "GET", path+"/resources/"+r.ID, ""))
	}
	if !slices.Equal(got, step.holds) {
		w.Errorf("%s: the pin holds %q, want %q", step.name, got, step.holds)
	}
}
