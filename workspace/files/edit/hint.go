package edit

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"waymark/agentapi"
)

// hints say what a search without a match may mean. They take some passes over the file and
// quote nothing but a single character, as its number.
func hints(w *work, content string, e agentapi.Edit) []string {
	var all []string
	if h := swapped(w, content, e); h != "" {
		all = append(all, h)
	}
	if h := nearly(w, content, e.Search); h != "" {
		return append(all, h)
	}
	if h := closest(w, content, e.Search); h != "" {
		all = append(all, h)
	}
	return all
}

// minSwapped is how many bytes of text a replacement needs for its presence in the file to
// mean something.
const minSwapped = 3

// swapped says where the replacement is found.
func swapped(w *work, content string, e agentapi.Edit) string {
	if len(strings.TrimSpace(e.Replace)) < minSwapped {
		return ""
	}
	found := locate(w, content, e.Replace, e.Search, false)
	if found.count == 0 {
		return ""
	}
	var numbers []int
	for _, s := range found.places {
		numbers = append(numbers, s.line)
	}
	return fmt.Sprintf("the replacement is there, on %s: search and replace may be swapped, or the edit may have been made already",
		onLines(numbers, found.count))
}

// nearly says where the search would match if it ignored repetitions of characters, the
// case of letters, blanks within lines, or what only looks alike.
func nearly(w *work, content, search string) string {
	n := countLines(search)
	if n > maxLines || n > countLines(content) || strings.TrimSpace(search) == "" {
		return ""
	}
	parts := lines(search)
	for _, way := range []struct {
		key  func(line) string
		tell func(at span) string
	}{
		{withoutSurrounding, func(at span) string {
			return fmt.Sprintf("line %d has it, but with other text before or after it in the line", at.line)
		}},
		{func(l line) string { return collapse(l.body) }, func(at span) string { return repeated(content, parts, at) }},
		{func(l line) string { return folded(l.body) }, func(at span) string { return lookAlike(content, parts, at) }},
		{func(l line) string { return strings.ToLower(l.body) }, func(at span) string {
			return fmt.Sprintf("it is there with other upper and lower case, from line %d on", at.line)
		}},
		{func(l line) string { return strings.Map(withoutBlanks, l.body) }, func(at span) string {
			return fmt.Sprintf("it is there with other blanks within a line, from line %d on", at.line)
		}},
	} {
		told := ""
		see := func(at span) {
			if told == "" {
				told = way.tell(at)
			}
		}
		if n == 1 {
			within(w, content, parts[0], way.key, see)
		} else {
			compile(parts, way.key).find(w, content, see)
		}
		w.spend(len(parts), len(search))
		if told != "" {
			return told
		}
	}
	return ""
}

func withoutBlanks(r rune) rune {
	if unicode.IsSpace(r) {
		return -1
	}
	return r
}

// within finds a single line as part of lines.
func within(w *work, content string, part line, key func(line) string, visit func(span)) {
	at, number, want := 0, 0, key(part)
	for rest := content; rest != "" && want != ""; {
		var l line
		l, rest = next(rest)
		number++
		if strings.Contains(key(l), want) {
			visit(span{start: at, end: at + l.size(), line: number})
		}
		at += l.size()
	}
	w.spend(number, 2*len(content))
}

// collapse reduces each repeated character to one.
func collapse(s string) string {
	i := 1
	for i < len(s) && s[i] != s[i-1] && s[i] < utf8.RuneSelf {
		i++
	}
	if i >= len(s) {
		return s
	}
	var b strings.Builder
	runs(s, func(char string, _ int) { b.WriteString(char) })
	return b.String()
}

// runs calls visit with each character and the number of its repetitions there.
func runs(s string, visit func(char string, n int)) {
	for s != "" {
		_, size := utf8.DecodeRuneInString(s)
		char, n := s[:size], 0
		for strings.HasPrefix(s, char) {
			s = s[size:]
			n++
		}
		visit(char, n)
	}
}

// repeated says which character is repeated differently in the lines from at on.
func repeated(content string, search []line, at span) string {
	number := at.line
	for rest := content[at.start:at.end]; rest != ""; number++ {
		var l line
		l, rest = next(rest)
		s := search[number-at.line]
		char, there, wanted := difference(l.body, s.body, len(search) == 1)
		if there != wanted {
			return fmt.Sprintf("line %d has %s %s in a row where the search string has it %s",
				number, named(char), times(there), times(wanted))
		}
	}
	return ""
}

// difference returns the first character that is repeated differently in a search and in a
// line of the file. A part of a line may begin and end within a repetition.
func difference(line, search string, part bool) (char string, there, wanted int) {
	type run struct {
		char string
		n    int
	}
	of := func(s string) (all []run) {
		runs(s, func(char string, n int) { all = append(all, run{char, n}) })
		return all
	}
	in, want := of(line), of(search)
	if part {
		for i := strings.Index(collapse(line), collapse(search)); i > 0 && len(in) > 0; in = in[1:] {
			i -= len(in[0].char)
		}
	}
	for i, r := range want {
		if i >= len(in) || in[i].char != r.char {
			return "", 0, 0 // bytes that aren't UTF-8, which collapse to another character
		}
		edge := part && (i == 0 || i == len(want)-1)
		if r.n > in[i].n || r.n < in[i].n && !edge {
			return r.char, in[i].n, r.n
		}
	}
	return "", 0, 0
}

// named is a character as its number. It omits letters and digits, which may belong to a
// secret.
func named(char string) string {
	r, _ := utf8.DecodeRuneInString(char)
	if r == utf8.RuneError || unicode.IsLetter(r) || unicode.IsDigit(r) {
		return "a character"
	}
	return fmt.Sprintf("the character %U", r)
}

const (
	// maxSame is how many of the search's lines with the same text count for the closest
	// place: lines like a hundred closing braces say nothing.
	maxSame = 8
	// maxVotes limits the places that are compared.
	maxVotes = 1 << 20
)

// closest says where most lines of a search match in a row, and which line doesn't.
func closest(w *work, content, search string) string {
	n := countLines(search)
	if n < 2 || n > maxLines {
		return ""
	}
	parts := lines(search)
	where := map[string][]int{}
	for i, l := range parts {
		if !l.blank() && len(where[l.body]) < maxSame {
			where[l.body] = append(where[l.body], i)
		}
	}
	best, at, number, voted := int32(0), 0, 0, 0
	// Indexed by the line at which the search would begin, up to n lines before the file.
	votes := make([]int32, countLines(content)+n)
	for rest := content; rest != "" && voted < maxVotes; number++ {
		var l line
		l, rest = next(rest)
		for _, i := range where[l.body] {
			start := number - i
			voted++
			if votes[start+n]++; votes[start+n] > best {
				best, at = votes[start+n], start
			}
		}
	}
	w.spend(number+len(parts)+voted/4, len(content)+len(search))
	if best == 0 {
		return fmt.Sprintf("none of its %d lines is in the file", n)
	}
	return differs(content, parts, at, int(best))
}

// differs describes the closest place, whose first line has the index at, which may be
// before the file.
func differs(content string, search []line, at, same int) string {
	first, last := max(at, 0)+1, min(at+len(search), countLines(content))
	where := fmt.Sprintf("it is closest to lines %d to %d", first, last)
	if first == last {
		where = fmt.Sprintf("it is closest to line %d", first)
	}
	number := 0
	for rest := content; rest != ""; number++ {
		var l line
		l, rest = next(rest)
		if i := number - at; i >= 0 && i < len(search) && search[i].body != l.body {
			return fmt.Sprintf("%s, where %d of its %d lines can be found: line %d of the file isn't line %d of the search string",
				where, same, len(search), number+1, i+1)
		}
	}
	return where + ", but has more lines than the file has there"
}
