package snapshot_test

import (
	"fmt"
	"strings"
	"testing"

	"waymark/abi"
	"waymark/snapshot"
)

// TestPutBelow: what is of a project in a directory says so, and applies to its files alone
// unless that isn't wanted.
func TestPutBelow(t *testing.T) {
	list := func(globs ...string) snapshot.Attribute { return snapshot.Attribute{List: globs} }
	word := func(text string) snapshot.Attribute { return snapshot.Attribute{Text: text} }
	many := make([]string, 500)
	for i := range many {
		many[i] = strings.Repeat("x", 30)
	}
	for _, tt := range []struct {
		name, directory string
		always          bool
		before          snapshot.Attributes
		want            string
	}{
		{"nothing", "a", false, nil, "directory=a globs=[a/**] mode=glob"},
		{"always", "a", false, snapshot.Attributes{"mode": word("always"), "tools": list("x")}, "directory=a globs=[a/**] mode=glob tools=[x]"},
		{"always, kept", "a", true, snapshot.Attributes{"mode": word("always")}, "directory=a mode=always"},
		{"nothing, kept", "a", true, nil, "directory=a"},
		{"globs without a mode", "a", false, snapshot.Attributes{"globs": list("x")}, "directory=a globs=[a/**] mode=glob"},
		{"globs", "a", false, snapshot.Attributes{"mode": word("glob"), "globs": list("*.go", "./b/", "/c", "!d", "**")}, "directory=a globs=[a/*.go,a/b/,a/c,!a/d,a/**] mode=glob"},
		{"globs, kept", "a", true, snapshot.Attributes{"mode": word("glob"), "globs": word("*.go")}, "directory=a globs=[a/*.go] mode=glob"},
		{"no globs", "a", false, snapshot.Attributes{"mode": word("glob")}, "directory=a mode=glob"},
		{"manual", "a", false, snapshot.Attributes{"mode": word("manual")}, "directory=a mode=manual"},
		{"a directory of one's own", "a", false, snapshot.Attributes{"directory": word("..")}, "directory=a globs=[a/**] mode=glob"},
		{"a name like a glob", `[*]{a,b}\?`, false, nil, `directory=[*]{a,b}\? globs=[\[\*\]\{a,b\}\\\?/**] mode=glob`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := spellAttributes(tt.before)
			r := snapshot.Resource{Attributes: tt.before}
			r.PutBelow(tt.directory, tt.always)
			if got := spellAttributes(r.Attributes); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if spellAttributes(tt.before) != before {
				t.Error("the attributes there were have changed")
			}
		})
	}
	// Whatever a file in a project says, what says that it is for that is kept.
	for _, directory := range []string{"a", strings.Repeat("*", 255)} {
		for _, before := range []snapshot.Attributes{
			{"mode": word("glob"), "globs": list(many...)}, {"tools": list(many...), "globs": list(many...)}, {"mode": word(strings.Repeat("m", abi.MaxAttributes))},
			{"tools": word(strings.Repeat("t", abi.MaxAttributes/2-5)), "mode": word("glob"), "globs": list(many...)}, {"mode": list(many...)},
		} {
			r := snapshot.Resource{Attributes: before}
			r.PutBelow(directory, false)
			size := 0
			for key, a := range r.Attributes {
				size += len(key) + abi.Value(a).Size()
			}
			if mode := r.Attributes["mode"].Text; size > abi.MaxAttributes || r.Attributes["directory"].Text != directory || mode != "glob" && mode != "manual" {
				t.Errorf("%d bytes, mode %.10q", size, mode)
			}
		}
	}
}

func spellAttributes(a snapshot.Attributes) string {
	var parts []string
	for _, key := range []string{"directory", "globs", "mode", "tools"} {
		if v, ok := a[key]; ok && v.List != nil {
			parts = append(parts, fmt.Sprintf("%s=[%s]", key, strings.Join(v.List, ",")))
		} else if ok {
			parts = append(parts, key+"="+v.Text)
		}
	}
	return strings.Join(parts, " ")
}

// TestDirectoryInAssemble: an MCP configuration keeps whose it is and nothing else, and what
// is of the root itself stands for what is found in a project, too.
func TestDirectoryInAssemble(t *testing.T) {
	mcp := snapshot.Candidate{Directory: "a", Resource: snapshot.Resource{Kind: abi.KindMCPConfig, Source: "/w/a/.mcp.json", Status: snapshot.StatusOK,
		Attributes: snapshot.Attributes{"token": {Text: "x"}}}}
	mcp.PutBelow("a", false)
	file := snapshot.Candidate{Path: "/w/AGENTS.md", Resource: snapshot.Resource{Kind: abi.KindInstructionFile, Source: "/w/a/AGENTS.md", Status: snapshot.StatusOK}}
	child := file
	child.Directory, child.Path = "a", "/w/a/AGENTS.md"
	child.PutBelow("a", false)
	list, _ := snapshot.Assemble([]snapshot.Candidate{child, mcp, file}, snapshot.Caps{})
	if len(list) != 2 || len(list[0].Attributes) != 0 || spellAttributes(list[1].Attributes) != "directory=a globs=[a/**] mode=glob" || len(list[1].Attributes) != 3 {
		t.Errorf("%+v", list)
	}
	// Without room for all, what is of the root comes first.
	other := child
	other.Source, other.Path = "/w/0", "/w/0"
	list, _ = snapshot.Assemble([]snapshot.Candidate{other, file}, snapshot.Caps{MaxResources: 1})
	if list[0].Status != snapshot.StatusExcluded || list[1].Status != snapshot.StatusOK {
		t.Errorf("%+v", list)
	}
}
