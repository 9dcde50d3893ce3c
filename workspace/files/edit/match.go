package edit

import "strings"

// span is a match: bytes of the content, and the number of its first line, from 1.
type span struct{ start, end, line int }

// pattern is a search by lines, prepared for one pass.
type pattern struct {
	lines []line
	keys  []string // what is compared, one per line
	key   func(line) string
	// fall is by how many lines a partial match begins later if the next line doesn't
	// match: the table of Knuth, Morris and Pratt.
	fall []int
	// anchor is the longest text of a line, and offset that line's index. Content without
	// it needn't be compared by lines. "" is everywhere.
	anchor string
	offset int
}

// The two ways to compare lines. Line ends never count: a search with LF finds CRLF, and a
// line without an end can only be the last.
func withoutTrailing(l line) string    { return l.text }
func withoutSurrounding(l line) string { return l.body }

func compile(search []line, key func(line) string) *pattern {
	p := &pattern{lines: search, key: key, keys: make([]string, len(search)), fall: make([]int, len(search)+1)}
	for i, l := range search {
		p.keys[i] = key(l)
	}
	for i, n := 1, 0; i < len(p.keys); i++ {
		for n > 0 && p.keys[i] != p.keys[n] {
			n = p.fall[n]
		}
		if p.keys[i] == p.keys[n] {
			n++
		}
		p.fall[i+1] = n
	}
	return p
}

// anchored compares lines only near the longest text. The keys must hold the lines' texts
// literally.
func (p *pattern) anchored() *pattern {
	for i, l := range p.lines {
		if len(l.body) > len(p.anchor) {
			p.anchor, p.offset = l.body, i
		}
	}
	return p
}

// find calls visit with all matches in order that don't overlap.
func (p *pattern) find(w *work, content string, visit func(span)) {
	matched, at, number, looked := 0, 0, 0, 0
	seen := -1 // the anchor was searched up to here
	for at < len(content) {
		if matched == 0 && at > seen {
			i := strings.Index(content[at:], p.anchor)
			if i < 0 {
				break
			}
			seen = at + i
			start := p.before(content, at, seen)
			number += strings.Count(content[at:start], "\n")
			at = start
		}
		l, _ := next(content[at:])
		at += l.size()
		number++
		looked++
		k := p.key(l)
		for matched > 0 && k != p.keys[matched] {
			matched = p.fall[matched]
		}
		if k == p.keys[matched] {
			matched++
		}
		if matched == len(p.keys) {
			visit(span{start: startOf(content, at, len(p.keys)), end: at, line: number - matched + 1})
			matched = 0
		}
	}
	w.spend(looked, len(content))
}

// before returns where a match begins whose anchor is at seen, but not before from. Between
// two anchors no byte is read twice.
func (p *pattern) before(content string, from, seen int) int {
	at := seen
	for range p.offset + 1 {
		i := strings.LastIndexByte(content[from:at], '\n')
		if i < 0 {
			return from
		}
		at = from + i
	}
	return at + 1
}

// startOf returns where the last n lines of content[:end] begin.
func startOf(content string, end, n int) int {
	at := end
	if at > 0 && content[at-1] == '\n' {
		at--
	}
	for ; n > 1; n-- {
		at = strings.LastIndexByte(content[:at], '\n')
	}
	return strings.LastIndexByte(content[:at], '\n') + 1
}

// levels are the rules in the order they are tried if a search has no exact match.
var levels = []struct {
	rule Rule
	key  func(line) string
}{
	{TrailingBlanks, withoutTrailing},
	{SurroundingBlanks, withoutSurrounding},
}

// fuzzy reports whether a search may be matched by lines at all. One of only blanks that
// doesn't even end a line would match every blank line, and one with more lines than the
// file can't match.
func fuzzy(content, search, replace string) bool {
	n := countLines(search)
	if strings.TrimSpace(search) == "" && !strings.Contains(search, "\n") {
		return false
	}
	return n <= maxLines && countLines(replace) <= maxLines && n <= countLines(content)
}

// located are the places where a search matches, and the rule by which it does. count is
// the number of all, and places has the first MaxPlaces; if lines are to be replaced
// everywhere, it has all.
type located struct {
	rule   Rule
	places []span
	count  int
}

// locate searches exactly, then by lines. No match is a count of 0.
func locate(w *work, content, search, replace string, all bool) located {
	found := located{rule: Exact, count: strings.Count(content, search)}
	w.spend(1, len(content))
	if found.count > 0 {
		found.places = exactly(w, content, search, min(MaxPlaces, found.count))
		return found
	}
	if !fuzzy(content, search, replace) {
		return found
	}
	parts := lines(search)
	w.spend(len(parts), len(search))
	for _, level := range levels {
		found = located{rule: level.rule}
		compile(parts, level.key).anchored().find(w, content, func(s span) {
			if found.count++; all || found.count <= MaxPlaces {
				found.places = append(found.places, s)
			}
		})
		if found.count > 0 {
			break
		}
	}
	return found
}

// exactly returns the first n places of a search that the content has.
func exactly(w *work, content, search string, n int) []span {
	places := make([]span, 0, n)
	at, number := 0, 1
	for range n {
		i := strings.Index(content[at:], search)
		number += strings.Count(content[at:at+i], "\n")
		at += i
		places = append(places, span{start: at, end: at + len(search), line: number})
		number += strings.Count(search, "\n")
		at += len(search)
	}
	w.spend(n, at)
	return places
}
