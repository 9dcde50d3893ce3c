// Package udiff compares two texts by lines and writes what differs as a
// unified diff, which programs like patch and git apply take.
//
// It is github.com/aymanbagabas/go-udiff with three things mended: its Unified
// ends the program where it finds a fault of its own; the numbers of the lines of
// the new text in its heads are too small after a hunk that has joined two
// changes, so that what is taken back with patch -R can land elsewhere; and it
// stops looking for what two texts have in common after some 50 changes, and calls
// the rest changed from there to the end.
//
// All functions are pure. Time and memory are linear in the texts, times a bounded
// number of rounds.
package udiff

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"waymark/internal/text"
)

const (
	// contextLines is how many lines that haven't changed stand around a change:
	// what diff -u has.
	contextLines = 3
	// maxRounds bounds how often a part of the texts is compared once more. A
	// round finds some 50 changes and takes 10 ms with a text of 1 MB.
	maxRounds = 100
	// maxPiece is from how many changed lines on a piece is worth another round.
	maxPiece = 8
)

// Diff returns what has to be done with before to have after: a unified diff with
// three lines of context, "" where there is nothing to do. The names stand in its
// head as they are, in quotes where they hold characters that would end the line.
func Diff(from, to, before, after string) string {
	if before == after {
		return ""
	}
	text, err := udiff.ToUnified(name(from), name(to), before, compare(before, after), contextLines)
	if err != nil {
		// Edits that overlap, which the library never returns. One that replaces
		// everything can't.
		all := []udiff.Edit{{End: len(before), New: after}}
		text, _ = udiff.ToUnified(name(from), name(to), before, all, contextLines)
	}
	return renumber(text)
}

// compare returns the edits that make after of before, in order, each of whole
// lines. A piece in which the library gave up is compared again, by itself.
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

// renumber corrects where a hunk stands in the new text: as far behind its place
// in the old one as all hunks before it have added.
func renumber(diff string) string {
	var b strings.Builder
	b.Grow(len(diff))
	added := 0
	for line := range strings.Lines(diff) {
		// Lines of the texts have a mark before them, so this is a head.
		m := head().FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if m == nil {
			b.WriteString(line)
			continue
		}
		start, old, count := number(m[1]), size(m[2]), size(m[4])
		if m[2] == "0" {
			start++ // what adds to nothing is said to stand before line 1
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

// size is how many lines a hunk has: one where nothing is said.
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

// name is a name in the head of a diff.
func name(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return strconv.Quote(s)
	}
	return s
}
