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
		{"copilot-cli", finds, []string{
			"w/.github/copilot-instructions.md", "w/AGENTS.md", "w/CLAUDE.md", "w/GEMINI.md", "w/sub/AGENTS.md", "w/sub/GEMINI.md", "w/.claude/rules/all.md",
			"w/.claude/rules/go.md not_always",
		}},
		{"copilot-vscode", []codingagents.Find{finds[1], finds[3], finds[6]}, []string{
			"w/sub/AGENTS.md",
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

// TestTextsByName: texts are sorted by their names, and of one name the last counts, even one
// that is switched off.
func TestTextsByName(t *testing.T) {
	t.Parallel()
	c := codingagents.Client{ID: "x", IgnoreCase: true, Instructions: &codingagents.Instructions{
		Top: codingagents.StartOnly, Take: codingagents.Every, ByName: true, Called: map[string]string{"b": "Theirs"},
		Places: []codingagents.Place{{Convention: "a"}, {Convention: "b"}, {Convention: "c"}},
	}, Unlinked: []string{"c"}}
	finds := []codingagents.Find{
		find("/w", "z.md", "a", "", 3), find("/w", "Same.md", "a", "", 3), find("/w", "off.md", "a", "", 3), find("/w", "b.md", "b", "", 3),
		find("/w", "c/same.txt", "c", "", 3), find("/w", "c/off.md", "c", "manual", 3), find("/w", "c/link.md", "c", "", 3), find("/w", "c/é.md", "c", "", 3),
	}
	finds[6].Linked = true
	v := codingagents.Of(codingagents.Input{Client: &c, Start: "/w", Looked: []string{"/w"}, Finds: finds})
	want := []string{"w/c/é.md", "w/c/same.txt", "w/b.md", "w/z.md", "w/c/link.md linked_file", "w/off.md duplicate", "w/c/off.md not_always", "w/Same.md duplicate"}
	if got := shown(v); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestRulesBesides: rules are read besides the first file of a directory, those of a directory
// before those below it, and one text once.
func TestRulesBesides(t *testing.T) {
	t.Parallel()
	c := codingagents.Client{ID: "x", Instructions: &codingagents.Instructions{
		Top: codingagents.StartOnly, Take: codingagents.FirstOfDirectory, Places: []codingagents.Place{{Convention: "a"}, {Convention: "b"}, {Convention: "r", Beside: true}},
		Shallow: []string{"r"}, Once: []string{"r"},
	}}
	rule := func(name, text string, head int) codingagents.Find {
		f := find("/w/s", name, "r", "always", int64(len(text)))
		f.Payload, f.Attributes["head_bytes"] = []byte(text), snapshot.Attribute{Text: fmt.Sprint(head)}
		return f
	}
	v := codingagents.Of(codingagents.Input{Client: &c, Start: "/w/s", Project: "/w", Looked: []string{"/w/s"}, Finds: []codingagents.Find{
		find("/w", "a.md", "a", "", 3), find("/w/s", "a.md", "a", "", 0), find("/w/s", "b.md", "b", "", 3),
		rule("r/a/x.md", "deep", 0), rule("r/a-b/x.md", "deeper", 0), rule("r/b.md", "one", 0), rule("r/c.md", "---\n---\none\n", 8), rule("r/d.md", "two", 0),
	}})
	want := []string{"w/s/r/b.md", "w/s/r/d.md", "w/s/r/a/x.md", "w/s/r/a-b/x.md", "w/s/a.md blank", "w/s/b.md overridden", "w/s/r/c.md duplicate"}
	if got := shown(v); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
