package vfs

// Anything reports whether a view could show a file of the root. It lists only directories
// that the patterns spell out. Where a pattern has a wildcard, an existing directory is
// enough. If in doubt, it returns true. The trace is what the answer depends on.
func (r *Root) Anything(f *Filter) (there bool, trace []Dep) {
	run := r.Begin(f, Limits{})
	defer func() { _ = run.Close() }()
	there = run.anything(".")
	return there || run.Err() != nil, run.Trace()
}

func (r *Run) anything(dir string) bool {
	if _, globs, all := r.root.Names(r.filter, dir); all || len(globs) > 0 {
		return true
	}
	f, err := r.Open(dir)
	if err != nil {
		return true
	}
	if !f.IsDir() {
		return true
	}
	entries, err := f.ReadDir()
	if err != nil {
		return true
	}
	for _, e := range entries {
		path := e.Name
		if dir != "." {
			path = dir + "/" + e.Name
		}
		if !e.Type.IsDir() || r.anything(path) {
			return true
		}
	}
	return false
}
