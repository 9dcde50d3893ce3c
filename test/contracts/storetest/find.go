package storetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"waymark/hub/store"
	"waymark/snapshot"
)

var findTests = map[string]func(*testing.T, Database){"Find": testFind}

// testFind walks through agents in all orders, which are those of the agents as they are shown.
func testFind(t *testing.T, database Database) {
	clock := newClock()
	s := database.Open(t, Config{Now: clock.Now})
	for _, hub := range []string{"h1", "h2", "h3"} {
		lease(t, s, hub, time.Minute)
	}
	const n = 40
	for i := range n {
		clock.now = clock.now.Add(time.Millisecond)
		id := fmt.Sprintf("id-%02d", (i*7)%n)
		token := newToken(store.RoleAgent, id)
		token.Name = []string{"", "Name 2", "name 10", "other"}[i%4]
		if _, err := s.CreateToken(t.Context(), token); err != nil {
			t.Fatal(err)
		}
		if i%5 == 0 {
			continue // it never was there
		}
		hub := []string{"", "h1", "h2", "h3"}[i%4]
		g, _ := begin(t, s, id, hub)
		if i%3 > 0 {
			p := whole(1, skill("a", id), skill("b", "x"))
			if i%6 == 1 {
				p = whole(1, skill("a", id))
				p.Snapshot.SnapshotError = "broken"
			}
			for j := range p.Snapshot.Resources {
				p.Snapshot.Resources[j].Stale = false
			}
			if i%6 == 2 {
				p.Snapshot.Resources[1].Status, p.Snapshot.Resources[1].Error = snapshot.StatusInvalid, "why"
				p.Snapshot.Discovery.Sources = snapshot.SourceOutcomes{{ID: "1", Outcome: snapshot.OutcomeFailed}, {ID: "2", Outcome: snapshot.OutcomeNeedsApproval}, {ID: "3", Outcome: snapshot.OutcomeConnected}}
			}
			p.Initial, p.Snapshot.AggregateHash = true, snapshot.Hash{byte(i + 1)}
			p.Snapshot.Plugins = []snapshot.Plugin{{Name: "p", State: snapshot.PluginState([]string{"ready", "failing"}[i%2])}}
			push(t, s, id, g, p)
			if i%4 == 1 {
				createPin(t, s, id)
				p.Snapshot.Version, p.Snapshot.AggregateHash = 2, snapshot.Hash{byte(i + 1), 1}
				push(t, s, id, g, p)
			}
		}
		d := store.AgentDescription{Hostname: fmt.Sprint("Host-", i%6*5), Root: fmt.Sprint("/w/", i%3), AgentVersion: fmt.Sprintf("0.%d.0", 8+i%4)}
		if err := s.DescribeAgents(t.Context(), map[string]store.AgentDescription{id: d}); err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			if _, err := s.LabelAgent(t.Context(), id, store.Labels{"env": []string{"prod", "dev"}[i%4/2], "n": fmt.Sprint(i)}, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.RemoveAgent(t.Context(), "id-01"); err != nil {
		t.Fatal(err)
	}
	clock.now = clock.now.Add(time.Second)
	lease(t, s, "h1", time.Hour)
	lease(t, s, "h2", time.Hour)
	clock.now = clock.now.Add(time.Minute) // h3 is gone, and its agents' rows don't say that yet
	all := agents(t, s)
	if len(all) != n-1 {
		t.Fatalf("%d agents", len(all))
	}
	walk := func(q store.AgentQuery) (list []store.AgentInfo) {
		t.Helper()
		for {
			page, err := s.FindAgents(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, page.Agents...)
			if page.Next == nil {
				if page.Total != len(list) {
					t.Errorf("%+v: %d counted, %d listed", q, page.Total, len(list))
				}
				return list
			}
			q.After = page.Next
		}
	}
	state := func(a *store.AgentInfo) store.AgentState {
		switch {
		case a.Connected:
			return store.AgentConnected
		case a.SeenAt.IsZero():
			return store.AgentNeverConnected
		}
		return store.AgentAway
	}
	attention := func(a *store.AgentInfo) (n int64) {
		for _, is := range []bool{a.SnapshotError != "", a.FailingPlugins > 0, a.DriftedPins > 0, a.InvalidResources > 0, a.FailingServers() > 0, a.WaitingServers() > 0} {
			if is {
				n++
			}
		}
		return n
	}
	pushed := func(a *store.AgentInfo) int64 {
		if a.UpdatedAt.IsZero() {
			return 0
		}
		return a.UpdatedAt.UnixMicro()
	}
	key := map[string]func(*store.AgentInfo) string{
		"id": func(*store.AgentInfo) string { return "" }, "name": func(a *store.AgentInfo) string { return "" },
		"hostname": func(a *store.AgentInfo) string { return fmt.Sprintf("%3s", strings.TrimPrefix(a.Hostname, "Host-")) },
		"root":     func(a *store.AgentInfo) string { return a.Root },
		"agent_version": func(a *store.AgentInfo) string {
			return fmt.Sprintf("%6s", a.AgentVersion)
		},
		"labels": func(a *store.AgentInfo) string {
			name, number, _ := strings.Cut(a.Labels.String(), ",n=")
			return name + fmt.Sprintf("%2s", number)
		},
		"state": func(a *store.AgentInfo) string { return string(state(a)) },
		"away_since": func(a *store.AgentInfo) string {
			if state(a) == store.AgentAway {
				return fmt.Sprint(a.SeenAt.UnixMicro())
			}
			return ""
		},
		"last_push_at":    func(a *store.AgentInfo) string { return fmt.Sprintf("%20d", pushed(a)) },
		"failing_plugins": func(a *store.AgentInfo) string { return fmt.Sprint(a.FailingPlugins) },
		"drifted_pins":    func(a *store.AgentInfo) string { return fmt.Sprint(a.DriftedPins) },
		"attention":       func(a *store.AgentInfo) string { return fmt.Sprint(attention(a)) },
		"resources":       func(a *store.AgentInfo) string { return fmt.Sprint(a.Resources) },
	}
	label := func(a *store.AgentInfo) string { // as it is ordered by
		if a.Name == "" {
			return a.ID
		}
		return strings.Replace(strings.ToLower(a.Name), "name 2", "name 02", 1)
	}
	for _, order := range store.AgentOrders {
		want := slices.Clone(all)
		slices.SortFunc(want, func(a, b store.AgentInfo) int {
			if c := strings.Compare(key[order](&a), key[order](&b)); c != 0 {
				return c
			}
			if order == "id" {
				return strings.Compare(a.ID, b.ID)
			}
			return strings.Compare(label(&a)+"\x00"+a.ID, label(&b)+"\x00"+b.ID)
		})
		for _, down := range []bool{false, true} {
			for _, limit := range []int{0, 1, 7} {
				got := walk(store.AgentQuery{Order: order, Down: down, Limit: limit})
				if idList(got) != idList(want) {
					t.Errorf("by %s, down %t, %d a page:\n%s, want\n%s", order, down, limit, idList(got), idList(want))
				}
			}
			slices.Reverse(want)
		}
	}
	late := clock.now.Add(-30 * time.Second)
	for name, c := range map[string]struct {
		q     store.AgentQuery
		wants func(*store.AgentInfo) bool
	}{
		"connected": {store.AgentQuery{State: store.AgentConnected}, func(a *store.AgentInfo) bool { return a.Connected }},
		"away":      {store.AgentQuery{State: store.AgentAway}, func(a *store.AgentInfo) bool { return state(a) == store.AgentAway }},
		"never":     {store.AgentQuery{State: store.AgentNeverConnected}, func(a *store.AgentInfo) bool { return a.SeenAt.IsZero() }},
		"labels":    {store.AgentQuery{Labels: store.Labels{"env": "dev"}}, func(a *store.AgentInfo) bool { return a.Labels["env"] == "dev" }},
		"scope":     {store.AgentQuery{Scope: []string{"id-03", "id-07", "\xff"}}, func(a *store.AgentInfo) bool { return a.ID == "id-03" || a.ID == "id-07" }},
		"nobody":    {store.AgentQuery{Scope: []string{}}, func(*store.AgentInfo) bool { return false }},
		"words": {store.AgentQuery{Words: []string{"host-5", "/W/1"}}, func(a *store.AgentInfo) bool {
			return strings.Contains(a.Hostname, "Host-5") && a.Root == "/w/1"
		}},
		"no pattern": {store.AgentQuery{Words: []string{"%"}}, func(*store.AgentInfo) bool { return false }},
		"attention": {store.AgentQuery{Attention: store.AttentionAny, LateBefore: late}, func(a *store.AgentInfo) bool {
			return attention(a) > 0 || !a.Connected && !a.CreatedAt.After(late) && !a.SeenAt.After(late)
		}},
	} {
		want := slices.DeleteFunc(slices.Clone(all), func(a store.AgentInfo) bool { return !c.wants(&a) })
		c.q.Limit = 3
		if got := walk(c.q); idList(got) != idList(want) {
			t.Errorf("%s: %s, want %s", name, idList(got), idList(want))
		}
	}
	for _, reason := range store.Attentions() {
		has := func(a *store.AgentInfo) bool {
			return slices.Contains(a.Attention(late.Add(store.AttentionAfter)), reason)
		}
		want := slices.DeleteFunc(slices.Clone(all), func(a store.AgentInfo) bool { return !has(&a) })
		if got := walk(store.AgentQuery{Attention: reason, LateBefore: late, Limit: 3}); idList(got) != idList(want) || len(want) == 0 && reason != store.AttentionNotHeard {
			t.Errorf("%s: %s, want %s", reason, idList(got), idList(want))
		}
	}
	_, err := s.FindAgents(t.Context(), store.AgentQuery{Attention: "color"})
	wantErr(t, err, store.ErrInvalid)
	_, err = s.FindAgents(t.Context(), store.AgentQuery{Order: "color"})
	wantErr(t, err, store.ErrInvalid)
}

func idList(list []store.AgentInfo) string {
	var all []string
	for _, a := range list {
		all = append(all, a.ID)
	}
	return strings.Join(all, " ")
}
