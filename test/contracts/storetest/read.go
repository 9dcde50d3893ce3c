package storetest

import (
	"slices"
	"strings"
	"testing"

	"waymark/abi"
	"waymark/hub/store"
	"waymark/snapshot"
)

var readTests = map[string]func(*testing.T, store.Store){
	"Empty":        testEmpty,
	"AgentList":    testAgentList,
	"Order":        testOrder,
	"ResourceBody": testResourceBody,
	"CloseTwice":   testCloseTwice,
}

func sorted(list []snapshot.Resource) []snapshot.Resource {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b snapshot.Resource) int { return strings.Compare(a.ID(), b.ID()) })
	return list
}

func testEmpty(t *testing.T, s store.Store) {
	if list := agents(t, s); len(list) != 0 {
		t.Errorf("agents of an empty store: %+v", list)
	}
	_, err := s.Snapshot(t.Context(), of("a"))
	wantErr(t, err, store.ErrNotFound)
	agent(t, s, "a")
	_, err = s.Snapshot(t.Context(), of("a"))
	wantErr(t, err, store.ErrNotFound)
}

func testAgentList(t *testing.T, s store.Store) {
	for _, id := range []string{"b", "a", "B", "0"} {
		agent(t, s, id)
	}
	g := agent(t, s, "a")
	p := whole(3, skill("x", "1"), skill("y", "22"))
	p.Snapshot.AggregateHash = snapshot.Hash{9}
	result := push(t, s, "a", g, p)
	list := agents(t, s)
	var ids []string
	for _, a := range list {
		ids = append(ids, a.ID)
	}
	if !slices.Equal(ids, []string{"0", "B", "a", "b"}) {
		t.Fatalf("order is %q", ids)
	}
	got := list[2]
	if got.Version != 3 || got.Resources != 2 || got.Revision != result.Revision || got.AggregateHash.String() != "09" ||
		got.UpdatedAt.IsZero() || got.CreatedAt.IsZero() {
		t.Errorf("agent is %+v", got)
	}
	if never := list[0]; never.Version != 0 || !never.UpdatedAt.IsZero() || never.AggregateHash != nil {
		t.Errorf("agent that never pushed is %+v", never)
	}
}

func testOrder(t *testing.T, s store.Store) {
	g := agent(t, s, "a")
	list := []snapshot.Resource{
		bare(abi.KindSkill, "/z"), bare(abi.KindSkill, "/É"), bare(abi.KindSkill, "/Z"), bare(abi.KindSkill, "/a b"),
		bare(abi.KindCommand, "/z"), bare(abi.KindSkill, "/a-b"), bare(abi.KindSkill, "/a/b"), bare(abi.KindSkill, "/😀"),
		bare(abi.KindSkill, "/\uffff"),
	}
	push(t, s, "a", g, whole(1, list...))
	if d := diff(snapshot.Snapshot{Version: 1, Resources: sorted(list)}, read(t, s, "a").Snapshot); d != "" {
		t.Errorf("byte order of ids (-want +got):\n%s", d)
	}
}

func testResourceBody(t *testing.T, s store.Store) {
	g := agent(t, s, "a")
	full, empty, none := skill("full", "text"), skill("empty", ""), bare(abi.KindMCPConfig, "/w/.mcp.json")
	push(t, s, "a", g, whole(1, full, empty, none))
	for _, tc := range []struct {
		agent, id, want string
		err             error
	}{
		{"a", full.ID(), "text", nil},
		{"a", empty.ID(), "", nil},
		{"a", none.ID(), "", store.ErrNotFound},
		{"a", "skill:/nowhere", "", store.ErrNotFound},
		{"b", full.ID(), "", store.ErrNotFound},
	} {
		body, err := s.ResourceBody(t.Context(), of(tc.agent), tc.id)
		wantErr(t, err, tc.err)
		if string(body) != tc.want || err == nil && body == nil {
			t.Errorf("%s of %s is %q", tc.id, tc.agent, body)
		}
	}
}

func testCloseTwice(t *testing.T, s store.Store) {
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
