package conventions_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"waymark/abi"
	"waymark/plugins/conventions"
)

var (
	idForm = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	// kinds are those that a file may be listed as, and empty.
	kinds = []abi.Kind{
		"", abi.KindInstructionFile, abi.KindSkill, abi.KindMCPConfig,
		abi.KindPlugin, abi.KindHook, abi.KindSubagent, abi.KindCommand,
	}
	modes   = []string{"always", "glob", "manual", "model"}
	formats = []conventions.Format{
		conventions.Markdown, conventions.TOML, conventions.JSON, conventions.YAML, conventions.Text, conventions.Executable,
	}
	scopes       = []conventions.Scope{conventions.ScopeProject, conventions.ScopeUser, conventions.ScopeMachine, conventions.ScopePlugin}
	derivations  = []conventions.Derivation{conventions.FromNothing, conventions.FromField, conventions.FromHeading, conventions.FromFile, conventions.FromDirectory, conventions.FromPath}
	descriptions = []conventions.Derivation{conventions.FromNothing, conventions.FromField, conventions.FromHeading}
)

// TestRows: every row is whole and says nothing impossible.
func TestRows(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range conventions.All {
		t.Run(c.ID, func(t *testing.T) {
			must := func(ok bool, what string) {
				t.Helper()
				if !ok {
					t.Errorf("%s: %+v", what, c)
				}
			}
			must(idForm.MatchString(c.ID) && len(c.ID) <= abi.MaxWord, "its id is malformed")
			must(!seen[c.ID], "its id is taken")
			seen[c.ID] = true
			must(slices.Contains(scopes, c.Scope), "its scope is none")
			must(slices.Contains(kinds, c.Kind), "its kind is none")
			must(slices.Contains(formats, c.Format), "its format is none")
			must(slices.Contains(derivations, c.Name), "its name comes from nowhere")
			must(slices.Contains(descriptions, c.Description), "its description comes from nowhere")
			must(c.As != "" && c.As == strings.TrimSpace(c.As), "it says not what it is")
			must(c.Source != "", "it has no source")
			day, err := time.Parse(time.DateOnly, c.Date)
			must(err == nil && day.Year() >= 2026, "its date is none")
			checkReaders(t, &c)
			checkPlaces(t, &c)
			checkApplies(t, &c)
		})
	}
}

func checkReaders(t *testing.T, c *conventions.Convention) {
	t.Helper()
	if len(c.Readers) == 0 || len(c.Readers) > abi.MaxReaders {
		t.Errorf("it has %d readers", len(c.Readers))
	}
	for _, list := range [][]string{c.Readers, c.Nested} {
		if !slices.IsSorted(list) || len(slices.Compact(slices.Clone(list))) != len(list) {
			t.Errorf("%q is not in order, or has one twice", list)
		}
	}
	for _, id := range c.Readers {
		if !slices.ContainsFunc(conventions.Agents, func(a conventions.Agent) bool { return a.ID == id }) {
			t.Errorf("%q is no agent", id)
		}
	}
	for _, id := range c.Nested {
		if !slices.Contains(c.Readers, id) {
			t.Errorf("%q reads it further down and not at the top", id)
		}
	}
	if len(c.Nested) > 0 && c.Scope != conventions.ScopeProject {
		t.Error("only a project has directories below the top that count")
	}
}

func checkPlaces(t *testing.T, c *conventions.Convention) {
	t.Helper()
	if len(c.Places) == 0 {
		t.Error("it has no places")
	}
	for _, place := range c.Places {
		names := strings.Split(place, "/")
		switch {
		case !doublestar.ValidatePattern(place):
			t.Errorf("%q is no pattern", place)
		case strings.ContainsAny(place, `{}[]?\~`):
			t.Errorf("%q has more than names and stars", place)
		case slices.Contains(names, "") || slices.Contains(names, ".") || slices.Contains(names, ".."):
			t.Errorf("%q is not clean", place)
		case names[len(names)-1] == "**":
			t.Errorf("%q names no file", place)
		case slices.ContainsFunc(names, func(n string) bool { return n != "**" && strings.Contains(n, "**") }):
			t.Errorf("%q has two stars in a name", place)
		case strings.Count(place, "**") > 1:
			t.Errorf("%q has two ways down", place)
		case names[0] == "**" || names[0] == "*":
			t.Errorf("%q begins nowhere", place)
		}
		alone := c.Scope == conventions.ScopePlugin && place == "SKILL.md"
		if skill := alone || strings.HasSuffix(place, "/*/SKILL.md"); skill != (c.Kind == abi.KindSkill) {
			t.Errorf("%q: kind %q", place, c.Kind)
		}
	}
}

func checkApplies(t *testing.T, c *conventions.Convention) {
	t.Helper()
	a := c.Applies
	used := slices.DeleteFunc([]string{a.Mode, a.Described}, func(s string) bool { return s == "" })
	for _, w := range a.Words {
		used = append(used, w.Mode)
		if w.Is == "" {
			t.Error("an empty word stands for a mode")
		}
	}
	for _, mode := range used {
		if !slices.Contains(modes, mode) {
			t.Errorf("%q is no mode", mode)
		}
	}
	if (a.ModeKey == "") != (len(a.Words) == 0) {
		t.Error("a field without words, or words without a field")
	}
	if len(used)+len(a.GlobsKey)+len(a.AlwaysKey) > 0 && c.Kind != abi.KindInstructionFile {
		t.Errorf("what is of kind %q applies when it is called", c.Kind)
	}
	if a.GlobsKey+a.AlwaysKey+a.ModeKey != "" && c.Format != conventions.Markdown {
		t.Errorf("a file in format %s has no such fields", c.Format)
	}
}

// TestPlacesAreUnique: no two rows are of one kind in one place, or the order of the
// table would decide which it is.
func TestPlacesAreUnique(t *testing.T) {
	type place struct {
		conventions.Scope
		abi.Kind
		string
	}
	rows := map[place]string{}
	for _, c := range conventions.All {
		for _, p := range c.Places {
			key := place{c.Scope, c.Kind, p}
			if other := rows[key]; other != "" {
				t.Errorf("%s and %s are both %s in %s", other, c.ID, c.Kind, p)
			}
			rows[key] = c.ID
		}
	}
}

// TestKindsAreCovered: there is a row for every kind.
func TestKindsAreCovered(t *testing.T) {
	for _, kind := range kinds {
		if !slices.ContainsFunc(conventions.All, func(c conventions.Convention) bool { return c.Kind == kind }) {
			t.Errorf("no row is of kind %q", kind)
		}
	}
}

// TestAgents: each has an id and a name of its own, in order, and reads something.
func TestAgents(t *testing.T) {
	names := map[string]bool{}
	for i, a := range conventions.Agents {
		if !idForm.MatchString(a.ID) || len(a.ID) > abi.MaxWord || a.Name == "" || names[a.Name] {
			t.Errorf("%+v", a)
		}
		names[a.Name] = true
		if i > 0 && conventions.Agents[i-1].ID >= a.ID {
			t.Errorf("%s is not in order", a.ID)
		}
		if !slices.ContainsFunc(conventions.All, func(c conventions.Convention) bool { return slices.Contains(c.Readers, a.ID) }) {
			t.Errorf("%s reads nothing", a.ID)
		}
	}
}

// TestTableIsStatic: the table is nothing but literals, which the linker lays out. A
// call or a variable in it would be code that runs at the start of every instance.
func TestTableIsStatic(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "table.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr, *ast.FuncLit, *ast.FuncDecl, *ast.IndexExpr, *ast.UnaryExpr, *ast.BinaryExpr:
			t.Errorf("%T in the table", n)
		case *ast.CompositeLit:
			rows++
		}
		return true
	})
	if rows < len(conventions.All) {
		t.Errorf("%d literals for %d rows", rows, len(conventions.All))
	}
}
