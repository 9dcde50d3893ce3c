package vfs

// Anything reports whether a view could show a file of the root. It lists the directories
// that are spelled out in the patterns, and nothing else: where a pattern leaves a name
// open, that the directory is there is enough. Its trace is what the answer depends on; an
// answer that isn't sure is yes.
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
