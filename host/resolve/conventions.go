package resolve

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"sync"

	"waymark/abi"
	"waymark/host/vfs"
	"waymark/plugins/conventions"
	"waymark/snapshot"
)

// Table holds conventions by their ids: the built-in ones, and an operator's own. It is
// immutable. A nil Table has the built-in ones.
type Table struct {
	own    map[string][]string // readers
	places map[string][]string // their places
}

// NewTable makes a Table that adds an operator's own conventions.
func NewTable(own []conventions.Convention) *Table {
	t := &Table{own: make(map[string][]string, len(own)), places: make(map[string][]string, len(own))}
	for i := range own {
		t.places[own[i].ID] = own[i].Places
		t.own[own[i].ID] = readers(own[i].Readers)
	}
	return t
}

// builtinReaders are the readers of the built-in conventions, in byte order.
var builtinReaders = sync.OnceValue(func() map[string][]string {
	m := make(map[string][]string, len(conventions.All))
	for i := range conventions.All {
		m[conventions.All[i].ID] = readers(conventions.All[i].Readers)
	}
	return m
})

// readersOf returns the readers of what a convention finds.
func (t *Table) readersOf(id string) (readers []string, ok bool) {
	if t != nil {
		if readers, ok = t.own[id]; ok {
			return readers, true
		}
	}
	readers, ok = builtinReaders()[id]
	return readers, ok
}

// placesOf returns the places of a convention, or nil if it is unknown.
func (t *Table) placesOf(id string) []string {
	if t != nil {
		if places, ok := t.places[id]; ok {
			return places
		}
	}
	return builtinPlaces()[id]
}

// builtinPlaces are those of the built-in conventions for projects.
var builtinPlaces = sync.OnceValue(func() map[string][]string {
	m := map[string][]string{}
	for i := range conventions.All {
		if c := &conventions.All[i]; c.Scope == conventions.ScopeProject {
			m[c.ID] = c.Places
		}
	}
	return m
})

// complete adds what the host knows of finds besides their files. It is no part of a memo,
// because it depends on the table and not on what a resolver says.
func (r *Resolver) complete(candidates []snapshot.Candidate, root Root) {
	for i := range candidates {
		c := &candidates[i]
		c.Root, c.Scope = root.Position, scopeOf(root)
		if c.Convention == "" {
			continue
		}
		switch readers, ok := r.Conventions.readersOf(c.Convention); {
		case ok && r.narrows(c):
		case ok:
			c.Readers = readers
		case withholds(r): // it could be anything that the resolver has read
			c.Convention = ""
		}
	}
}

// narrows reports whether a built-in resolver has stated which readers of a built-in
// convention read this file: a plugin is installed for only some of those that read plugins.
func (r *Resolver) narrows(c *snapshot.Candidate) bool {
	readers := builtinReaders()[c.Convention]
	return !r.DropIn && len(c.Readers) > 0 && !slices.ContainsFunc(c.Readers, func(id string) bool { return !slices.Contains(readers, id) })
}

// scopeOf says whose the finds of a root are.
func scopeOf(root Root) snapshot.Scope { return cmp.Or(root.Scope, snapshot.ScopeProject) }

// attributeEvent and attributeDigest are attributes of a hook.
const (
	attributeEvent  = "event"
	attributeDigest = "digest"
)

// hookEvents are the known events of hooks, in lower case. A word of this list can carry no
// other information.
var hookEvents = strings.Fields(`
	afteragent afteragentresponse afteragentthought afterfileedit aftermcpexecution aftermodel aftershellexecution aftertool
	agentspawn agentstop beforeagent beforemcpexecution beforemodel beforereadfile beforeshellexecution beforesubmitprompt
	beforetabfileread beforetool beforetoolselection configchange erroroccurred notification permissiondenied permissionrequest
	postcompact posttooluse posttoolusefailure precompact precompress pretooluse sessionend sessionstart setup stop stopfailure
	subagentstart subagentstop taskcancel taskcomplete taskcompleted taskresume taskstart userpromptsubmit userpromptsubmitted
	worktreecreate worktreeremove`)

// redact removes everything in which a token could be encoded from the rows of a dropped-in
// module that has seen a settings file. That is all that the module chooses itself, including
// which of many rows it returns for a file. Per file and kind there is one row, with the
// convention whose place the file is at, and one for each event of its hooks that the module
// names and that the host finds in the file.
func (r *rowReader) redact(rows []abi.Resource) []abi.Resource {
	type at struct {
		kind        abi.Kind
		path, event string
	}
	seen := map[at]bool{}
	kept := rows[:0]
	var last, text string // rows of a file follow each other
	var file bool
	read := func(path string) vfs.Content {
		c, _ := r.run.Content(path) // its row says what is wrong with it
		return c
	}
	for i, row := range rows {
		err := r.checkRow(&row)
		if err == nil && row.Content != nil && row.Content.Inline == nil && read(row.Content.File).Class == vfs.ContentMissing {
			err = errNoContent
		}
		if err != nil {
			r.warn(r.whyDropped(i, &row, err))
			continue
		}
		is := at{kind: row.Kind, path: row.Path}
		left := abi.Resource{Kind: row.Kind, Path: row.Path}
		if row.Kind != abi.KindHook && r.resolver.placed(&row) {
			left.Convention = row.Convention
		}
		if row.Kind == abi.KindMCPConfig {
			left.Status = row.Status
		}
		whole := row.Path
		if row.Kind == abi.KindSkill {
			whole = path.Join(whole, "SKILL.md")
		}
		if last != whole {
			c := read(whole)
			last, text, file = whole, strings.ToLower(string(c.Data)), c.Class != vfs.ContentMissing && c.Class != vfs.ContentHidden && c.Class != vfs.ContentDirectory
		}
		if file || row.Kind == abi.KindMCPConfig { // which says what is wrong with it
			left.Content = &abi.Content{File: whole, Withheld: true}
		}
		if row.Kind == abi.KindHook {
			if event := strings.ToLower(row.Attributes[attributeEvent].Text); slices.Contains(hookEvents, event) && strings.Contains(text, event) {
				is.event = event
			}
			left.Key = is.event
			left.Attributes = map[string]abi.Value{attributeEvent: abi.String(is.event), attributeDigest: abi.String("")}
		}
		if !seen[is] {
			seen[is] = true
			kept = append(kept, left)
		}
	}
	return kept
}

// placed reports whether a row lies at a place of its convention.
func (r *Resolver) placed(row *abi.Resource) bool {
	places := r.Conventions.placesOf(row.Convention)
	if len(places) == 0 {
		return false
	}
	asked := row.Path
	if row.Kind == abi.KindSkill {
		asked = path.Join(asked, "SKILL.md")
	}
	if child, rest, below := strings.Cut(asked, "/"); below && slices.Contains(r.Children, child) && len(vfs.Matching(places, []string{rest})) > 0 {
		return true
	}
	return len(vfs.Matching(places, []string{asked})) > 0
}
