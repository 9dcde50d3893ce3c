package vfs

import "slices"

// Names returns the names that a view could show in a directory, by the path
// it is asked for. When a pattern allows others than these, all is set: any
// name could be one. Who watches the directory needs no others.
func (r *Root) Names(f *Filter, dir string) (names []string, all bool) {
	s, ok := r.scopeTo(f, dir)
	if !ok {
		return nil, true
	}
	for _, at := range s.reads.nodes {
		n := &f.reads.nodes[at]
		if n.isDeep || n.deep != 0 || len(n.globs) > 0 {
			return nil, true
		}
		for i := range n.names {
			names = append(names, n.names[i].name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), false
}
