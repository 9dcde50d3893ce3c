package vfs

import "strings"

// Judgement is what a filter says of a path by its name alone: no file is
// looked at and no link followed.
type Judgement struct {
	// File and Dir say that a file, or a directory, of this name is visible.
	File, Dir bool
	// Reason says why neither is: ReasonExcluded, ReasonSecret, ReasonMCP or
	// ReasonNotInReads.
	Reason Reason
}

// Judge tells what a run with this filter would be told about a path before
// anything is looked at. It opens nothing and charges nothing; it works on a
// closed root, too. What no run may ask for (see the package comment on paths)
// is ReasonNotInReads. A nil filter sees nothing.
func (r *Root) Judge(f *Filter, name string) Judgement {
	path, _, problem := cleanPath(name)
	if problem.errno != 0 {
		return Judgement{Reason: ReasonNotInReads}
	}
	if f == nil || f.guard == nil { // none, or what Compile gave with an error
		f, _ = View{}.Compile() // can't fail without patterns
	}
	s := r.sees(f, path, r.scopeTo(f, path))
	return Judgement{File: s.file, Dir: s.dir, Reason: s.reason}
}

// SecretEntry returns the first entry of SecretPatterns that a path matches,
// as it is spelled below this root. ok is false when there is none.
func (r *Root) SecretEntry(name string) (entry Secret, ok bool) {
	path, _, problem := cleanPath(name)
	if problem.errno != 0 {
		return Secret{}, false
	}
	for _, s := range SecretPatterns() {
		f := &Filter{reads: &trie{}, guard: &trie{}}
		f.guard.insert(anywhere(s.Pattern), groupSecret)
		if r.scopeTo(f, path).guard.ends() != 0 {
			return s, true
		}
	}
	return Secret{}, false
}

// scopeTo is where the patterns stand at a clean path.
func (r *Root) scopeTo(f *Filter, path string) scope {
	s := r.scope(f)
	if path == "." {
		return s
	}
	for name := range strings.SplitSeq(path, "/") {
		s = s.step(scope{}, name)
	}
	return s
}
