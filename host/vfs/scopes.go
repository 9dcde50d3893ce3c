package vfs

import "strings"

// scopeOf is where the patterns stand at a path. The result is valid until
// the next call.
func (r *Run) scopeOf(path string) scope {
	if s, ok := r.scopes[path]; ok {
		return s
	}
	dir, name := split(path)
	r.leaf = r.dirScope(dir).step(r.leaf, name)
	return r.leaf
}

// maxScopes bounds what is remembered; beyond it a run starts over.
const maxScopes = 4096

func (r *Run) dirScope(dir string) scope {
	if s, ok := r.scopes[dir]; ok {
		return s
	}
	s, done := r.scopes["."], 0
	if len(r.scopes) >= maxScopes {
		r.scopes = map[string]scope{".": s}
	}
	for done < len(dir) {
		end := len(dir)
		if i := strings.IndexByte(dir[done:], '/'); i >= 0 {
			end = done + i
		}
		next, ok := r.scopes[dir[:end]]
		if !ok {
			next = s.step(scope{}, dir[done:end])
			r.scopes[dir[:end]] = next
		}
		s, done = next, end+1
	}
	return s
}
