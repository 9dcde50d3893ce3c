package main

import (
	"errors"
	"strings"
	"testing"

	"waymark/host"
	"waymark/host/resolve"
	"waymark/snapshot"
)

// TestSeen goes through the reports of a host's life: each thing is listed once,
// in the order in which it matters, and what is known already isn't listed.
func TestSeen(t *testing.T) {
	t.Parallel()
	ready := snapshot.Plugin{Name: "m", Path: "m.wasm", Version: "1", State: snapshot.PluginReady}
	failing, next := ready, ready
	failing.State, failing.Error = snapshot.PluginFailing, "m/r: crashed"
	next.Version, next.Error = "2", "the one before serves"
	a := snapshot.Resource{Kind: "skill", Source: "/w/a", Status: "ok"}
	b := snapshot.Resource{Kind: "skill", Source: "/w/b", Key: "k", Name: "b", Status: "ok"}
	invalid := b
	invalid.Status, invalid.Error, invalid.Stale = "invalid", "why", true
	warned := resolve.Outcome{Resolver: "m/r", Root: "/w", Fuel: 1000, Warnings: []string{"slow"}}
	dearer := resolve.Outcome{Resolver: "m/r", Root: "/w", Fuel: 1100, Warnings: []string{"slow"}, Changed: "a"}
	reused := resolve.Outcome{Resolver: "m/r", Root: "/w", Reused: true, Warnings: []string{"slow"}}
	failed := resolve.Outcome{Resolver: "m/r", Root: "/w", Err: errors.New("m/r: crashed")}

	p := changePrinter{}
	for i, step := range []struct {
		version   uint64
		plugin    snapshot.Plugin
		problem   string
		resources []snapshot.Resource
		outcome   resolve.Outcome
		want      string
	}{
		{1, ready, "", []snapshot.Resource{a}, warned, "module   m 1 ready; run      r: 0 finds, 1,000 fuel, 0s; warning  r: slow; added    skill            -                    a  ok"},
		{2, ready, "", []snapshot.Resource{a, b}, dearer, "run      r, because a changed: 0 finds, 1,100 fuel (+10.0 %), 0s; added    skill            b                    b#k  ok"},
		{2, ready, "", []snapshot.Resource{a, b}, reused, ""},
		{3, failing, "no inotify", []snapshot.Resource{invalid}, failed,
			"problem  no inotify; run      r: failed: m/r: crashed; removed  skill            -                    a  ok; changed  skill            b                    b#k  invalid (stale), was ok: why (status, error, stale)"},
		{3, failing, "no inotify", []snapshot.Resource{invalid}, failed, ""},
		{1, next, "", []snapshot.Resource{invalid}, failed, ""},
		{4, next, "", []snapshot.Resource{invalid}, failed, "module   m 2 ready: the one before serves; problem  none any more"},
		{5, next, "", []snapshot.Resource{invalid}, warned, "run      r: 0 finds, 1,000 fuel (-9.1 %), 0s; warning  r: slow"},
	} {
		r := &host.Report{
			Snapshot: &snapshot.Snapshot{Version: step.version, SnapshotError: step.problem, Plugins: []snapshot.Plugin{step.plugin}, Resources: step.resources},
			Checked:  []resolve.Outcome{step.outcome},
		}
		p.base = "/w"
		var lines []string
		for _, c := range p.seen.next(r) {
			lines = append(lines, p.line(&c))
		}
		if got := strings.Join(lines, "; "); got != step.want {
			t.Errorf("step %d:\n got %s\nwant %s", i+1, got, step.want)
		}
	}
}
