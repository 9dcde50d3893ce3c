package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"waymark/snapshot"
)

// TestChanges compares two snapshots that differ in everything.
func TestChanges(t *testing.T) {
	res := func(source string, edit func(*snapshot.Resource)) snapshot.Resource {
		r := snapshot.Resource{
			Kind: "instruction_file", Source: source, Name: "n", Description: "d", Status: snapshot.StatusOK,
			ContentHash: snapshot.Hash{1}, SizeBytes: 1, Resolver: "m/r@1", Attributes: snapshot.Attributes{"mode": {Text: "x"}},
		}
		if edit != nil {
			edit(&r)
		}
		return r
	}
	ready := snapshot.Plugin{Name: "a", Path: "/p/a.wasm", State: snapshot.PluginReady}
	failing := ready
	failing.State, failing.Error = snapshot.PluginFailing, "crashed"
	gone := snapshot.Plugin{Name: "b", Path: "/p/b.wasm", State: snapshot.PluginReady}
	prev := &snapshot.Snapshot{
		Version: 3, Plugins: snapshot.Plugins{ready, gone},
		Resources: snapshot.Resources{res("/w/a", nil), res("/w/b", nil), res("/w/c", nil), res("/w/d", nil), res("/w/f", nil)},
	}
	next := &snapshot.Snapshot{
		Version: 7, SnapshotError: "no watches left", Plugins: snapshot.Plugins{failing},
		Resources: snapshot.Resources{
			res("/w/a", nil),
			res("/w/b", func(r *snapshot.Resource) { r.ContentHash, r.Description = snapshot.Hash{2}, "other" }),
			res("/w/d", func(r *snapshot.Resource) {
				r.Status, r.Error, r.Stale, r.Name = snapshot.StatusInvalid, "bad\x1b[2J", true, "m"
				r.Resolver, r.SourcePath, r.Attributes = "m/r@2", "/w", nil
			}),
			res("/w/e", func(r *snapshot.Resource) { r.Key = "k" }),
			res("/w/f", func(r *snapshot.Resource) { r.SizeBytes = 2 }),
		},
	}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	list := changes(prev, next, now)
	var text, lines bytes.Buffer
	if err := (&changePrinter{w: &text, base: "/w"}).put(list...); err != nil {
		t.Fatal(err)
	}
	want := strings.Join([]string{
		`03:04:05  changed  instruction_file n                    b  ok (content, description)`,
		`03:04:05  removed  instruction_file n                    c  ok`,
		`03:04:05  changed  instruction_file m                    d  invalid (stale), was ok: bad�[2J (status, error, stale, name, attributes, resolver, source_path)`,
		`03:04:05  added    instruction_file n                    e#k  ok`,
		`03:04:05  changed  instruction_file n                    f  ok (content)`,
		`03:04:05  plugin   a failing: crashed`,
		`03:04:05  plugin   b gone`,
		`03:04:05  problem  no watches left`,
		``,
	}, "\n")
	if text.String() != want {
		t.Errorf("%s\nwant\n%s", text.String(), want)
	}

	if err := (&changePrinter{w: &lines, asJSON: true}).put(list...); err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(strings.TrimSpace(lines.String()), "\n") {
		var c change
		if err := json.Unmarshal([]byte(line), &c); err != nil || c.Event != list[i].Event || c.Version != 7 || !c.Time.Equal(now) {
			t.Errorf("%s: %v", line, err)
		}
	}
	if list := changes(next, next, now); len(list) > 0 {
		t.Errorf("a snapshot differs from itself: %+v", list)
	}
}

// TestWatching follows an agent that goes away and comes back.
func TestWatching(t *testing.T) {
	var out bytes.Buffer
	w := watching{app: &app{stdout: &out}, out: changePrinter{w: &out, base: "/"}}
	one := &snapshot.Snapshot{Version: 4, Resources: snapshot.Resources{{Kind: "skill", Source: "/s", Name: "s", Status: "ok"}}}
	two := &snapshot.Snapshot{Version: 1, SnapshotError: "trouble"}
	three := &snapshot.Snapshot{Version: 2}
	for _, s := range []*snapshot.Snapshot{nil, one, nil, two, three} {
		w.failed = nil
		if s == nil {
			w.failed = errTest("it is gone")
		}
		if err := w.step(s); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for line := range strings.Lines(out.String()) {
		if len(line) > 10 && line[2] == ':' {
			line = line[10:] // the time
		}
		got = append(got, strings.TrimSpace(line))
	}
	want := []string{
		"KIND   SOURCE  NAME  STATUS  SIZE  HASH",
		"skill  s       s     ok      0 B   -",
		"1 resource, 0 B in all, version 4, hash",
		"watching for changes, until interrupted",
		"lost     it is gone",
		"back     the agent is there again, with version 1",
		"removed  skill            s                    s  ok",
		"problem  trouble",
		"problem  none any more",
	}
	_, rest, _ := strings.Cut(strings.Join(got, "\n"), "KIND")
	if "KIND"+rest != strings.Join(want, "\n") {
		t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

type errTest string

func (e errTest) Error() string { return string(e) }
