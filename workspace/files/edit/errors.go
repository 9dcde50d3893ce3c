package edit

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Reasons why an edit can't be made.
var (
	ErrEmptySearch = errors.New("search string must not be empty")
	ErrNotFound    = errors.New("search string not found")
	ErrAmbiguous   = errors.New("search string matches several occurrences")
	ErrTooLarge    = errors.New("the edits are too much for one call")
	ErrSame        = errors.New("search and replace are the same: nothing would change")
	ErrNotText     = errors.New("only text is edited by searching, in UTF-8 or another encoding that has ASCII as it is")
)

// Error says which edit can't be made and why. Its text has line numbers but no content of
// the file.
type Error struct {
	// Edit is the edit's index.
	Edit int
	// Err is one of ErrEmptySearch, ErrNotFound, ErrAmbiguous, ErrTooLarge, ErrSame and
	// ErrNotText.
	Err error
	// For ErrAmbiguous: Count is the number of matches, Rule how they match, and Lines the
	// first lines of the first MaxPlaces, from 1.
	Count int
	Rule  Rule
	Lines []int
	// Hints, for ErrNotFound, say what may be meant, the likeliest first; for ErrNotText, what
	// the file is.
	Hints []string

	edits int // the number of edits in the call
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Error is one line.
func (e *Error) Error() string {
	prefix := ""
	if e.edits > 1 {
		prefix = fmt.Sprintf("edit %d of %d: ", e.Edit+1, e.edits)
	}
	switch {
	case errors.Is(e.Err, ErrAmbiguous):
		how := ""
		if e.Rule != Exact {
			how = " but for blanks at the ends of lines"
		}
		return fmt.Sprintf("%ssearch string matches %d occurrences%s, on %s: add lines around the one that is meant, or set replace_all",
			prefix, e.Count, how, onLines(e.Lines, e.Count))
	case len(e.Hints) > 0:
		return prefix + e.Err.Error() + ": " + strings.Join(e.Hints, "; ")
	case errors.Is(e.Err, ErrTooLarge):
		return fmt.Sprintf("%s%v: make fewer at once; a file may have %d MiB", prefix, e.Err, MaxSize>>20)
	}
	return prefix + e.Err.Error()
}

func ambiguous(found located) *Error {
	e := &Error{Err: ErrAmbiguous, Count: found.count, Rule: found.rule}
	for _, s := range found.places {
		e.Lines = append(e.Lines, s.line)
	}
	return e
}

// maxListed is how many line numbers a text lists.
const maxListed = 10

// onLines lists the lines of the first of count matches.
func onLines(numbers []int, count int) string {
	listed := slices.Compact(slices.Clone(numbers[:min(len(numbers), maxListed)]))
	more := count - min(len(numbers), maxListed)
	words := make([]string, 0, len(listed)+1)
	for _, n := range listed {
		words = append(words, strconv.Itoa(n))
	}
	if more > 0 {
		words = append(words, fmt.Sprintf("%d more", more))
	}
	last := len(words) - 1
	if last == 0 {
		return "line " + words[0]
	}
	return "lines " + strings.Join(words[:last], ", ") + " and " + words[last]
}

// times formats a number of times.
func times(n int) string {
	if n == 1 {
		return "once"
	}
	return strconv.Itoa(n) + " times"
}
