package agent

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"waymark/abi"
	"waymark/host/codingagents"
	"waymark/host/push"
	"waymark/host/why"
	"waymark/hub/api"
	"waymark/snapshot"
	"waymark/wire/reverse"
	"waymark/workspace/access"
)

// TestToldToAHub: a hub elsewhere learns of nothing that isn't pushed to it, and the
// user's own of all.
func TestToldToAHub(t *testing.T) {
	t.Parallel()
	item := func(path string, reason codingagents.Reason) codingagents.Item {
		return codingagents.Item{ClientItem: snapshot.ClientItem{ID: "instruction_file:" + path, Kind: abi.KindInstructionFile, Path: path, Included: reason == "", Reason: reason, Detail: "it is the same as /home/me/secret.md"}}
	}
	view := &codingagents.View{
		Client: "claude", Name: "Claude Code", Version: "1", Root: "/home/me/w/sub", Project: "/home/me/w",
		Items:  []codingagents.Item{item("/home/me/CLAUDE.md", ""), item("/home/me/w/sub/CLAUDE.md", ""), item("/home/me/.claude/CLAUDE.md", ""), item("/home/me/w/sub/x.md", snapshot.ClientDuplicate)},
		Budget: snapshot.ClientBudget{UsedBytes: 7},
	}
	resource := func(path string, scope snapshot.Scope) snapshot.Resource {
		return snapshot.Resource{Kind: abi.KindInstructionFile, Source: path, Scope: scope, Status: snapshot.StatusOK}
	}
	pushed := &snapshot.Snapshot{Resources: []snapshot.Resource{
		resource("/home/me/w/sub/CLAUDE.md", ""), resource("/home/me/w/sub/x.md", ""), resource("/home/me/.claude/CLAUDE.md", snapshot.ScopeUser),
	}}
	paths := func(a api.ClientContext) (list []string) {
		for i := range a.Items {
			list = append(list, strings.TrimPrefix(a.Items[i].Path, "/home/me/"))
		}
		return list
	}
	for what, c := range map[string]struct {
		own      bool
		hold     func(*snapshot.Resource) push.Reason
		want     string
		withheld int
	}{
		"the user's own":      {true, nil, "CLAUDE.md w/sub/CLAUDE.md .claude/CLAUDE.md w/sub/x.md", 0},
		"elsewhere":           {false, push.HoldUser, "w/sub/CLAUDE.md w/sub/x.md", 2},
		"elsewhere, entitled": {false, nil, "w/sub/CLAUDE.md .claude/CLAUDE.md w/sub/x.md", 1},
	} {
		a := forHub(view, pushed, c.own, c.hold)
		if got := strings.Join(paths(a), " "); got != c.want || a.Withheld != c.withheld || a.Budget.UsedBytes != 7 || len(a.Known) != len(codingagents.Clients) {
			t.Errorf("%s: %s, %d withheld: %+v", what, got, a.Withheld, a)
		}
		if last := a.Items[len(a.Items)-1]; (last.Detail != "") != c.own || (a.Project != a.Root) != c.own {
			t.Errorf("%s is told of what else there is: %+v", what, a)
		}
	}
}

// TestCoverageToldToAHub: a hub elsewhere learns how many files aren't used, and the
// user's own which they are.
func TestCoverageToldToAHub(t *testing.T) {
	t.Parallel()
	report := &why.Coverage{Partial: true, Groups: []why.CoverageGroup{{
		Reason: why.NoKind, Text: "1 file that no kind fits (secret plans)",
		Files: []why.CoverageFile{{Path: "/home/me/w/secret.json", Convention: "secret", As: "secret plans", Readers: []string{"secret-agent"}}},
	}}}
	own := coverageForHub(report, true)
	if g := own.Groups[0]; !own.Partial || g.Reason != "no_kind" || g.Text != report.Groups[0].Text || g.Withheld != 0 || len(g.Files) != 1 ||
		g.Files[0].Path != "/home/me/w/secret.json" || g.Files[0].As != "secret plans" || !slices.Equal(g.Files[0].Readers, []string{"secret-agent"}) {
		t.Errorf("the user's own: %+v", own)
	}
	elsewhere := coverageForHub(report, false)
	if g := elsewhere.Groups[0]; !elsewhere.Partial || g.Text != "1 file that no kind fits" || g.Withheld != 1 || strings.Contains(fmt.Sprintf("%+v", elsewhere), "secret") {
		t.Errorf("elsewhere: %+v", elsewhere)
	}
}

// TestRefusedToAHub: what can't be answered is said in plain words.
func TestRefusedToAHub(t *testing.T) {
	t.Parallel()
	d := &Agent{opts: Options{Program: &Program{}}, log: slog.New(slog.DiscardHandler), services: &services{audit: access.OpenLog(t.TempDir(), 0, slog.New(slog.DiscardHandler))}}
	handle := d.clientContext(nil)
	ask := func(body string, want uint64, words string) {
		t.Helper()
		_, err := handle(t.Context(), []byte(body))
		var no *reverse.Error
		if !errors.As(err, &no) || no.Code != want || !strings.Contains(no.Text, words) {
			t.Errorf("%s: %v", body, err)
		}
	}
	ask("{", reverse.CodeInvalid, "can't be read")
	ask(`{"client":"codec"}`, reverse.CodeInvalid, "claude, cline, codex, ")
	handle = d.skillManifests(nil)
	ask("{", reverse.CodeInvalid, "can't be read")
	d.silent.Store(true)
	for _, handle = range []reverse.Handler{d.clientContext(nil), d.contextCoverage(), d.skillManifests(nil)} {
		ask("", reverse.CodeDenied, "clients = false")
	}
}
