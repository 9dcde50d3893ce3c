package codingagents_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"waymark/abi"
	"waymark/host/codingagents"
	"waymark/plugins/conventions"
	"waymark/snapshot"
)

// TestRules: what the rules name exists, and says where it is from.
func TestRules(t *testing.T) {
	t.Parallel()
	for i := range codingagents.Clients {
		c := &codingagents.Clients[i]
		known := map[string]bool{"": true}
		for _, list := range [][]conventions.Convention{conventions.All, c.Own} {
			for i := range list {
				known[list[i].ID] = true
			}
		}
		for _, id := range c.Conventions() {
			if !known[id] {
				t.Errorf("%s: there is no convention %s", c.ID, id)
			}
		}
		if len(c.Sources) == 0 || c.Version == "" || codingagents.Lookup(c.ID) != c {
			t.Errorf("%s lacks a source or a version, or isn't found", c.ID)
		}
		for _, s := range c.Sources {
			if s.At == "" || s.Date == "" {
				t.Errorf("%s has a source without an address or a date: %v", c.ID, s)
			}
		}
	}
}

// find is a file that a resolver has found.
func find(dir, name, convention, mode string, size int64) codingagents.Find {
	path := filepath.Join(dir, name)
	return codingagents.Find{Directory: dir, Path: path, Resource: snapshot.Resource{
		Kind: abi.KindInstructionFile, Source: path, Status: snapshot.StatusOK, Convention: convention, SizeBytes: size,
		Attributes: snapshot.Attributes{"mode": {Text: mode}},
	}}
}

// shown are the names of what is included, and of the rest with the reason.
func shown(v *codingagents.View) (list []string) {
	for i := range v.Items {
		it := &v.Items[i]
		text, err := filepath.Rel("/", it.Path)
		if err != nil || !it.Included {
			text += " " + string(it.Reason)
		}
		list = append(list, text)
	}
	return list
}

// TestDocumented is about the clients that can't be run: their order and precedence.
func TestDocumented(t *testing.T) {
	t.Parallel()
	finds := []codingagents.Find{
		find("/w", "CLAUDE.md", "claude-md", "always", 5), find("/w", "AGENTS.md", "agents-md", "always", 5),
		find("/w/sub", "CLAUDE.local.md", "claude-local-md", "always", 5), find("/w/sub", "AGENTS.md", "agents-md", "always", 5),
		find("/w", ".claude/rules/go.md", "claude-rules", "glob", 5), find("/w", ".claude/rules/all.md", "claude-rules", "always", 5),
		find("/w", ".github/copilot-instructions.md", "copilot-instructions", "always", 5), find("/w", "GEMINI.md", "gemini-md", "always", 5),
		find("/w/sub", "GEMINI.md", "gemini-md", "always", 5), find("/", "CLAUDE.md", "claude-md", "always", 5<<20),
	}
	for _, c := range []struct {
		client string
		finds  []codingagents.Find
		want   []string
	}{
		{"claude", finds, []string{
			"w/CLAUDE.md", "w/.claude/rules/all.md", "w/sub/CLAUDE.local.md",
			"CLAUDE.md too_large", "w/.claude/rules/go.md not_always", "w/AGENTS.md overridden", "w/sub/AGENTS.md overridden",
		}},
		{"claude", finds[1:2], []string{"w/AGENTS.md"}},
		{"claude", []codingagents.Find{finds[1], finds[3]}, []string{"w/AGENTS.md", "w/sub/AGENTS.md"}},
		{"copilot", finds, []string{
			"w/.github/copilot-instructions.md", "w/AGENTS.md", "w/CLAUDE.md", "w/GEMINI.md", "w/sub/AGENTS.md", "w/sub/GEMINI.md elsewhere",
		}},
	} {
		in := codingagents.Input{Client: codingagents.Lookup(c.client), Start: "/w/sub", Project: "/w", Looked: []string{"/", "/w", "/w/sub"}, Finds: c.finds}
		if got := shown(codingagents.Of(in)); !slices.Equal(got, c.want) {
			t.Errorf("%s:\n%s\nand not\n%s", c.client, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
		slices.Reverse(in.Finds)
		if got := shown(codingagents.Of(in)); !slices.Equal(got, c.want) {
			t.Errorf("%s, the other way round: %v", c.client, got)
		}
		slices.Reverse(in.Finds)
	}
}

// TestBudget: what a list takes never goes beyond its budget, whatever is in it.
func TestBudget(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 50, 120, 400, 600, 1500} {
		in := codingagents.Input{Client: codingagents.Lookup("codex"), Start: "/w", Project: "/w", Home: "/home/me", Looked: []string{"/w"}}
		for i := range n {
			path := fmt.Sprintf("/w/.agents/skills/s%d/SKILL.md", i)
			in.Finds = append(in.Finds, codingagents.Find{Directory: "/w", Path: path, Resource: snapshot.Resource{
				Kind: abi.KindSubagent, Source: path, Status: snapshot.StatusOK, Convention: "agents-skill-files", Name: fmt.Sprintf("s%d", i), Description: strings.Repeat("wörd ", i%90+1),
			}})
		}
		v := codingagents.Of(in)
		if b := v.Budget; b.UsedTokens > b.SkillTokens || len(v.Items) != n {
			t.Errorf("%d skills: %d items, %+v", n, len(v.Items), b)
		}
	}
}
