package why

import (
	"slices"
	"strings"
	"sync"

	"github.com/bmatcuk/doublestar/v4"

	"waymark/abi"
	"waymark/plugins/conventions"
)

// place is one of the places of a convention.
type place struct {
	*conventions.Convention
	pattern string
	names   []string // of the pattern
}

// places are those of the table, by the first name of their patterns in lower
// case. The few that begin with more than a name are under the empty one.
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

// placesOf are those that a path can have to do with.
func placesOf(rel string) []place {
	first, _, _ := strings.Cut(rel, "/")
	index := places()
	return slices.Concat(index[strings.ToLower(first)], index[""])
}

// relation is what a path is to a place.
type relation int

const (
	unrelated relation = iota
	itself             // what is read there
	container          // a directory in which it is looked for
	part               // something that goes with it
)

// relate says what a path below the place's top is to it. dir says that the path
// is a directory.
func (p *place) relate(rel string, dir bool) relation {
	names := strings.Split(rel, "/")
	if p.Kind == abi.KindSkill {
		// A skill is a directory, with all that lies in it. A SKILL.md further down
		// is another skill, which nobody looks for there.
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

// isContainer reports whether a directory is one in which files of the place lie.
// One that is only on the way to it isn't.
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

// spelled gives a path the case that the place has it in, a directory that of the
// first names. ok is false when they differ in more than case, or in nothing.
func (p *place) spelled(rel string, dir bool) (right string, ok bool) {
	names := strings.Split(rel, "/")
	spelled, ok := inCaseOf(p.names, names, dir)
	return strings.Join(spelled, "/"), ok && !slices.Equal(spelled, names)
}
