package main

import (
	"bytes"
	_ "embed"
	"os"
	"slices"
	"strings"
	"text/template"

	"waymark/abi"
	"waymark/plugins/conventions"
)

// write leaves a file alone that is the same.
func write(file string, page []byte) error {
	if old, err := os.ReadFile(file); err == nil && bytes.Equal(old, page) {
		return nil
	}
	return os.WriteFile(file, page, 0o644)
}

//go:embed conventions.md.tmpl
var pageText string

// reader is an agent with what it reads.
type reader struct {
	conventions.Agent
	Kinds []section
}

// section is what an agent reads of one kind.
type section struct {
	Title string
	Rows  []conventions.Convention
}

// kinds are the sections, in the order of the page.
var kinds = []struct {
	kind  abi.Kind
	title string
}{
	{abi.KindInstructionFile, "Instructions and rules"},
	{abi.KindSkill, "Skills"},
	{abi.KindSubagent, "Subagents"},
	{abi.KindCommand, "Commands"},
	{abi.KindHook, "Hooks"},
	{abi.KindMCPConfig, "MCP configurations"},
	{abi.KindPlugin, "Plugins"},
	{"", "Known, and not listed"},
}

// render makes the page.
func render(agents []conventions.Agent, table []conventions.Convention) ([]byte, error) {
	t, err := template.New("page").Funcs(template.FuncMap{
		"places": places, "below": below, "applies": applies, "readers": readers, "kind": kind, "from": from, "anchor": anchor, "count": count,
	}).Parse(pageText)
	if err != nil {
		return nil, err
	}
	var list []reader
	for _, a := range agents {
		list = append(list, reader{a, sections(a.ID, table)})
	}
	slices.SortStableFunc(list, func(a, b reader) int { return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)) })
	var page bytes.Buffer
	err = t.Execute(&page, map[string]any{"Readers": list, "Table": table})
	return page.Bytes(), err
}

// sections are what an agent reads, by kind.
func sections(agent string, table []conventions.Convention) (list []section) {
	for _, k := range kinds {
		s := section{Title: k.title}
		for _, c := range table {
			if c.Kind == k.kind && slices.Contains(c.Readers, agent) {
				s.Rows = append(s.Rows, c)
			}
		}
		if len(s.Rows) > 0 {
			list = append(list, s)
		}
	}
	return list
}

// places spells the places of a row as a person would.
func places(c conventions.Convention) string {
	before, after := "", ""
	switch c.Scope {
	case conventions.ScopeUser:
		before = "~/"
	case conventions.ScopeMachine:
		before = "/"
	case conventions.ScopePlugin:
		after = " of a plugin"
	}
	var list []string
	for _, p := range c.Places {
		list = append(list, "`"+before+p+"`")
	}
	return strings.Join(list, ", ") + after
}

// below says that an agent reads a row's places below the top of a project, too.
func below(c conventions.Convention, agent string) string {
	if slices.Contains(c.Nested, agent) {
		return ", and in directories below"
	}
	return ""
}

// applies says when what is in a row's files applies.
func applies(c conventions.Convention) string {
	if c.Kind != abi.KindInstructionFile {
		return ""
	}
	a, parts := c.Applies, []string(nil)
	if a.ModeKey != "" {
		words := make([]string, len(a.Words))
		for i, w := range a.Words {
			words[i] = "`" + w.Is + "` " + w.Mode
		}
		parts = append(parts, "`"+a.ModeKey+"`: "+strings.Join(words, ", "))
	}
	if a.AlwaysKey != "" {
		parts = append(parts, "always where `"+a.AlwaysKey+"` is true")
	}
	if a.GlobsKey != "" {
		parts = append(parts, "to the globs of `"+a.GlobsKey+"`")
	}
	if a.Described != "" {
		parts = append(parts, a.Described+" where there is a description")
	}
	rest := a.Mode
	if rest == "" {
		rest = "always"
	}
	if len(parts) > 0 {
		rest = "else " + rest
	}
	return strings.Join(append(parts, rest), "; ")
}

// readers are the ids of a row's.
func readers(c conventions.Convention) string { return strings.Join(c.Readers, ", ") }

func kind(c conventions.Convention) string {
	if c.Kind == "" {
		return "–"
	}
	return "`" + string(c.Kind) + "`"
}

// from says where a name or a description comes from.
func from(d conventions.Derivation) string {
	if d == conventions.FromNothing {
		return "–"
	}
	return strings.ReplaceAll(string(d), "_", " ")
}

// anchor is what links to a heading.
func anchor(heading string) string {
	return "#" + strings.ReplaceAll(strings.Map(func(r rune) rune {
		if strings.ContainsRune(".,()", r) {
			return -1
		}
		return r
	}, strings.ToLower(heading)), " ", "-")
}

func count(sections []section) (n int) {
	for _, s := range sections {
		n += len(s.Rows)
	}
	return n
}
