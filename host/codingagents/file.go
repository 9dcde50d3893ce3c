package codingagents

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"waymark/abi"
	"waymark/host/applicability"
	"waymark/plugins/conventions"
	"waymark/snapshot"
)

// When says when a client reads something that applies to a file.
type When string

// The times.
const (
	// AtStart: from its start on, in the workspace.
	AtStart When = "start"
	// OnFile: as soon as it works on a file of that directory.
	OnFile When = "file"
	// StartedThere: only if it is started in that directory, or below it.
	StartedThere When = "started_there"
)

// nested says when a client reads files in directories below the one that it is started in.
// The table of conventions has the places: those that list the client among their Nested.
type nested struct {
	Instructions When
	// Take is FirstOfDirectory or Every.
	Take Take
	// Skills is for skills, subagents and commands; empty if those are never read. With SkillsAlone it reads no subagents and
	// commands there.
	Skills      When
	SkillsAlone bool
	Sources     []Source
}

// nestedRules are those of Clients, by id. Those of a client that is judged are compared with
// the program.
var nestedRules = map[string]nested{
	"claude":         {OnFile, Every, OnFile, true, []Source{{"Claude Code 2.1.332, what it sends to its model when it reads a file", "2026-11-28"}}},
	"cline":          {StartedThere, Every, "", false, []Source{{"Cline CLI 3.0.65, what it sends to its model", "2026-11-28"}}},
	"codex":          {StartedThere, FirstOfDirectory, StartedThere, false, []Source{{"@openai/codex 0.169.0, codex debug prompt-input", judged}}},
	"continue":       {StartedThere, FirstOfDirectory, StartedThere, false, []Source{{"Continue CLI 1.5.47, what it sends to its model", "2026-11-28"}}},
	"copilot-cli":    {OnFile, Every, StartedThere, false, []Source{{"Copilot CLI 1.0.102, what it sends to its model when it reads a file", "2026-11-28"}}},
	"copilot-vscode": {StartedThere, Every, StartedThere, false, []Source{{"https://code.visualstudio.com/docs/agent-customization", "2026-11-23"}}},
	"gemini":         {OnFile, Every, StartedThere, false, []Source{{"Gemini CLI 0.61.0, what it sends to its model when it reads a file", "2026-11-28"}}},
	"pi":             {StartedThere, FirstOfDirectory, StartedThere, false, []Source{{"Pi 0.73.1, what it sends to its model when it reads a file", "2026-11-28"}}},
	"opencode":       {OnFile, FirstOfDirectory, StartedThere, false, []Source{{"opencode 1.18.33, what it sends to its model when it reads a file", "2026-11-28"}}},
	"kilo":           {OnFile, FirstOfDirectory, StartedThere, false, []Source{{"Kilo CLI 7.7.9, what it sends to its model when it reads a file", "2026-11-28"}}},
	"qwen-code":      {StartedThere, Every, StartedThere, false, []Source{{"Qwen Code 0.24.4, what it sends to its model when it reads a file", "2026-11-28"}}},
}

// NestedRows returns the conventions of Rows that a client reads in directories below the one
// that it is started in, or would if it were started there.
func (c *Client) NestedRows() []conventions.Convention {
	own := func(id string) bool {
		return slices.ContainsFunc(c.Own, func(o conventions.Convention) bool { return o.ID == id })
	}
	var listed []string
	if c.Skills != nil {
		listed = append(slices.Concat(c.Skills.Places...), c.Skills.Namespaces...)
		listed = append(listed, c.Skills.Policy)
	}
	return slices.DeleteFunc(c.Rows(), func(row conventions.Convention) bool {
		return !slices.Contains(row.Nested, c.Reader) && !own(row.ID) && !slices.Contains(listed, row.ID)
	})
}

// FileView is what a client has for one file.
type FileView struct {
	*View
	// Items are those of the view, nearest to the file first, and within a directory in the
	// client's order; then what it doesn't have, and why.
	Items []FileItem

	home string   // of the user
	walk []string // the directories that the client looks into
}

// FileItem is one thing that a client has for a file, or doesn't have.
type FileItem struct {
	Item
	// When is when it has it; empty if it doesn't.
	When When
	// Mode is always, glob, model or manual; see package applicability.
	Mode string
	// Why says it for a person.
	Why string
}

// For returns what a client that is started in in.Start has for a file, which is absolute,
// free of links and lies in Start. in.Below are directories between the two, the file's own
// first.
func For(in Input, file string) *FileView {
	v := look(&in)
	v.instructions()
	v.byName()
	v.skills()
	v.lists()
	v.below = true
	v.nested()
	v.once()
	view := &FileView{View: v.view, home: in.Home, walk: append(Directories(in.Client, in.Start, in.Project, in.Home), in.Below...), Items: make([]FileItem, len(v.view.Items))}
	for i := range v.view.Items {
		it := FileItem{Item: v.view.Items[i], Mode: "always"}
		if mode := it.find.Attributes["mode"].Text; mode != "" {
			it.Mode = mode
		}
		when := AtStart
		if it.below {
			when = v.when(it.find)
		}
		v.judge(&it, when, file)
		view.Items[i] = it
	}
	distance := func(it *FileItem) int {
		rel, ok := applicability.Below(it.find.Directory, file)
		if !ok {
			return 1 << 20 // the user's own
		}
		return depth(rel)
	}
	slices.SortStableFunc(view.Items, func(a, b FileItem) int {
		return cmp.Or(applicability.TrueFirst(a.Included, b.Included), cmp.Compare(distance(&a), distance(&b)), cmp.Compare(order(a.Kind), order(b.Kind)))
	})
	return view
}

// order sorts instructions first, and then skills.
func order(kind abi.Kind) int {
	switch kind {
	case abi.KindInstructionFile:
		return 0
	case abi.KindSkill:
		return 1
	}
	return 2
}

// when returns when a file in a directory below the start is read.
func (v *viewer) when(f *Find) When {
	rules := nestedRules[v.in.Client.ID]
	if f.Kind == abi.KindInstructionFile {
		return rules.Instructions
	}
	return rules.Skills
}

// judge determines when a client has an item, or why it doesn't.
func (v *viewer) judge(it *FileItem, when When, file string) {
	where := it.find.Directory
	if rel, ok := applicability.Below(v.in.Start, where); ok {
		where = rel
	}
	if rules := v.in.Client.Instructions; it.Reason == snapshot.ClientNotAlways && it.Mode == "glob" && (rules == nil || !rules.AlwaysOnly) {
		base := it.find.Directory
		if it.find.user && v.in.Client.GlobsOfProject {
			base = v.top
		}
		matches := applicability.Match
		switch {
		case v.in.Client.IgnoreGlobs:
			matches = applicability.MatchIgnored
		case v.in.Client.NameGlobs:
			base, matches = v.top, applicability.MatchNames
		}
		globs := it.find.Attributes["globs"]
		if v.in.Client.GlobsExact {
			globs.List = slices.DeleteFunc(slices.Clone(globs.List), func(glob string) bool { return strings.HasPrefix(glob, "/") || strings.HasSuffix(glob, "/") })
		}
		glob, ok := matches(globs, base, file)
		if !ok {
			it.Why = "no glob of it matches"
			return
		}
		it.Included, it.Reason, it.Tokens, it.When = true, "", tokens(it.Bytes), OnFile
		it.Why = glob + " matches"
		return
	}
	if !it.Included {
		it.Why = cmp.Or(it.Detail, string(it.Reason))
		return
	}
	it.When = when
	switch when {
	case AtStart:
		it.Why = "at its start"
	case OnFile:
		it.Why = "when it works on a file below " + where
	case StartedThere:
		it.Why = "where it is started in " + where + " or below"
	}
	if it.Detail != "" {
		it.Why += "; " + it.Detail
	}
}

// nested adds what lies in the directories below the start.
func (v *viewer) nested() {
	rules, c := nestedRules[v.in.Client.ID], v.in.Client
	nothing := c.Instructions != nil && !v.any(v.walk(c.Instructions.Top, false)) // it is decided at the start
	for _, dir := range slices.Backward(v.in.Below) {                             // in the order of a start there, by which its budget is counted
		if c.Instructions != nil {
			var list []placedText
			for _, place := range c.Instructions.Places {
				for _, f := range v.finds[dir][place.Convention] {
					list = append(list, placedText{Find: f, place: place})
				}
			}
			v.texts(list, rules.Take, nothing)
		}
		v.nestedSkills(dir)
	}
}

// nestedSkills adds a directory's skills and the finds of the client's Lists. It applies no
// budget, because it isn't known which others would share the list.
func (v *viewer) nestedSkills(dir string) {
	rules := nestedRules[v.in.Client.ID]
	if skills := v.in.Client.Skills; skills != nil {
		for _, convention := range slices.Concat(skills.Places...) {
			for _, f := range v.finds[dir][convention] {
				if reason, detail := v.refuse(f); reason != "" {
					v.leave(f, reason, detail)
				} else if rules.Skills == "" {
					v.leave(f, snapshot.ClientElsewhere, "it is looked for in the top directory of a project")
				} else {
					s := v.skill(f)
					v.list(f, s.name, s.description)
				}
			}
		}
	}
	for _, convention := range v.in.Client.Lists {
		for _, f := range v.finds[dir][convention] {
			if reason, detail := v.unlisted(f); reason != "" {
				v.leave(f, reason, detail)
			} else if rules.Skills == "" || rules.SkillsAlone {
				v.leave(f, snapshot.ClientElsewhere, "it is looked for from the start's directory up")
			} else {
				v.list(f, f.Name, f.Description)
			}
		}
	}
}

// Answer returns a view in the form of package applicability. asked is the path as given.
func (v *FileView) Answer(asked string) *applicability.Answer {
	a := &applicability.Answer{Path: asked, Root: v.Root, Client: v.Client, Version: v.Version, Judged: v.Judged, Items: make([]applicability.Item, len(v.Items))}
	for i := range v.Items {
		it := &v.Items[i]
		path := it.Path
		if rel, ok := applicability.Below(v.Root, path); ok {
			path = rel
		}
		a.Items[i] = applicability.Item{
			ID: it.ID, Kind: it.Kind, Path: path, Name: it.Name, Mode: it.Mode, Applies: it.Included, Reason: it.Why, When: string(it.When),
			Bytes: it.Bytes, Tokens: it.Tokens, CutBytes: it.CutBytes,
		}
	}
	if n := len(v.NotLookedAt); n > 0 {
		a.Warnings = append(a.Warnings, fmt.Sprintf("not looked at: %s", strings.Join(v.NotLookedAt, ", ")))
	}
	return a
}
