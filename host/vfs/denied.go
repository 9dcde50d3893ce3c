package vfs

import (
	"errors"
	"slices"
)

// Denial is a path that a guest asked for and was refused.
type Denial struct {
	Path string
	// Target is the link-free path that it leads to, if that is the cause.
	Target string
	Reason Reason
}

// maxDenials is enough to explain a run to a person.
const maxDenials = 100

// Denied returns the refusals in order, without repetitions; at most 100 entries.
func (r *Run) Denied() []Denial {
	if r.units.open == nil {
		return slices.Clone(r.denied)
	}
	list := slices.Clone(r.units.open.outer.denied)
	for _, d := range r.denied {
		list = appendDenial(list, d)
	}
	return list
}

// HiddenNames counts the names in listed directories that weren't shown because they aren't
// UTF-8.
func (r *Run) HiddenNames() int {
	type listed struct{ path, as string }
	seen := make(map[listed]bool)
	n := 0
	for d := range r.observed() {
		if d.Unshown > 0 && !seen[listed{d.Path, d.As}] {
			seen[listed{d.Path, d.As}] = true
			n += d.Unshown
		}
	}
	return n
}

// deny returns the error for a failure, and records it if it is a refusal.
func (r *Run) deny(v verb, path string, f failure) *Error {
	s := f.reason.sentinel()
	if errors.Is(s, ErrHidden) || errors.Is(s, ErrEscape) || errors.Is(s, ErrManyNames) {
		r.denied = appendDenial(r.denied, Denial{Path: path, Target: f.at, Reason: f.reason})
	}
	return f.error(v, path)
}

func appendDenial(list []Denial, d Denial) []Denial {
	if len(list) < maxDenials && !slices.Contains(list, d) {
		list = append(list, d)
	}
	return list
}
