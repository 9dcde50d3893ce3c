package vfs

import (
	"errors"
	"fmt"
)

// What patterns may cost together: those of all resolvers of a module, those
// that one resolver sees a root by, the operator's that narrow it, or those
// that exclude. The largest real module has a few hundred states.
const (
	// maxAlternatives bounds what braces can multiply to.
	maxAlternatives = 2048
	// maxStates bounds the nodes of the patterns' trie: one for each different
	// beginning of a pattern that ends at a slash. A step visits each of them at
	// most once, which takes 0.1 ms.
	maxStates = 4096
	// maxSegmentBytes bounds the names in patterns, each counted once where
	// several patterns begin with the same. Together with maxStates it keeps
	// the patterns of a module below 1 MiB of memory.
	maxSegmentBytes = 64 << 10
	// maxExpanded bounds the bytes that expanding braces goes over, since
	// braces of one alternative multiply nothing, and yet take time.
	maxExpanded = 1 << 20
)

// Allowance counts what patterns cost that are used together, and bounds it:
// matching takes time and memory by what patterns expand to, which has little
// to do with their length. The zero value has used nothing. It isn't safe for
// concurrent use.
type Allowance struct {
	// patterns are counted after braces are expanded, bytes are those of segments.
	patterns, states, bytes, expanded int
}

// Take counts a list of patterns, which are matched together. The error, a
// *PatternError, names the one that is too much. What else may be wrong with a
// pattern is for View.Compile to say.
func (a *Allowance) Take(field string, patterns []string) error {
	b := newTrieBuilder()
	err := a.insertAll(b, field, patterns, 0)
	if e, ok := errors.AsType[*PatternError](err); ok && e.TooMuch {
		return err
	}
	return nil
}

// insertAll parses patterns and adds them to a trie, each followed by suffix.
// It passes over patterns that are wrong, and returns the first error.
func (a *Allowance) insertAll(b *trieBuilder, field string, patterns []string, g group, suffix ...string) (first error) {
	for _, p := range patterns {
		err := a.insert(b, field, p, g, suffix)
		if a.over() {
			return a.exceeded(field, p)
		}
		if first == nil {
			first = err
		}
	}
	return first
}

func (a *Allowance) insert(b *trieBuilder, field, pattern string, g group, suffix []string) error {
	size, bytes := len(b.nodes), b.bytes
	list, err := a.alternatives(field, pattern)
	for i := 0; i < len(list) && err == nil && !a.over(); i++ {
		segments, problem := splitSegments(list[i])
		if problem != "" {
			err = &PatternError{Field: field, Pattern: pattern, Problem: problem}
			break
		}
		b.insert(append(segments, suffix...), g)
		a.states, a.bytes = a.states+len(b.nodes)-size, a.bytes+b.bytes-bytes
		size, bytes = len(b.nodes), b.bytes
	}
	return err
}

func (a *Allowance) over() bool {
	return a.patterns > maxAlternatives || a.expanded > maxExpanded || a.states > maxStates || a.bytes > maxSegmentBytes
}

// exceeded says which pattern was too much.
func (a *Allowance) exceeded(field, pattern string) error {
	e := &PatternError{Field: field, Pattern: pattern, TooMuch: true}
	switch {
	case a.patterns > maxAlternatives:
		e.Problem = fmt.Sprintf("makes the braces expand to more than %d patterns in all; write fewer alternatives, or * instead of them", maxAlternatives)
	case a.expanded > maxExpanded:
		e.Problem = fmt.Sprintf("has braces that take more than %d KiB to expand, in all; nest and repeat them less", maxExpanded>>10)
	case a.states > maxStates:
		e.Problem = fmt.Sprintf("brings the patterns to more than %d names and stars to compare, in all; write fewer or shorter ones, and ** instead of naming what lies below", maxStates)
	default:
		e.Problem = fmt.Sprintf("brings the names in the patterns to more than %d KiB in all; write fewer or shorter ones", maxSegmentBytes>>10)
	}
	return e
}
