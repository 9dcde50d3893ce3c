package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"waymark/hub/api"
	"waymark/hub/server"
	"waymark/hub/store"
	"waymark/internal/credential"
	"waymark/snapshot"
)

// page asks for agents, and returns their ids, how many there are on all pages, and
// the next page.
func (f *fixture) page(path string) (ids []string, total, next string) {
	f.Helper()
	resp := f.do("GET", path, "")
	var list []api.Agent
	if err := json.NewDecoder(resp.Body).Decode(&list); err != nil || resp.StatusCode != 200 {
		f.Fatalf("%s: %s, %v", path, resp.Status, err)
	}
	for i := range list {
		ids = append(ids, list[i].ID)
	}
	if m := regexp.MustCompile(`^<(/api/v0/agents\?[^>]*)>; rel="next"$`).FindStringSubmatch(resp.Header.Get("Link")); m != nil {
		next = m[1]
	} else if resp.Header.Get("Link") != "" {
		f.Errorf("Link: %s", resp.Header.Get("Link"))
	}
	return ids, resp.Header.Get("X-Total-Count"), next
}

// TestAgentState: what a fleet is looked at for.
func TestAgentState(t *testing.T) {
	f := newFixture(t, server.Limits{})
	f.token(store.RoleAgent, "new")
	f.push("here", text("/w/AGENTS.md", "one"))
	f.push("gone")
	f.pin("here")
	f.push("here", text("/w/AGENTS.md", "two"))
	f.connect("here")
	if err := f.store.DescribeAgents(t.Context(), map[string]store.AgentDescription{"here": {Hostname: "box", Root: "/w", AgentVersion: "1.0"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.store.LabelAgent(t.Context(), "here", store.Labels{"env": "prod"}, nil); err != nil {
		t.Fatal(err)
	}
	list := get[[]api.Agent](f, "/api/v0/agents")
	if len(list) != 3 {
		t.Fatalf("%+v", list)
	}
	gone, here, fresh := list[0], list[1], list[2]
	if gone.State != api.StateAway || gone.AwaySince == nil || gone.LastPushAt == nil || len(gone.Attention) != 0 {
		t.Errorf("gone: %+v", gone)
	}
	if here.State != api.StateConnected || here.AwaySince != nil || here.Hostname != "box" || here.Root != "/w" || here.AgentVersion != "1.0" ||
		here.Labels["env"] != "prod" || here.DriftedPins != 1 || !slices.Equal(here.Attention, []string{"drifted_pins"}) {
		t.Errorf("here: %+v", here)
	}
	if fresh.State != api.StateNeverConnected || fresh.AwaySince != nil || fresh.LastPushAt != nil || fresh.Labels == nil {
		t.Errorf("new: %+v", fresh)
	}
	broken := text("/w/broken.md", "")
	broken.Status, broken.Error = snapshot.StatusInvalid, "why"
	f.pushDiscovery("here", snapshot.Discovery{Sources: snapshot.SourceOutcomes{
		{ID: "a", Outcome: snapshot.OutcomeFailed}, {ID: "b", Outcome: snapshot.OutcomeNeedsApproval}, {ID: "c", Outcome: snapshot.OutcomeNeedsAuthorization},
	}}, broken)
	codes := []string{"invalid_resources", "failing_servers", "waiting_servers", "drifted_pins"}
	here = get[api.Agent](f, "/api/v0/agents/here")
	if here.InvalidResources != 1 || here.FailingServers != 1 || here.WaitingServers != 2 || !slices.Equal(here.Attention, codes) {
		t.Errorf("broken: %+v", here)
	}
	for _, code := range append(codes, "any") {
		if list := get[[]api.Agent](f, "/api/v0/agents?attention="+code); len(list) != 1 || list[0].ID != "here" {
			t.Errorf("%s: %+v", code, list)
		}
	}
	f.later(store.AttentionAfter)
	for _, row := range get[[]api.Agent](f, "/api/v0/agents?state=away") {
		if !slices.Equal(row.Attention, []string{"away"}) {
			t.Errorf("later: %+v", row)
		}
	}
	if one := get[api.Agent](f, "/api/v0/agents/new"); !slices.Equal(one.Attention, []string{"never_connected"}) {
		t.Errorf("later: %+v", one)
	}
}

// TestAgentPages walks through agents in all orders, and asks for some of them.
func TestAgentPages(t *testing.T) {
	f := newFixture(t, server.Limits{})
	ctx := context.Background()
	var all []string
	for i := range 23 {
		id := fmt.Sprintf("a%02d", i)
		all = append(all, id)
		f.token(store.RoleAgent, id)
		d := store.AgentDescription{Hostname: fmt.Sprintf("Host-%d", i%5), Root: fmt.Sprintf("/w/%d", i%3), AgentVersion: "1"}
		if err := f.store.DescribeAgents(ctx, map[string]store.AgentDescription{id: d}); err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			if _, err := f.store.LabelAgent(ctx, id, store.Labels{"env": []string{"prod", "dev"}[i%4/2], "n": id}, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	f.connect("a00", "a03")
	f.push("a05")
	if ids, total, next := f.page("/api/v0/agents"); !slices.Equal(ids, all) || total != "23" || next != "" {
		t.Errorf("all: %s, %s, %q", ids, total, next)
	}
	for _, sort := range store.AgentOrders {
		up := f.walk("sort=" + sort)
		down := f.walk("order=desc&sort=" + sort)
		slices.Reverse(down)
		if !slices.Equal(up, down) || len(up) != 23 {
			t.Errorf("by %s: %s, and from the end %s", sort, up, down)
		}
		slices.Sort(up)
		if !slices.Equal(up, all) {
			t.Errorf("by %s: %s", sort, up)
		}
	}
	for query, want := range map[string]string{
		"q=HOST-1+%2Fw%2F1":            "a01 a16",
		"q=host-0+prod":                "a00 a20",
		"q=nothing":                    "",
		"label=env%3Dprod&label=n=a04": "a04",
		"label=env=none":               "",
		"state=connected":              "a00 a03",
		"state=away":                   "a05",
		"q=a0&state=connected&limit=1&sort=hostname&order=desc": "a03",
		"attention=any":                        "",
		"sort=state&order=asc&limit=1":         "a05",
		"sort=last_push_at&order=desc&limit=1": "a05",
	} {
		if ids, _, _ := f.page("/api/v0/agents?" + query); strings.Join(ids, " ") != want {
			t.Errorf("%s: %s, want %s", query, ids, want)
		}
	}
	_, _, next := f.page("/api/v0/agents?limit=5&sort=name")
	for _, bad := range []string{
		"limit=0", "limit=-1", "limit=x", "sort=color", "order=up", "state=gone", "label=env", "label==x", "label=a=1&label=a=2",
		"attention=yes", "after=x", "after=e30", "sort=root&" + next[strings.Index(next, "after="):],
	} {
		f.want(400, "GET", "/api/v0/agents?"+bad, "")
	}
}

// walk goes through all pages of five.
func (f *fixture) walk(query string) (ids []string) {
	f.Helper()
	for next := "/api/v0/agents?limit=5&" + query; next != ""; {
		var page []string
		page, _, next = f.page(next)
		if len(page) == 0 || len(ids) > 100 {
			f.Fatalf("%s: %s", query, ids)
		}
		ids = append(ids, page...)
	}
	return ids
}

// TestAgentOrder: agents are in the order in which people look for them, on all pages.
func TestAgentOrder(t *testing.T) {
	f := newFixture(t, server.Limits{})
	for i, name := range []string{"zebra", "agent-10", "Agent-2", "agent-1", "Beta", "beta", "agent-2", " ", "", "Ärger", "agent-007", "beta 12", "beta 9"} {
		id := fmt.Sprintf("%c-%02d", 'z'-rune(i), i)
		_, err := f.store.CreateToken(t.Context(), store.NewToken{Role: store.RoleAgent, AgentID: id, Name: name, Hash: credential.HashOf(id)})
		if err != nil {
			t.Fatal(err)
		}
		d := store.AgentDescription{Hostname: []string{"b10", "B9"}[i%2], AgentVersion: fmt.Sprintf("0.%d.0", []int{9, 10, 8}[i%3])}
		if err := f.store.DescribeAgents(t.Context(), map[string]store.AgentDescription{id: d}); err != nil {
			t.Fatal(err)
		}
	}
	const byName = "w-03 t-06 x-02 p-10 y-01 u-05 v-04 n-12 o-11 r-08 s-07 z-00 q-09"
	versions := map[string]string{}
	for _, row := range get[[]api.Agent](f, "/api/v0/agents") {
		versions[row.ID] = row.AgentVersion
	}
	for _, sort := range []string{"name", "state", "attention", "drifted_pins", "last_push_at", "labels", "root"} { // the same in all but the name
		if ids := strings.Join(f.walk("sort="+sort), " "); ids != byName {
			t.Errorf("by %s: %s, want %s", sort, ids, byName)
		}
	}
	ids := f.walk("sort=name&order=desc")
	slices.Reverse(ids)
	if strings.Join(ids, " ") != byName {
		t.Errorf("turned round: %s", ids)
	}
	if ids := f.walk("sort=id"); !slices.IsSorted(ids) || !slices.Equal(ids, f.walk("")) {
		t.Errorf("by id: %s", ids)
	}
	if ids := f.walk("sort=hostname"); ids[0] != "w-03" || ids[5] != "q-09" || ids[6] != "t-06" {
		t.Errorf("by host name, of which b9 comes before b10: %s", ids)
	}
	ids = f.walk("sort=agent_version")
	if first, last := versions[ids[0]], versions[ids[len(ids)-1]]; first != "0.8.0" || last != "0.10.0" {
		t.Errorf("by version: from %s to %s", first, last)
	}
}
