package storetest

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"waymark/hub/store"
	"waymark/snapshot"
)

var fleetTests = map[string]func(*testing.T, store.Store){
	"Describe": testDescribe,
	"Seen":     testSeen,
	"Labels":   testLabels,
	"Health":   testHealth,
	"Search":   testSearch,
	"Count":    testCount,
}

// show returns one agent, which is the same in the list of all.
func show(t *testing.T, s store.Store, id string) store.AgentInfo {
	t.Helper()
	got, err := s.Agent(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	for _, listed := range agents(t, s) {
		if d := cmp.Diff(got, listed); listed.ID == id && d != "" {
			t.Errorf("agent, and in the list of all: %s", d)
		}
	}
	return got
}

func testDescribe(t *testing.T, s store.Store) {
	agent(t, s, "a")
	agent(t, s, "b")
	for _, d := range []store.AgentDescription{
		{Hostname: "box", Root: "/w/a b", AgentVersion: "1.2.3"}, {Hostname: "box", Root: "/w/a b", AgentVersion: "1.2.3"}, {Hostname: "☃", AgentVersion: "1.2.4"},
	} {
		if err := s.DescribeAgents(t.Context(), map[string]store.AgentDescription{"a": d}); err != nil {
			t.Fatal(err)
		}
		if got := show(t, s, "a"); got.AgentDescription != d {
			t.Errorf("it says %+v, want %+v", got.AgentDescription, d)
		}
	}
	if got := show(t, s, "b"); got.AgentDescription != (store.AgentDescription{}) {
		t.Errorf("another says %+v", got.AgentDescription)
	}
	wantErr(t, s.DescribeAgents(t.Context(), map[string]store.AgentDescription{"a": {Hostname: "a\x00"}}), store.ErrInvalid)
	// Those that aren't there are passed over.
	many := map[string]store.AgentDescription{"c": {Hostname: "x"}, "\xff": {Hostname: "x"}, "a": {Hostname: "one"}, "b": {Hostname: "two"}}
	if err := s.DescribeAgents(t.Context(), many); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"a", "b"} {
		if got := show(t, s, id); got.AgentDescription != many[id] {
			t.Errorf("%s says %+v, want %+v", id, got.AgentDescription, many[id])
		}
	}
}

func testSeen(t *testing.T, s store.Store) {
	if _, err := s.CreateToken(t.Context(), newToken(store.RoleAgent, "a")); err != nil {
		t.Fatal(err)
	}
	if got := show(t, s, "a"); !got.SeenAt.IsZero() {
		t.Errorf("never connected, and seen at %s", got.SeenAt)
	}
	g := agent(t, s, "a")
	begun := show(t, s, "a").SeenAt
	if begun.IsZero() {
		t.Error("a connection has begun, and it was never seen")
	}
	push(t, s, "a", g, whole(1))
	if got := show(t, s, "a"); got.SeenAt.Before(got.UpdatedAt) {
		t.Errorf("seen at %s, before it pushed", got.SeenAt)
	}
	agent(t, s, "b")
	before := show(t, s, "b").SeenAt
	for !time.Now().Truncate(time.Microsecond).After(before) {
		continue // clocks have steps
	}
	if err := s.EndSessions(t.Context(), "", []store.EndedSession{{AgentID: "a", Generation: g, Last: true}, {AgentID: "gone"}}); err != nil {
		t.Fatal(err)
	}
	if a, b := show(t, s, "a").SeenAt, show(t, s, "b").SeenAt; !a.After(begun) || !b.Equal(before) {
		t.Errorf("seen at %s, and another at %s, which was %s", a, b, before)
	}
}

func testLabels(t *testing.T, s store.Store) {
	agent(t, s, "a")
	agent(t, s, "b")
	for _, step := range []struct {
		set    store.Labels
		remove []string
		want   store.Labels
	}{
		{store.Labels{"env": "prod", "team": "a"}, nil, store.Labels{"env": "prod", "team": "a"}},
		{store.Labels{"env": "dev"}, []string{"team", "none"}, store.Labels{"env": "dev"}},
		{store.Labels{"k8s.io/x": ""}, nil, store.Labels{"env": "dev", "k8s.io/x": ""}},
		{nil, []string{"env", "k8s.io/x"}, nil},
	} {
		got, err := s.LabelAgent(t.Context(), "a", step.set, step.remove)
		if err != nil || got.String() != step.want.String() {
			t.Errorf("labels %s, %v; want %s", got, err, step.want)
		}
		if d := cmp.Diff(step.want, show(t, s, "a").Labels); d != "" {
			t.Error(d)
		}
	}
	if got := show(t, s, "b").Labels; got != nil {
		t.Errorf("another has %s", got)
	}
	many := make(store.Labels)
	for i := range store.MaxLabels + 1 {
		many[fmt.Sprint("l", i)] = ""
	}
	for _, bad := range []store.Labels{many, {"": "x"}, {"a b": ""}, {"a": "ü"}, {".a": ""}, {"a": "\x00"}, {strings.Repeat("a", 64): ""}, {"a": strings.Repeat("a", 64)}} {
		if _, err := s.LabelAgent(t.Context(), "a", bad, nil); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("labels %q: %v", bad, err)
		}
	}
	if got := show(t, s, "a").Labels; got != nil {
		t.Errorf("bad ones were stored: %s", got)
	}
	_, err := s.LabelAgent(t.Context(), "c", store.Labels{"a": "b"}, nil)
	wantErr(t, err, store.ErrNotFound)
}

// testHealth: what is wrong with an agent is counted.
func testHealth(t *testing.T, s store.Store) {
	g := agent(t, s, "a")
	agent(t, s, "b")
	states := []snapshot.PluginState{
		snapshot.PluginReady, snapshot.PluginCompiling, snapshot.PluginNeedsApproval,
		snapshot.PluginFailing, snapshot.PluginQuarantined, snapshot.PluginRejected,
	}
	p := whole(1, skill("x", "1"))
	p.Snapshot.SnapshotError = "the root is gone"
	p.Snapshot.AggregateHash = snapshot.Hash{1}
	for _, state := range states {
		p.Snapshot.Plugins = append(p.Snapshot.Plugins, snapshot.Plugin{Name: string(state), State: state})
	}
	p = fully(p)
	push(t, s, "a", g, p)
	if _, err := s.CreatePin(t.Context(), "a", ""); err != nil {
		t.Fatal(err)
	}
	if got := show(t, s, "a"); got.FailingPlugins != 3 || got.DriftedPins != 0 || got.SnapshotError != "the root is gone" {
		t.Errorf("%+v", got)
	}
	next := delta(p.Update.Name, 2, nil, skill("x", "2"))
	next.Update.Head = true
	next.Snapshot.AggregateHash, next.Snapshot.Plugins = snapshot.Hash{2}, slices.Clone(p.Snapshot.Plugins[:4])
	push(t, s, "a", g, next)
	if got := show(t, s, "a"); got.FailingPlugins != 1 || got.DriftedPins != 1 || got.SnapshotError != "" {
		t.Errorf("%+v", got)
	}
	if got := show(t, s, "b"); got.FailingPlugins != 0 || got.DriftedPins != 0 {
		t.Errorf("another: %+v", got)
	}
}

func testSearch(t *testing.T, s store.Store) {
	old := skill("old", "x")
	for _, id := range []string{"b", "a"} {
		g := agent(t, s, id)
		p := whole(1, skill("Deploy_it", id), old, bare("instruction_file", "/w/"+id+"/100%.md"))
		p.Snapshot.Plugins = []snapshot.Plugin{{Name: "deployer", State: snapshot.PluginFailing, Digest: "abcd"}, {Name: "deploy-ok", State: snapshot.PluginReady}}
		p = fully(p)
		push(t, s, id, g, p)
		next := delta(p.Update.Name, 2, []string{old.ID()}, bare("instruction_file", "/w/new"))
		push(t, s, id, g, next)
	}
	hash := skill("", "a").ContentHash.String()
	for _, c := range []struct {
		text  string
		scope []string
		limit int
		want  string
	}{
		{"deploy", nil, 9, "a/Deploy_it b/Deploy_it"},
		{"DEPLOY_IT", []string{"b"}, 9, "b/Deploy_it"},
		{"deploy", []string{}, 9, ""},
		{"deploy", nil, 1, "a/Deploy_it"},
		{"t_i", nil, 9, ""}, {"0%", nil, 9, "a/ b/"}, {"/w/new", []string{"a", "\x00"}, 9, "a/"},
		{"old", nil, 9, ""},
		{hash, nil, 9, "a/Deploy_it"}, {hash, []string{"b"}, 9, ""}, {hash[:20], nil, 9, ""},
	} {
		hits, err := s.Search(t.Context(), store.SearchQuery{Text: c.text, Scope: c.scope, Limit: c.limit})
		var got []string
		for _, h := range hits {
			got = append(got, h.AgentID+"/"+h.Name)
		}
		if c.text == "deploy" || err != nil {
			got = nil // plugins too, below
			for _, h := range hits {
				if h.Plugin == nil {
					got = append(got, h.AgentID+"/"+h.Name)
				}
			}
		}
		if strings.Join(got, " ") != c.want || err != nil {
			t.Errorf("%q in %q: %q, %v; want %q", c.text, c.scope, got, err, c.want)
		}
	}
	hits, err := s.Search(t.Context(), store.SearchQuery{Text: "Deployer", Scope: []string{"b"}, Limit: 9})
	if err != nil || len(hits) != 1 || hits[0].AgentID != "b" || hits[0].Plugin == nil || hits[0].Plugin.Name != "deployer" {
		t.Errorf("plugins: %+v, %v", hits, err)
	}
	for _, bad := range []string{"", "x", "\x00\x00", strings.Repeat("x", 2000)} {
		_, err := s.Search(t.Context(), store.SearchQuery{Text: bad, Limit: 1})
		wantErr(t, err, store.ErrInvalid)
	}
}

// testCount compares the counts with the list, while agents come, fail, drift and go.
func testCount(t *testing.T, s store.Store) {
	check := func(name string, want store.AgentCounts) {
		t.Helper()
		listed := store.AgentCounts{Attention: map[store.Attention]int{}}
		if want.Attention == nil {
			want.Attention = map[store.Attention]int{}
		}
		for _, a := range agents(t, s) {
			listed.Agents++
			if a.SeenAt.IsZero() {
				listed.NeverSeen++
			}
			for _, reason := range a.Attention(time.Now()) {
				listed.Attention[reason]++
			}
		}
		if got, err := s.CountAgents(t.Context()); err != nil || !reflect.DeepEqual(got, want) || !reflect.DeepEqual(got, listed) {
			t.Errorf("%s: %+v, %v; want %+v, listed are %+v", name, got, err, want, listed)
		}
	}
	check("nothing", store.AgentCounts{})
	if _, err := s.CreateToken(t.Context(), newToken(store.RoleAgent, "never")); err != nil {
		t.Fatal(err)
	}
	g := agent(t, s, "a")
	check("two", store.AgentCounts{Agents: 2, NeverSeen: 1})
	failing := hashed(1, skill("x", "1"))
	failing.Snapshot.Plugins = []snapshot.Plugin{{Name: "p", State: "failing"}, {Name: "q", State: "failing"}}
	push(t, s, "a", g, failing)
	createPin(t, s, "a")
	check("failing", store.AgentCounts{Agents: 2, NeverSeen: 1, Attention: map[store.Attention]int{store.AttentionPlugins: 1, store.AttentionResources: 1}})
	push(t, s, "a", g, hashed(2, skill("x", "2")))
	check("well again, and drifted", store.AgentCounts{Agents: 2, NeverSeen: 1, Attention: map[store.Attention]int{store.AttentionPins: 1, store.AttentionResources: 1}})
	if err := s.RemoveAgent(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	check("gone, but for the pin", store.AgentCounts{Agents: 1, NeverSeen: 1})
}
