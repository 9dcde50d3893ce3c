package edit

import (
	"strings"

	"waymark/agentapi"
	"waymark/internal/udiff"
)

// Limits of one call.
const (
	// MaxSize is how large a file may be or become, in bytes. Files edited by searching
	// usually have some kilobytes; at this size an edit takes a tenth of a second.
	MaxSize = 64 << 20
	// MaxPlaces is how many places an [Applied] lists, and how many lines an [Error].
	MaxPlaces = 100
	// maxLines is how many lines a search or a replacement may have to be matched by lines.
	// A longer one is only matched exactly.
	maxLines = 20_000
	// maxWork limits all edits of a call together, in lines compared and blocks of 64 bytes
	// copied. 1,000 edits by lines of a 1 MB file need half of it; all of it takes some
	// seconds.
	maxWork = 1 << 28
)

// Rule is the rule by which a search matched.
type Rule string

// The rules, in the order they are tried.
const (
	Exact             Rule = "exact"              // byte by byte
	TrailingBlanks    Rule = "trailing blanks"    // by lines, without trailing blanks and line endings
	SurroundingBlanks Rule = "surrounding blanks" // by lines, also without leading blanks
)

// Applied is the result of an edit.
type Applied struct {
	Rule Rule
	// Count is the number of places changed: 1 without ReplaceAll.
	Count int
	// Places are the first MaxPlaces of them.
	Places []Place
}

// Place is where an edit was made, in the content as the edit found it: the number of the
// first line, from 1, the bytes removed, and the length of the insertion in bytes.
type Place struct{ Line, Start, End, New int }

// Apply makes edits in order, each on the result of the one before. It returns the content
// and the result of each edit. If an edit can't be made, it returns an [*Error] and no
// content.
func Apply(content string, edits []agentapi.Edit) (string, []Applied, error) {
	return apply(&work{}, content, edits)
}

func apply(w *work, content string, edits []agentapi.Edit) (string, []Applied, error) {
	all := make([]Applied, 0, len(edits))
	if what := notText(content); what != "" && len(edits) > 0 {
		return "", nil, &Error{Err: ErrNotText, Hints: []string{what}, edits: len(edits)}
	}
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

// one makes one edit. before is the line ending that the file had at first.
func one(w *work, content, before string, e agentapi.Edit) (string, Applied, *Error) {
	switch {
	case e.Search == "":
		return "", Applied{}, &Error{Err: ErrEmptySearch}
	case len(content) > MaxSize || w.tooMuch():
		return "", Applied{}, &Error{Err: ErrTooLarge}
	}
	e.Search, e.Replace = endAs(w, content, before, e.Search, e.Replace)
	if e.Search == e.Replace {
		return "", Applied{}, &Error{Err: ErrSame}
	}
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

// replaceExact is strings.ReplaceAll, or strings.Replace for the only match.
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

// replaceLines replaces the lines found with spliced ones.
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

// work counts steps, so that the limit doesn't depend on the machine's speed.
type work struct{ done int }

// spend counts lines compared, and bytes searched or copied.
func (w *work) spend(lines, bytes int) { w.done += 1 + lines + bytes/64 }

func (w *work) tooMuch() bool { return w.done > maxWork }

// Diff returns the change as a unified diff with three lines of context, or "" if there is
// none. Its header has the path as given.
func Diff(path, before, after string) string { return udiff.Diff(path, path, before, after) }
