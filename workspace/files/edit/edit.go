package edit

import (
	"strings"

	"waymark/agentapi"
	"waymark/internal/udiff"
)

// Limits of one call.
const (
	// MaxSize is how large a file may be or become, in bytes. What people and
	// models edit by searching has some kilobytes; at this size an edit takes a
	// tenth of a second.
	MaxSize = 64 << 20
	// MaxPlaces is how many places an [Applied] tells, and an [Error] the lines of.
	MaxPlaces = 100
	// maxLines is how many lines a search or a replacement may have to be
	// matched by lines. A longer one is only looked for as it is.
	maxLines = 20_000
	// maxWork bounds all edits of a call together, in lines looked at and 64
	// bytes copied: 1,000 edits by lines of a file of 1 MB need half of it, and
	// all of it takes some seconds.
	maxWork = 1 << 28
)

// Rule says why a search fits where it was applied.
type Rule string

// The rules, in the order in which they are tried.
const (
	Exact             Rule = "exact"              // byte by byte
	TrailingBlanks    Rule = "trailing blanks"    // by lines, without blanks and line endings behind the text
	SurroundingBlanks Rule = "surrounding blanks" // by lines, without those before the text, too
)

// Applied says what was made of an edit.
type Applied struct {
	Rule Rule
	// Count is at how many places it was made: 1 without ReplaceAll.
	Count int
	// Places are the first MaxPlaces of them.
	Places []Place
}

// Place is where an edit was made, in the content as the edit found it: the number
// of the first line, from 1, the bytes that were taken out, and what was put in, as
// a length in bytes.
type Place struct{ Line, Start, End, New int }

// Apply makes edits, in order, each on the result of the one before. It returns
// the result and for each edit what was made of it. If one can't be made the error
// is an [*Error], and there is no result.
func Apply(content string, edits []agentapi.Edit) (string, []Applied, error) {
	return apply(&work{}, content, edits)
}

func apply(w *work, content string, edits []agentapi.Edit) (string, []Applied, error) {
	all := make([]Applied, 0, len(edits))
	before := ending(content)
	for i, e := range edits {
		result, applied, err := one(w, content, before, e)
		if err != nil {
			err.Edit, err.edits = i, len(edits)
			return "", nil, err
		}
		content = result
		all = append(all, applied)
	}
	return content, all, nil
}

// one makes one edit. before is the ending that the file had at first.
func one(w *work, content, before string, e agentapi.Edit) (string, Applied, *Error) {
	switch {
	case e.Search == "":
		return "", Applied{}, &Error{Err: ErrEmptySearch}
	case len(content) > MaxSize || w.tooMuch():
		return "", Applied{}, &Error{Err: ErrTooLarge}
	}
	e.Search, e.Replace = endAs(w, content, before, e.Search, e.Replace)
	found := locate(w, content, e.Search, e.Replace, e.ReplaceAll)
	switch {
	case found.count == 0:
		return "", Applied{}, &Error{Err: ErrNotFound, Hints: hints(w, content, e)}
	case found.count > 1 && !e.ReplaceAll:
		return "", Applied{}, ambiguous(found)
	case found.rule == Exact:
		return replaceExact(w, content, e, found)
	}
	return replaceLines(w, content, e, found)
}

// replaceExact is strings.ReplaceAll, or strings.Replace with what is there once.
func replaceExact(w *work, content string, e agentapi.Edit, found located) (string, Applied, *Error) {
	if size := len(content) + found.count*(len(e.Replace)-len(e.Search)); size > MaxSize {
		return "", Applied{}, &Error{Err: ErrTooLarge}
	}
	result := strings.ReplaceAll(content, e.Search, e.Replace)
	w.spend(found.count, len(content)+len(result))
	applied := Applied{Rule: Exact, Count: found.count}
	for _, s := range found.places {
		applied.Places = append(applied.Places, Place{Line: s.line, Start: s.start, End: s.end, New: len(e.Replace)})
	}
	return result, applied, nil
}

// replaceLines puts spliced lines into the place of those that were found.
func replaceLines(w *work, content string, e agentapi.Edit, found located) (string, Applied, *Error) {
	s := newSplicer(w, content, e)
	applied := Applied{Rule: found.rule, Count: found.count}
	var b strings.Builder
	b.Grow(len(content) + len(e.Replace))
	at := 0
	for _, place := range found.places {
		b.WriteString(content[at:place.start])
		before := b.Len()
		s.splice(&b, content[place.start:place.end])
		if b.Len() > MaxSize {
			return "", Applied{}, &Error{Err: ErrTooLarge}
		}
		if len(applied.Places) < MaxPlaces {
			applied.Places = append(applied.Places,
				Place{Line: place.line, Start: place.start, End: place.end, New: b.Len() - before})
		}
		at = place.end
	}
	b.WriteString(content[at:])
	if b.Len() > MaxSize {
		return "", Applied{}, &Error{Err: ErrTooLarge}
	}
	w.spend(0, len(content)+b.Len())
	return b.String(), applied, nil
}

// work counts what is done, so that it can be bounded whatever the machine's
// speed is.
type work struct{ done int }

// spend counts lines that were looked at, and bytes that were searched or copied.
func (w *work) spend(lines, bytes int) { w.done += 1 + lines + bytes/64 }

func (w *work) tooMuch() bool { return w.done > maxWork }

// Diff returns what has changed as a unified diff with three lines of context,
// "" where nothing has. The path stands in its head as it is given.
func Diff(path, before, after string) string { return udiff.Diff(path, path, before, after) }
