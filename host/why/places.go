package why

import (
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/bmatcuk/doublestar/v4"

	"waymark/abi"
	"waymark/plugins/conventions"
	"waymark/snapshot"
)

// place is one of the places of a convention.
type place struct {
	*conventions.Convention
	pattern string
	names   []string // of the pattern
}

// places holds those of the table, by the lower-case first name of their patterns. The few
// that begin with a pattern are under the empty name.
var places = sync.OnceValue(func() map[string][]place {
	index := map[string][]place{}
	for i := range conventions.All {
		c := &conventions.All[i]
		for _, pattern := range c.Places {
			p := place{c, pattern, strings.Split(pattern, "/")}
			first := strings.ToLower(p.names[0])
			if strings.Contains(first, "*") {
				first = ""
			}
			index[first] = append(index[first], p)
		}
	}
	return index
})

// placesOf returns the places that may be related to a path.
func placesOf(rel string) []place {
	first, _, _ := strings.Cut(rel, "/")
	index := places()
	return slices.Concat(index[strings.ToLower(first)], index[""])
}

// relation is how a path relates to a place.
type relation int

const (
	unrelated relation = iota
	itself             // what is read there
	container          // a directory in which it is looked for
	part               // something that goes with it
)

// relate returns the relation of a path below the place's top. dir says that the path is a
// directory.
func (p *place) relate(rel string, dir bool) relation {
	names := strings.Split(rel, "/")
	if p.Kind == abi.KindSkill && !slices.Contains(p.names, "**") {
		// A skill is a directory with everything in it. A SKILL.md further down is another
		// skill, which this place isn't about. Where skills lie at any depth, only a SKILL.md
		// tells one from a group or from a part of another, so that a directory there is a
		// container.
		deep := len(names) - len(p.names)
		switch {
		case deep >= -1 && !doublestar.MatchUnvalidated(strings.Join(p.names[:len(p.names)-1], "/"), strings.Join(names[:len(p.names)-1], "/")):
			return unrelated
		case deep == -1 && dir, deep == 0 && names[len(names)-1] == "SKILL.md":
			return itself
		case deep >= 0 && !strings.EqualFold(names[len(names)-1], "SKILL.md"):
			return part
		}
	}
	switch {
	case dir && p.isContainer(names):
		return container
	case doublestar.MatchUnvalidated(p.pattern, rel):
		return itself
	}
	return unrelated
}

// isContainer reports whether files of the place lie directly in a directory, which isn't
// true of one on the way to it.
func (p *place) isContainer(names []string) bool {
	stars := slices.IndexFunc(p.names, func(n string) bool { return strings.Contains(n, "*") })
	if stars < 0 {
		return false
	}
	rel := strings.Join(names, "/")
	for n := max(stars, 1); n < len(p.names); n++ {
		if doublestar.MatchUnvalidated(strings.Join(p.names[:n], "/"), rel) {
			return true
		}
	}
	return false
}

// spelled gives a path the case of the place's pattern, or for a directory that of its first
// names. ok is false if they differ in more than case, or not at all.
func (p *place) spelled(rel string, dir bool) (right string, ok bool) {
	names := strings.Split(rel, "/")
	spelled, ok := inCaseOf(p.names, names, dir)
	return strings.Join(spelled, "/"), ok && !slices.Equal(spelled, names)
}

// isMisnamed holds for a file among those of a place that only its name keeps from being one.
func (p *pathInRoot) isMisnamed() (facts, bool) {
	if p.isDir() || p.entry.state != present {
		return facts{}, false
	}
	scope := conventions.ScopeProject
	if p.q.in.Roots[p.root].Scope == snapshot.ScopeUser {
		scope = conventions.ScopeUser
	}
	for _, place := range placesOf(p.rel) {
		if place.Scope == scope && place.isNear(p.rel) {
			return with(place.As, strings.Join(place.Readers, ", "), quotePath(path.Base(place.pattern)))
		}
	}
	return facts{}, false
}

// isNear reports whether a file lies where files of the place do, whose names have something in
// common that its own may lack.
func (p *place) isNear(rel string) bool {
	above, name := path.Split(p.pattern)
	return p.Kind != "" && strings.HasPrefix(name, "*") && name != "*" && above != "" && doublestar.MatchUnvalidated(strings.TrimSuffix(above, "/"), path.Dir(rel))
}
