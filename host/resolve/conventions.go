package resolve

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"waymark/abi"
	"waymark/plugins/conventions"
	"waymark/snapshot"
)

// Table knows conventions by their ids: the built-in ones, and an operator's own. It is
// immutable. A nil Table knows the built-in ones.
type Table struct {
	own    map[string][]string // readers
	places map[string][]string // of the same
}

// NewTable makes a Table with conventions of an operator's own.
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

// readersOf returns who reads what is found by a convention.
func (t *Table) readersOf(id string) (readers []string, ok bool) {
	if t != nil {
		if readers, ok = t.own[id]; ok {
			return readers, true
		}
	}
	readers, ok = builtinReaders()[id]
	return readers, ok
}

// placesOf returns the places of a convention; none of one that isn't known.
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

// complete adds what the host knows of finds beside their files. It is no part of a memo,
// since another table changes it, and nothing that a resolver says.
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

// narrows reports whether a built-in resolver has said who of the readers of a built-in
// convention reads this file: a plugin is installed for some of those who read plugins.
func (r *Resolver) narrows(c *snapshot.Candidate) bool {
	readers := builtinReaders()[c.Convention]
	return !r.DropIn && len(c.Readers) > 0 && !slices.ContainsFunc(c.Readers, func(id string) bool { return !slices.Contains(readers, id) })
}

// scopeOf says whose the finds of a root are.
func scopeOf(root Root) snapshot.Scope { return cmp.Or(root.Scope, snapshot.ScopeProject) }

// attributeEvent and attributeDigest are those of a hook.
const (
	attributeEvent  = "event"
	attributeDigest = "digest"
)

// hookEvents are what hooks are known to be run at, in lower case: a word of this list says
// nothing else.
var hookEvents = strings.Fields(`
	afteragent afteragentresponse afteragentthought afterfileedit aftermcpexecution aftermodel aftershellexecution aftertool
	agentspawn agentstop beforeagent beforemcpexecution beforemodel beforereadfile beforeshellexecution beforesubmitprompt
	beforetabfileread beforetool beforetoolselection configchange erroroccurred notification permissiondenied permissionrequest
	postcompact posttooluse posttoolusefailure precompact precompress pretooluse sessionend sessionstart setup stop stopfailure
	subagentstart subagentstop taskcancel taskcomplete taskcompleted taskresume taskstart userpromptsubmit userpromptsubmitted
	worktreecreate worktreeremove`)

// redact takes out of the rows of a dropped-in module what could have been taken out of
// a settings file, if it has seen one: all that it chooses itself, in whatever code. What is
// left of hooks is one for each event of a file, whose digest is the host's. Of an
// mcp_config the host keeps nothing anyway.
func redact(rows []abi.Resource) []abi.Resource {
	type hook struct{ path, event string }
	seen := map[hook]bool{}
	kept := rows[:0]
	for _, row := range rows {
		row.Name, row.Key, row.Description, row.Error, row.Findings, row.Readers = "", "", "", "", nil, nil
		switch c := row.Content; {
		case c == nil:
		case c.Inline != nil:
			row.Content = nil
		default: // it may be a copy, or have another name
			row.Content = &abi.Content{File: c.File, Withheld: true}
		}
		said := row.Attributes[attributeEvent].Text
		row.Attributes = nil
		if row.Kind == abi.KindHook {
			if !slices.Contains(hookEvents, strings.ToLower(said)) {
				said = ""
			}
			at := hook{row.Path, strings.ToLower(said)}
			if seen[at] {
				continue
			}
			seen[at] = true
			row.Status, row.Key, row.Convention = "", at.event, ""
			row.Attributes = map[string]abi.Value{attributeEvent: abi.String(at.event), attributeDigest: abi.String("")}
		}
		kept = append(kept, row)
	}
	return kept
}
