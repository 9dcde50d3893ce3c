package vfs

import (
	"slices"
	"strings"
)

// Names returns the names that a view could show in a directory, by the path
// it is asked for. When a pattern allows others than these, all is set: any
// name could be one. Who watches the directory needs no others.
func (r *Root) Names(f *Filter, dir string) (names []string, all bool) {
	s := r.scope(f)
	if dir != "." {
		for name := range strings.SplitSeq(dir, "/") {
			s = s.step(scope{}, name)
		}
	}
	for _, n := range s.reads {
		if n.isDeep || n.deep != nil || len(n.globs) > 0 {
			return nil, true
		}
		for name := range n.names {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), false
}
