package server_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"waymark/abi"
	"waymark/hub/server"
	"waymark/snapshot"
)

type diff struct {
	From, To int64
	Changes  []struct {
		ID, Kind, Change string
		Before, After    *struct {
			ID, Description string
		}
		Diff string
		Note string `json:"diff_note"`
	}
}

// TestDiff compares contents of all sorts.
func TestDiff(t *testing.T) {
	f := newFixture(t, server.Limits{})
	long := strings.Repeat("line\n", 20)
	named := func(name string) snapshot.Resource {
		r := text("/w/named", "same")
		r.Description = name
		return r
	}
	config := snapshot.Resource{Kind: abi.KindMCPConfig, Source: "/w/.mcp.json", Status: snapshot.StatusInvalid, Error: "x"}
	fixed := config
	fixed.Status, fixed.Error = snapshot.StatusOK, ""
	evil := "/w/evil\n--- a/x\n+++ b/x\u2028"
	first := f.push("a", text("/w/changed", long+"old\n"+long), text("/w/gone", "bye"), text("/w/binary", "\x00"), named("a"),
		config, text("/w/empty", ""), text("/w/no newline", "a"), text("/w/large", strings.Repeat("x", 70_000)))
	second := f.push("a", text("/w/changed", long+"new\n"+long), text("/w/new", "hello\n"), text("/w/binary", "\x01"), named("b"),
		fixed, text("/w/empty", "x\n"), text("/w/no newline", "b"), text("/w/large", strings.Repeat("y", 70_000)), text(evil, ""))
	d := get[diff](f, fmt.Sprint("/api/v0/agents/a/diff?from=", first))
	if d.From != first || d.To != second {
		t.Errorf("from %d to %d", d.From, d.To)
	}
	want := map[string][3]string{ // by id: change, a part of the diff, a part of the note
		"instruction_file:/w/changed":    {"changed", "@@ -18,7 +18,7 @@\n line\n line\n line\n-old\n+new\n line\n", ""},
		"instruction_file:/w/gone":       {"removed", "--- a/instruction_file:/w/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-bye\n", ""},
		"instruction_file:/w/new":        {"added", "--- /dev/null\n+++ b/instruction_file:/w/new\n@@ -0,0 +1 @@\n+hello\n", ""},
		"instruction_file:/w/binary":     {"changed", "", "not text"},
		"instruction_file:/w/named":      {"changed", "", "other fields differ"},
		"mcp_config:/w/.mcp.json":        {"changed", "", "no content"},
		"instruction_file:/w/empty":      {"changed", "+x\n", ""},
		"instruction_file:/w/no newline": {"changed", "\\ No newline at end of file\n", ""},
		"instruction_file:/w/large":      {"changed", "", "too large"},
		"instruction_file:" + evil:       {"added", "", "empty"},
	}
	for i, ch := range d.Changes {
		w, there := want[ch.ID]
		delete(want, ch.ID)
		if !there || ch.Change != w[0] || !strings.Contains(ch.Diff, w[1]) || !strings.Contains(ch.Note, w[2]) || (ch.Diff == "") != (w[2] != "") || (ch.Note == "") != (w[2] == "") {
			t.Errorf("%+v, want %q", ch, w)
		}
		if i > 0 && d.Changes[i-1].ID >= ch.ID {
			t.Errorf("%q follows %q", ch.ID, d.Changes[i-1].ID)
		}
		if (ch.Before == nil) != (ch.Change == "added") || (ch.After == nil) != (ch.Change == "removed") || !strings.HasPrefix(ch.ID, ch.Kind) {
			t.Errorf("%+v", ch)
		}
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
	back := get[diff](f, fmt.Sprintf("/api/v0/agents/a/diff?from=%d&to=%d", second, first))
	if len(back.Changes) != len(d.Changes) || back.Changes[0].Change == "" {
		t.Errorf("back: %+v", back)
	}
}

// TestDiffBounded compares more than one answer may hold.
func TestDiffBounded(t *testing.T) {
	f := newFixture(t, server.Limits{})
	var before, after []snapshot.Resource
	for i := range 30 {
		before = append(before, text(fmt.Sprint("/w/", i), strings.Repeat(fmt.Sprint("old ", i, "\n"), 5000)))
		after = append(after, text(fmt.Sprint("/w/", i), strings.Repeat(fmt.Sprint("new ", i, "\n"), 5000)))
	}
	first := f.push("a", before...)
	f.push("a", after...)
	body := f.want(200, "GET", fmt.Sprint("/api/v0/agents/a/diff?from=", first), "")
	if len(body) > 2<<20 {
		t.Errorf("the answer has %d bytes", len(body))
	}
	var d diff
	if err := json.Unmarshal([]byte(body), &d); err != nil {
		t.Fatal(err)
	}
	left := 0
	for _, ch := range d.Changes {
		if strings.Contains(ch.Note, "left out") {
			left++
		}
	}
	if len(d.Changes) != 30 || left == 0 || left == 30 {
		t.Errorf("%d of %d are left out", left, len(d.Changes))
	}
}
