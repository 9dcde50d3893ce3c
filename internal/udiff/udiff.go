// Package udiff compares two texts by lines and writes the differences as a unified diff,
// which programs such as patch and git apply accept.
//
// It is github.com/aymanbagabas/go-udiff with three fixes. Its Unified ends the program when
// it detects a fault of its own. After a hunk that joins two changes, its line numbers of the
// new text are too small, so that patch -R can apply a change elsewhere. And it stops looking
// for common parts after some 50 changes, and treats the rest as changed.
//
// All functions are pure. Time and memory are linear in the texts, times a bounded number of
// rounds.
package udiff

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"waymark/internal/text"
)

const (
	// contextLines is how many unchanged lines surround a change, as in diff -u.
	contextLines = 3
	// maxRounds bounds how often a part of the texts is compared again. A round finds some 50
	// changes and takes 10 ms with a text of 1 MB.
	maxRounds = 100
	// maxPiece is the number of changed lines from which a piece is worth another round.
	maxPiece = 8
)

// Diff returns a unified diff with three lines of context that turns before into after, or ""
// if they are equal. The names are in its header unchanged, quoted if they contain characters
// that would end the line.
func Diff(from, to, before, after string) string {
	if before == after {
		return ""
	}
	text, err := udiff.ToUnified(name(from), name(to), before, compare(before, after), contextLines)
	if err != nil {
		// Overlapping edits, which the library never returns. An edit that replaces
		// everything can't overlap.
		all := []udiff.Edit{{End: len(before), New: after}}
		text, _ = udiff.ToUnified(name(from), name(to), before, all, contextLines)
	}
	return renumber(text)
}

// compare returns the edits that turn before into after, in order, each of whole lines. A
// piece in which the library gave up is compared again separately.
func compare(before, after string) []udiff.Edit {
	rounds := maxRounds
	var refine func(before, after string, at int) []udiff.Edit
	refine = func(before, after string, at int) []udiff.Edit {
		rounds--
		var edits []udiff.Edit
		for _, e := range udiff.Lines(before, after) {
			old := before[e.Start:e.End]
			whole := len(old) == len(before) && len(e.New) == len(after)
			if rounds > 0 && !whole && strings.Count(old, "\n") > maxPiece && strings.Count(e.New, "\n") > maxPiece {
				edits = append(edits, refine(old, e.New, at+e.Start)...)
				continue
			}
			e.Start, e.End = at+e.Start, at+e.End
			edits = append(edits, e)
		}
		return edits
	}
	return refine(before, after, 0)
}

var head = text.Lazy(`^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@$`)

// renumber corrects the position of hunks in the new text: that in the old one plus what all
// previous hunks have added.
func renumber(diff string) string {
	var b strings.Builder
	b.Grow(len(diff))
	added := 0
	for line := range strings.Lines(diff) {
		// Lines of the texts have a mark before them, so this is a header.
		m := head().FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if m == nil {
			b.WriteString(line)
			continue
		}
		start, old, count := number(m[1]), size(m[2]), size(m[4])
		if m[2] == "0" {
			start++ // a hunk that adds to nothing is placed before line 1
		}
		begin := start + added
		if m[4] == "0" {
			begin--
		}
		fmt.Fprintf(&b, "@@ -%s +%d%s @@\n", span(m[1], m[2]), begin, after(m[4]))
		added += count - old
	}
	return b.String()
}

func span(start, count string) string { return start + after(count) }

func after(count string) string {
	if count == "" {
		return ""
	}
	return "," + count
}

// size returns how many lines a hunk has: one if there is no number.
func size(count string) int {
	if count == "" {
		return 1
	}
	return number(count)
}

func number(digits string) int {
	n, _ := strconv.Atoi(digits) // the library has printed it
	return n
}

// name formats a name in the header of a diff.
func name(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return strconv.Quote(s)
	}
	return s
}
