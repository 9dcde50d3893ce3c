package vfs

import (
	"fmt"
	"strings"
	"syscall"

	"waymark/internal/beneath"
)

// scopeOf is where the patterns stand at a path. The result is valid until
// the next call, and means nothing once the run is over its limits.
func (r *Run) scopeOf(path string) scope {
	if s, ok := r.scopes[path]; ok {
		return s
	}
	dir, name := beneath.Split(path)
	r.leaf = r.filter.step(r.root, &r.stepper, r.dirScope(dir), r.leaf, name)
	r.stepped()
	return r.leaf
}

// maxScopes bounds what is remembered, in nodes of states: 1 MiB with all that
// belongs to them. Beyond it a run starts over.
const maxScopes = 1 << 16

func (r *Run) dirScope(dir string) scope {
	if s, ok := r.scopes[dir]; ok {
		return s
	}
	s, done := r.scopes["."], 0
	for done < len(dir) {
		end := len(dir)
		if i := strings.IndexByte(dir[done:], '/'); i >= 0 {
			end = done + i
		}
		next, ok := r.scopes[dir[:end]]
		if !ok {
			next = r.filter.step(r.root, &r.stepper, s, scope{}, dir[done:end])
			r.keepScope(dir[:end], next)
		}
		s, done = next, end+1
	}
	return s
}

// keepScope remembers a scope. The text of a path is counted with it.
func (r *Run) keepScope(dir string, s scope) {
	size := s.size() + 16 + len(dir)/8
	if r.scopesSize += size; r.scopesSize > maxScopes {
		r.scopes, r.scopesSize = map[string]scope{".": r.scopes["."]}, size
	}
	r.scopes[dir] = s
}

// maxWork bounds the work of matching names against patterns, in units: about
// half a second. A run that looks at 100,000 names with the patterns of the
// built-in resolvers takes a twentieth of it.
const maxWork = 64 << 20

// OnWork lets charge be told, until the next call of OnWork, what matching
// names against patterns costs. A unit is 5 to 10 ns of work; it is told at the
// end of a question, and every 0.1 ms of a long one. charge may panic to end
// the run: the run may then be asked for its trace and what it used, and be
// closed. nil ends it.
func (r *Run) OnWork(charge func(units int64)) { r.stepper.charge = charge }

// stepped charges for what the patterns have cost since, and ends the run when
// that has become too much.
func (r *Run) stepped() {
	r.stepper.settle()
	if r.stepper.spent && r.over == nil {
		r.over = &Error{Op: "run", Path: r.root.Path(), Errno: syscall.EIO, Reason: ReasonLimit,
			Detail: fmt.Sprintf("names were compared with patterns for %d units of work; let reads hold fewer patterns with ** and *", maxWork)}
	}
}

// protected says why nothing may be read at a link-free path.
func (r *Run) protected(s scope) Reason {
	if r.over != nil {
		return ReasonLimit // the scope may mean nothing
	}
	return r.filter.protected(s)
}
