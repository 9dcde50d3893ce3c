package why_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bmatcuk/doublestar/v4"

	"waymark/abi"
	"waymark/host/vfs"
	"waymark/host/why"
	"waymark/plugins/conventions"
	"waymark/test/testenv"
)

// TestMCPFilesAreKnown: the table knows every client whose configuration is
// protected.
func TestMCPFilesAreKnown(t *testing.T) {
	var w world
	w.disable = allBuiltins(t)
	for _, m := range vfs.MCPFiles() {
		w.tree = append(w.tree, strings.ReplaceAll(m.Pattern, "*", ".json")+" = x")
	}
	dir, in := w.build(t)
	for _, m := range vfs.MCPFiles() {
		path := filepath.Join(dir, strings.ReplaceAll(m.Pattern, "*", ".json"))
		if a := why.Explain(in, path); a.Reason != why.ReasonNotAKnownPlace || !strings.Contains(a.Detail, "MCP configuration") {
			t.Errorf("%s (%s): %s: %s", m.Pattern, m.Client, a.Reason, a.Detail)
		}
	}
}

// allBuiltins are the names of the built-in resolvers.
func allBuiltins(t testing.TB) (names []string) {
	for _, r := range load(t, builtin).Description().Resolvers {
		names = append(names, r.Name)
	}
	return names
}

// row is a place of the table with a path that is one.
type row struct {
	*conventions.Convention
	place, path string
}

func rows() (list []row) {
	for i := range conventions.All {
		c := &conventions.All[i]
		for _, place := range c.Places {
			list = append(list, row{c, place, strings.ReplaceAll(strings.ReplaceAll(place, "**/", ""), "*", "x1")})
		}
	}
	return list
}

// rowsAt are the rows of a scope that take a path as it is.
func rowsAt(scope conventions.Scope, path string) (list []row) {
	for _, r := range rows() {
		if ok, _ := doublestar.Match(r.place, path); ok && r.Scope == scope {
			list = append(list, r)
		}
	}
	return list
}

// content is a text that the row's file can have.
func (r *row) content() string {
	switch {
	case r.Kind == abi.KindSkill:
		return "---\nname: x1\ndescription: d\n---\nbody\n"
	case r.Format == conventions.JSON:
		return "{}"
	}
	return "x\n"
}

// wrongCase is the path with a letter in the wrong case, which only a file's name
// that is a star's throughout lends to its directory.
func (r *row) wrongCase() string {
	names, literal := strings.Split(r.path, "/"), strings.Split(strings.ReplaceAll(r.place, "**/", ""), "/")
	for i := len(names) - 1; i >= 0; i-- {
		at := 0
		for _, c := range literal[i] {
			if c == '*' {
				at += len("x1")
				continue
			}
			if swapped := swapCase(names[i][at]); swapped != names[i][at] {
				names[i] = names[i][:at] + string(swapped) + names[i][at+1:]
				return strings.Join(names, "/")
			}
			at++
		}
	}
	return ""
}

func swapCase(c byte) byte {
	switch {
	case 'a' <= c && c <= 'z':
		return c - 'a' + 'A'
	case 'A' <= c && c <= 'Z':
		return c - 'A' + 'a'
	}
	return c
}

// tooDeep is the path with a directory more than the place has, where that makes
// it another place; empty where the place goes all the way down, or has no
// directory.
func (r *row) tooDeep() string {
	dir, name := filepath.Split(r.path)
	switch {
	case strings.Contains(r.place, "**") || dir == "":
		return ""
	case r.Kind == abi.KindSkill:
		return strings.TrimSuffix(dir, "x1/") + "more/x1/" + name
	}
	return dir + "more/" + name
}

// The directories of a row's tree: in each the file is another way. In those of
// conditions it is the only one.
const (
	right, wrong, below, deep, linked, broken = "right", "wrong", "below", "deep", "linked", "broken"
)

// TestWhyKnowsEveryRow: a file in any place of the table is found by the resolvers
// at hand, or the answer names its readers and what it is for them; and so it is
// where the case is wrong, it lies too deep, is a link, or a link to nothing. The short
// form takes some of the rows.
func TestWhyKnowsEveryRow(t *testing.T) {
	rnd := testenv.Rand(t)
	for _, r := range rows() {
		if testing.Short() && rnd.IntN(4) > 0 {
			continue
		}
		t.Run(r.ID+"/"+strings.ReplaceAll(r.place, "/", "|"), func(t *testing.T) {
			t.Parallel()
			if r.Scope == conventions.ScopeMachine {
				r.checkMachine(t)
				return
			}
			up := strings.Repeat("../", strings.Count(r.path, "/"))
			w := world{tree: []string{
				"proj/README.md = x", right + "/" + r.path + " = " + r.content(), wrong + "/" + r.wrongCase() + " = " + r.content(),
				below + "/pkg/" + r.path + " = " + r.content(), linked + "/real = " + r.content(), linked + "/" + r.path + " -> " + up + "real",
				broken + "/" + r.path + " -> nothing", deep + "/README.md = x",
			}}
			if r.tooDeep() != "" {
				w.tree = append(w.tree, deep+"/"+r.tooDeep()+" = "+r.content())
			}
			for _, name := range []string{right, wrong, below, deep, linked, broken} {
				w.roots = append(w.roots, rootSpec{path: name})
			}
			if r.Scope == conventions.ScopeUser {
				w.roots = []rootSpec{{path: "proj"}}
			}
			r.check(t, &w)
		})
	}
}

func (r *row) checkMachine(t *testing.T) {
	w := world{tree: []string{"README.md = x"}}
	_, in := w.build(t)
	for path, known := range map[string]bool{"/" + r.path: true, "/home/" + r.path: false} {
		a := why.Explain(in, path)
		if a.Reason != why.ReasonOutsideRoots || r.isNamed(a.Detail) != known {
			t.Errorf("%s: %s: %s", path, a.Reason, a.Detail)
		}
		checkAnswer(t, in, a)
	}
}

func (r *row) check(t *testing.T, w *world) {
	dir, in := w.build(t)
	outside := r.Scope == conventions.ScopeUser
	ask := func(name, path string) why.Answer {
		in.Home = ""
		if outside {
			in.Home = filepath.Join(dir, name)
		}
		a := why.Explain(in, filepath.Join(dir, name, path))
		checkAnswer(t, in, a)
		if in.Home != "" && strings.Contains(a.Detail, "add "+in.Home+"'") {
			t.Errorf("%s: all of a home directory: %s", name, a.Detail)
		}
		return a
	}
	must := func(ok bool, name string, a why.Answer) {
		t.Helper()
		if !ok || outside && a.Reason != why.ReasonOutsideRoots {
			t.Errorf("%s: %s, %q: %s", name, a.Reason, a.ResourceID, relative(a.Detail, dir))
		}
	}
	known := why.ReasonNotAKnownPlace
	if outside {
		known = why.ReasonOutsideRoots
	}

	a := ask(right, r.path)
	must(r.isFound(&in, a) || (a.Reason == known || a.Reason == why.ReasonNested) && r.isNamed(a.Detail), right, a)
	a = ask(linked, r.path)
	// A manifest is shown to those who look for parts of a bundle by its own name alone.
	hidden := r.Kind == abi.KindPlugin && a.Reason == why.ReasonNotGranted
	must(a.ResourceID != "" || hidden || (a.Reason == known || a.Reason == why.ReasonNested) && r.isNamed(a.Detail), linked, a)
	a = ask(broken, r.path)
	must(a.Reason == why.ReasonLinkBroken || outside && r.isNamed(a.Detail), broken, a)

	a = ask(wrong, r.wrongCase())
	other := len(rowsAt(r.Scope, r.wrongCase())) > 0
	// Another row, or another place of this one, may have it so.
	must(a.Reason == why.ReasonWrongCase || other && a.ResourceID != "" || (outside || other) && namesAny(a.Detail), wrong, a)
	a = ask(wrong, r.path)
	must(a.Reason == why.ReasonWrongCase || outside && r.isNamed(a.Detail), "right, and there is another case", a)

	a = ask(below, "pkg/"+r.path)
	common := r.Scope == conventions.ScopePlugin // means nothing further down
	must(a.Reason == why.ReasonNested || common || a.Reason == known && (outside && namesAny(a.Detail) || r.isNamed(a.Detail)), below, a)
	if path := r.tooDeep(); path != "" {
		a = ask(deep, path)
		other := len(rowsAt(r.Scope, path)) > 0 || r.Scope != conventions.ScopeProject
		must(a.Reason == why.ReasonNested || other || strings.Contains(a.Detail, "part of a skill"), deep, a)
	}
}

// isFound reports whether an answer is what resolvers made of the path, as what
// one of the rows says that it is.
func (r *row) isFound(in *why.Input, a why.Answer) bool {
	res := in.Snapshot.Find(a.ResourceID)
	return res != nil && slices.ContainsFunc(rowsAt(r.Scope, r.path), func(o row) bool { return o.Kind == res.Kind })
}

// isNamed reports whether a detail says who reads the place, and as what.
func (r *row) isNamed(detail string) bool {
	return strings.Contains(detail, r.As) && namesOneOf(detail, r.Readers)
}

func namesOneOf(detail string, readers []string) bool {
	return slices.ContainsFunc(conventions.Agents, func(a conventions.Agent) bool {
		return slices.Contains(readers, a.ID) && strings.Contains(detail, a.Name)
	})
}

func namesAny(detail string) bool {
	return slices.ContainsFunc(conventions.Agents, func(a conventions.Agent) bool { return strings.Contains(detail, a.Name) })
}
