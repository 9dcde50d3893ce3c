package edit

import "strings"

// span is where a search was found: bytes of the content, and the number of its
// first line, from 1.
type span struct{ start, end, line int }

// pattern is a search as lines, with what finds them in one pass.
type pattern struct {
	lines []line
	keys  []string // what is compared, one a line
	key   func(line) string
	// fall is by how many lines a partial match begins later when the next line
	// doesn't fit: the table of Knuth, Morris and Pratt.
	fall []int
	// anchor is the longest text of a line, and offset the line's number from 0:
	// what doesn't hold it needn't be looked at by lines. "" is everywhere.
	anchor string
	offset int
}

// Both ways to compare lines. Their ends never count: a search that is LF finds
// CRLF, and a line without an end only ever is the last one.
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

// anchored looks by lines only where the longest text is. The keys must hold the
// lines' texts as they are.
func (p *pattern) anchored() *pattern {
	for i, l := range p.lines {
		if len(l.body) > len(p.anchor) {
			p.anchor, p.offset = l.body, i
		}
	}
	return p
}

// find calls visit with all places, first to last, that don't overlap.
func (p *pattern) find(w *work, content string, visit func(span)) {
	matched, at, number, looked := 0, 0, 0, 0
	seen := -1 // up to where the anchor was looked for
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

// before is where a match begins whose anchor is at seen, and not before from.
// From one anchor to the next, no byte is looked at twice.
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

// startOf is where the last n lines of content[:end] begin.
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

// levels are the rules in the order in which they are tried once a search isn't
// in the file as it is.
var levels = []struct {
	rule Rule
	key  func(line) string
}{
	{TrailingBlanks, withoutTrailing},
	{SurroundingBlanks, withoutSurrounding},
}

// fuzzy says whether a search may be found by its lines at all: one of blanks
// alone, which doesn't even end a line, would be found in every blank line; and
// what has more lines than the file isn't there.
func fuzzy(content, search, replace string) bool {
	n := countLines(search)
	if strings.TrimSpace(search) == "" && !strings.Contains(search, "\n") {
		return false
	}
	return n <= maxLines && countLines(replace) <= maxLines && n <= countLines(content)
}

// located are the places at which a search is found, with the rule by which;
// count is how many there are, and places are the first MaxPlaces of them, of
// lines that are all to be replaced every one.
type located struct {
	rule   Rule
	places []span
	count  int
}

// locate looks for a search as it is, then by lines. Nothing found is a count of 0.
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

// exactly returns the first n places of a search that is in the content.
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
