package vfs

import (
	"errors"
	"fmt"
)

// Bounds on what patterns may cost together. Each applies to one group of patterns: those of
// all resolvers of a module, those by which one resolver sees a root, the operator's
// restrictions, or the excludes. The largest real module needs a few hundred states.
const (
	// maxAlternatives bounds the patterns that braces expand to.
	maxAlternatives = 2048
	// maxStates bounds the nodes of the patterns' trie: one for each distinct prefix that
	// ends at a slash. A step visits each node at most once, which takes 0.1 ms.
	maxStates = 4096
	// maxSegmentBytes bounds the bytes of the names in patterns; shared prefixes count once.
	// Together with maxStates it keeps the patterns of a module below 1 MiB of memory.
	maxSegmentBytes = 64 << 10
	// maxExpanded bounds the bytes scanned while expanding braces. Braces with one
	// alternative multiply nothing, but still take time.
	maxExpanded = 1 << 20
)

// Allowance counts and bounds the cost of patterns that are used together. Matching takes
// time and memory by what patterns expand to, not by their length. The zero value has used
// nothing. It isn't safe for concurrent use.
type Allowance struct {
	// patterns counts them after brace expansion, bytes the bytes of their segments.
	patterns, states, bytes, expanded int
}

// Take counts a list of patterns that are matched together. The error, a *PatternError, names
// the pattern that exceeds the allowance. View.Compile reports other faults.
func (a *Allowance) Take(field string, patterns []string) error {
	b := newTrieBuilder()
	err := a.insertAll(b, field, patterns, 0)
	if e, ok := errors.AsType[*PatternError](err); ok && e.TooMuch {
		return err
	}
	return nil
}

// insertAll parses patterns and adds them to a trie, each followed by suffix. It skips
// invalid patterns, and returns the first error.
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

// exceeded returns the error for a pattern that exceeds the allowance.
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
