package why

import (
	"slices"
	"strings"

	"waymark/internal/text"
	"waymark/plugins/conventions"
)

// known is what one place of the table says of a path.
type known struct {
	place
	relation
	// top is the directory that the place is relative to, and right the path below it as the
	// place spells it.
	top, right string
	// condition is the condition for the place to count there; empty if there is none.
	condition string
}

// recognized lists what the table knows of a path relative to the outermost directory that
// can be a top, which gives the most specific meaning. It calls how for the path below each.
func (q *question) recognized(path, root string, how func(p *place, rel, top string) (relation, string)) []known {
	var list []known
	path = strings.TrimPrefix(path, "/")
	if path == "" {
		return nil
	}
	names := strings.Split(path, "/")
	for _, i := range tops(len(names)) {
		rest, top := strings.Join(names[i:], "/"), "/"+strings.Join(names[:i], "/")
		for _, p := range placesOf(rest) {
			condition, counts := q.counts(&p, top, root)
			if !counts {
				continue
			}
			if rel, right := how(&p, rest, top); rel != unrelated {
				list = append(list, known{p, rel, top, right, condition})
			}
		}
		if len(list) > 0 {
			return q.mostParticular(list)
		}
	}
	return nil
}

// tops returns how many names of a path can be its top: none for that of the file system,
// then those that leave at most maxNames.
func tops(n int) []int {
	list := []int{0}
	for i := max(1, n-maxNames); i < n; i++ {
		list = append(list, i)
	}
	return list
}

// counts reports whether a place can be one below a directory, and under which condition.
func (q *question) counts(p *place, top, root string) (condition string, ok bool) {
	switch p.Scope {
	case conventions.ScopeMachine:
		return "", top == "/"
	case conventions.ScopeUser:
		if top != root && top != q.in.Home {
			condition = ", when " + quotePath(top) + " is a home directory"
		}
	case conventions.ScopePlugin:
		// Names such as agents/ are too common to mean anything elsewhere.
		return "", top == root
	default:
		if top != root && len(p.Nested) == 0 {
			condition = ", when " + quotePath(top) + " is the top of a project"
		}
	}
	return condition, true
}

// mostParticular drops what counts under a condition if something counts without one. From
// the rest it drops the user's places if there are a project's; directly below the home
// directory it is the other way around.
func (q *question) mostParticular(list []known) []known {
	keep := func(want func(*known) bool) {
		if slices.ContainsFunc(list, func(k known) bool { return want(&k) }) {
			list = slices.DeleteFunc(list, func(k known) bool { return !want(&k) })
		}
	}
	keep(func(k *known) bool { return k.relation != part })
	keep(func(k *known) bool { return k.Scope == conventions.ScopeUser && k.top == q.in.Home })
	keep(func(k *known) bool { return k.condition == "" })
	keep(func(k *known) bool { return k.Scope != conventions.ScopeUser })
	return list
}

// hintFor says which agents read a path, and as what, in one sentence without an end; empty
// if none is known. root is the root's path, dir whether the path is a directory. sure says
// that the place counts unconditionally.
func (q *question) hintFor(path, root string, dir bool) (hint string, sure bool) {
	list := q.recognized(path, root, func(p *place, rel, _ string) (relation, string) { return p.relate(rel, dir), rel })
	return describe(list, root, "it"), len(list) > 0 && list[0].condition == ""
}

// caseHint is hintFor for a path that is no place only because of its case: for the corrected
// place.
func (q *question) caseHint(path, root string) string {
	list := q.recognized(path, root, func(p *place, rel, top string) (relation, string) {
		sure := top == root || p.Scope == conventions.ScopeUser && top == q.in.Home || len(p.Nested) > 0 || p.Scope == conventions.ScopeMachine
		if right, ok := p.spelled(rel, false); ok && sure {
			return itself, right
		}
		return unrelated, ""
	})
	if len(list) == 0 {
		return ""
	}
	return describe(list, root, quotePath(list[0].right))
}

// depthHint is hintFor for a path in a root that is no place only because of directories in
// the middle: for the place without them.
func (q *question) depthHint(rel, root string) (right, hint string) {
	for _, shorter := range shortened(rel) {
		var list []known
		for _, p := range placesOf(shorter) {
			if p.Scope == conventions.ScopeProject && p.relate(shorter, false) == itself {
				list = append(list, known{p, itself, root, shorter, ""})
			}
		}
		if len(list) > 0 {
			return shorter, describe(list, root, quotePath(shorter))
		}
	}
	return "", ""
}

// shortened returns the paths without some of the directories in the middle, those that lack
// least first.
func shortened(rel string) []string {
	names := strings.Split(rel, "/")
	if len(names) > maxNames {
		return nil
	}
	var list []string
	for gap := 1; gap < len(names)-1; gap++ {
		for i := 1; i+gap < len(names); i++ {
			list = append(list, strings.Join(names[:i], "/")+"/"+strings.Join(names[i+gap:], "/"))
		}
	}
	return list
}

// maxTools is how many agents a hint names.
const maxTools = 6

// describe makes a sentence of what is known. It names agents together that take a path for
// the same. it is what the sentence calls the path.
func describe(list []known, root, it string) string {
	type what struct {
		as, condition string
		relation
	}
	var kinds []what
	tools := map[what][]string{}
	for _, k := range list {
		w := what{k.As, k.condition, k.relation}
		if k.relation == part {
			w.as = "part of a skill"
		}
		if tools[w] == nil {
			kinds = append(kinds, w)
		}
		readers := k.Readers
		if k.top != root && len(k.Nested) > 0 && k.Scope == conventions.ScopeProject {
			readers = k.Nested
		}
		for _, id := range readers {
			if !slices.Contains(tools[w], id) {
				tools[w] = append(tools[w], id)
			}
		}
	}
	var parts []string
	for _, w := range kinds {
		one, more, rest := "reads", "read", it+" as "+w.as
		if w.relation == container {
			one, more, rest = "looks", "look", "for "+w.as+" in "+it
		}
		parts = append(parts, who(names(tools[w]), one, more)+" "+rest+w.condition)
	}
	return strings.Join(parts, ", ")
}

// foremost are the agents that are named first if there are many.
var foremost = []string{"claude-code", "codex", "cursor", "copilot", "gemini"}

// names returns the names of agents, the foremost first.
func names(ids []string) (list []string) {
	for _, id := range foremost {
		if slices.Contains(ids, id) {
			list = append(list, agentName(id))
		}
	}
	for _, id := range ids {
		if !slices.Contains(foremost, id) {
			list = append(list, agentName(id))
		}
	}
	return list
}

// agentName is what people call an agent.
func agentName(id string) string {
	i, ok := slices.BinarySearchFunc(conventions.Agents, id, func(a conventions.Agent, id string) int { return strings.Compare(a.ID, id) })
	if !ok {
		return id
	}
	return conventions.Agents[i].Name
}

// who names agents, with the verb for one and for more.
func who(tools []string, one, more string) string {
	switch n := len(tools); {
	case n == 1:
		return tools[0] + " " + one
	case n > maxTools:
		return strings.Join(tools[:maxTools-1], ", ") + " and " + text.Count(n-maxTools+1, "other agent", "other agents") + " " + more
	default:
		return strings.Join(tools[:n-1], ", ") + " and " + tools[n-1] + " " + more
	}
}
