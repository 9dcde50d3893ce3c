package why

import (
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"waymark/internal/text"
)

// matches reports whether a place below a directory is the convention's: a
// file that its pattern matches, or the directory that it is about.
func (c *convention) matches(rel string, dir bool) bool {
	pattern := strings.TrimPrefix(strings.TrimPrefix(c.pattern, "~/"), "./")
	if doublestar.MatchUnvalidated(pattern, rel) {
		return true
	}
	rest, ok := strings.CutPrefix(pattern, rel)
	return dir && ok && strings.HasPrefix(rest, "/*")
}

// hintFor says which tools read a path, and as what, in one sentence without
// an end; empty when none is known. Of the directories that could be the
// project's the outermost counts: what it makes of the path is the most
// particular. root is the root's path, dir whether the path is a directory.
func hintFor(path, root string, dir bool) string {
	if list := matching(conventions, func(c *convention) bool { return strings.HasPrefix(c.pattern, "/") && c.matches(path, dir) }); len(list) > 0 {
		return describe(list)
	}
	names := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for i := max(0, len(names)-maxNames); i < len(names); i++ {
		rest, top := strings.Join(names[i:], "/"), "/"+strings.Join(names[:i], "/")
		list := matching(conventions, func(c *convention) bool {
			return !strings.HasPrefix(c.pattern, "/") && (top == root || !strings.HasPrefix(c.pattern, "./")) && c.matches(rest, dir)
		})
		if len(list) > 0 {
			return hintIn(list, top, top == root)
		}
	}
	return ""
}

// hintIn describes what conventions make of a place in a directory, which is
// the top of a root or isn't.
func hintIn(list []convention, dir string, top bool) string {
	home := func(c *convention) bool { return strings.HasPrefix(c.pattern, "~/") }
	project := matching(list, func(c *convention) bool { return !home(c) })
	nested := matching(project, func(c *convention) bool { return c.nested })
	switch {
	case len(project) == 0 && top:
		return describe(list)
	case len(project) == 0:
		return describe(list) + ", when " + quotePath(dir) + " is a home directory"
	case top:
		return describe(project)
	case len(nested) > 0:
		return describe(nested)
	}
	return describe(project) + ", when " + quotePath(dir) + " is the top of a project"
}

func matching(table []convention, want func(*convention) bool) []convention {
	var list []convention
	for i := range table {
		if want(&table[i]) {
			list = append(list, table[i])
		}
	}
	return list
}

// maxTools is how many tools a hint names.
const maxTools = 6

// describe makes a sentence of conventions: tools that take a place for the
// same are named together.
func describe(list []convention) string {
	var kinds []string
	tools := map[string][]string{}
	for _, c := range list {
		if tools[c.as] == nil {
			kinds = append(kinds, c.as)
		}
		for tool := range strings.SplitSeq(c.readers, ", ") {
			if !slices.Contains(tools[c.as], tool) {
				tools[c.as] = append(tools[c.as], tool)
			}
		}
	}
	var parts []string
	for _, as := range kinds {
		parts = append(parts, who(tools[as])+" as "+as)
	}
	return strings.Join(parts, ", ")
}

// who names tools, with the verb.
func who(tools []string) string {
	switch n := len(tools); {
	case n == 1:
		return tools[0] + " reads it"
	case n > maxTools:
		return strings.Join(tools[:maxTools-1], ", ") + " and " + text.Count(n-maxTools+1, "other tool", "other tools") + " read it"
	default:
		return strings.Join(tools[:n-1], ", ") + " and " + tools[n-1] + " read it"
	}
}
