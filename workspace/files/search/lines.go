package search

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"

	"waymark/agentapi"
	"waymark/internal/text"
)

const (
	// maxContext limits the lines of context on each side of a match.
	maxContext = 20
	// maxShown limits what is shown of a line, in bytes: a minified file has lines of megabytes.
	maxShown = 400
	// maxTexts limits all lines of an answer, maxListed its files.
	maxTexts  = 32 << 10
	maxListed = 200
	// sniffed is how much of a file tells text from anything else, in bytes, as in git.
	sniffed = 8000
)

// Pattern is what lines are searched for.
type Pattern struct {
	literal []byte         // a text, if it is to be matched exactly
	re      *regexp.Regexp // otherwise
	context int
	count   bool // lines aren't shown
}

// NewPattern checks what a search asks for.
func NewPattern(ask *agentapi.SearchFiles) (*Pattern, error) {
	p := &Pattern{context: ask.Context, count: ask.Output == agentapi.SearchOutputFiles}
	switch {
	case ask.Pattern == "":
		return nil, errors.New("a pattern is needed")
	case ask.Context < 0 || ask.Context > maxContext:
		return nil, fmt.Errorf("context is from 0 to %d lines", maxContext)
	case ask.Output != "" && ask.Output != agentapi.SearchOutputLines && !p.count:
		return nil, fmt.Errorf("output is %q: write lines or files", text.Truncate(ask.Output, 40))
	}
	if err := checkQuery("pattern", ask.Pattern); err != nil {
		return nil, err
	}
	switch {
	case !ask.Regexp && strings.ContainsAny(ask.Pattern, "\r\n"):
		return nil, errOneLine
	case !ask.Regexp && !ask.IgnoreCase:
		p.literal = []byte(ask.Pattern)
		return p, nil
	}
	expr, flags := ask.Pattern, syntax.Perl&^syntax.OneLine
	if !ask.Regexp {
		expr = regexp.QuoteMeta(expr)
	}
	if ask.IgnoreCase {
		flags |= syntax.FoldCase
	}
	parsed, err := syntax.Parse(expr, flags)
	if err == nil {
		if err = withinLine(parsed); err != nil {
			return nil, err
		}
		p.re, err = regexp.Compile(parsed.String())
	}
	if bad := (*syntax.Error)(nil); errors.As(err, &bad) {
		return nil, fmt.Errorf("the pattern is no RE2 expression: %s: %.80q", bad.Code, bad.Expr)
	}
	return p, err
}

var errOneLine = errors.New("a pattern matches within one line: it has no line break, and instead of \\A and \\z there are ^ and $")

// withinLine restricts an expression to matches without a line break, so that a search takes
// linear time, and a match is in one line.
func withinLine(re *syntax.Regexp) error {
	switch re.Op { //nolint:exhaustive // nothing else says anything about line breaks
	case syntax.OpAnyChar:
		re.Op = syntax.OpAnyCharNotNL
	case syntax.OpBeginText, syntax.OpEndText:
		return errOneLine
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			if r == '\n' || r == '\r' {
				return errOneLine
			}
		}
	case syntax.OpCharClass:
		var ranges []rune
		for i := 0; i+1 < len(re.Rune); i += 2 {
			switch from, to := re.Rune[i], re.Rune[i+1]; {
			case from > '\n' || to < '\n':
				ranges = append(ranges, from, to)
			default:
				if from < '\n' {
					ranges = append(ranges, from, '\n'-1)
				}
				if to > '\n' {
					ranges = append(ranges, '\n'+1, to)
				}
			}
		}
		re.Rune = ranges
		if len(ranges) == 0 {
			return errOneLine
		}
	}
	for _, sub := range re.Sub {
		if err := withinLine(sub); err != nil {
			return err
		}
	}
	return nil
}

// next returns the offset of the next match at or behind a beginning of a line; -1 if there is
// none.
func (p *Pattern) next(data []byte) int {
	if p.literal != nil {
		return bytes.Index(data, p.literal)
	}
	if at := p.re.FindIndex(data); at != nil {
		return at[0]
	}
	return -1
}

// Found is what was found in a file.
type Found struct {
	// Path is the file's.
	Path string
	// Matches is the number of lines that match.
	Matches int
	// Binary says that the file isn't text and wasn't searched.
	Binary bool

	text  string
	shown int // matches in text
}

// Search searches a file. Matches are counted and, with show, shown until they take more than
// a whole answer has room for.
func (p *Pattern) Search(rel string, data []byte, show bool) Found {
	f := Found{Path: rel}
	show = show && !p.count
	if f.Binary = bytes.IndexByte(data[:min(len(data), sniffed)], 0) >= 0; f.Binary {
		return f
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if bytes.Contains(data, []byte("\r\n")) {
		data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")) // so that $ matches before it
	}
	w := window{pattern: p, data: data, number: 1, show: show}
	for w.from <= len(data) && len(data) > 0 {
		at := p.next(data[w.from:])
		if at < 0 {
			break
		}
		at += w.from
		if at == len(data) && data[at-1] == '\n' { // behind the last line
			break
		}
		f.Matches++
		w.match(at)
		if show && w.text.Len() <= maxTexts {
			f.shown = f.Matches
		}
	}
	if show {
		w.after(p.context)
		f.text = w.text.String()
	}
	return f
}

// window writes matching lines with their context.
type window struct {
	pattern *Pattern
	data    []byte
	show    bool
	from    int // the line behind the last one that was matched
	number  int // its number, from 1
	written int // the number of the last line that was written
	text    strings.Builder
}

// end returns the end of the line that begins at an offset, without its line break.
func (w *window) end(from int) int {
	if n := bytes.IndexByte(w.data[from:], '\n'); n >= 0 {
		return from + n
	}
	return len(w.data)
}

// match takes the line of a match.
func (w *window) match(at int) {
	start := w.from
	if n := bytes.LastIndexByte(w.data[w.from:at], '\n'); n >= 0 {
		start = w.from + n + 1
	}
	number := w.number + bytes.Count(w.data[w.from:start], []byte("\n"))
	if w.show && w.text.Len() <= maxTexts {
		w.before(start, number)
		w.write(number, start, at-start, ':')
	}
	w.from, w.number = w.end(start)+1, number+1
}

// before writes the context between the last match and this one.
func (w *window) before(start, number int) {
	if w.written > 0 {
		w.after(min(w.pattern.context, number-w.number))
	}
	first := max(number-w.pattern.context, w.written+1, 1)
	if w.written > 0 && first > w.written+1 {
		w.text.WriteString("--\n")
	}
	at := start
	for range number - first {
		at = bytes.LastIndexByte(w.data[:at-1], '\n') + 1
	}
	for n := first; n < number; n++ {
		w.write(n, at, 0, '-')
		at = w.end(at) + 1
	}
}

// after writes lines behind the last match.
func (w *window) after(lines int) {
	at := w.from
	for n := w.number; n < w.number+lines && w.written == n-1 && n > 1 && at < len(w.data); n++ {
		w.write(n, at, 0, '-')
		at = w.end(at) + 1
	}
}

// write writes a line. Of a long one it shows the part around a match.
func (w *window) write(number, start, match int, mark byte) {
	line := w.data[start:w.end(start)]
	before, behind := "", ""
	if match > maxShown/2 {
		line, before = line[match-maxShown/4:], "…"
	}
	if len(line) > maxShown {
		line, behind = line[:maxShown], "…"
	}
	w.written = number
	w.text.WriteString(strconv.Itoa(number))
	w.text.WriteByte(mark)
	w.text.WriteString(before + strings.ToValidUTF8(strings.ReplaceAll(string(line), "\x00", "\ufffd"), "\ufffd") + behind + "\n")
}

// Lines collects an answer.
type Lines struct {
	pattern *Pattern
	room    int
	answer  agentapi.SearchedFiles
}

// Lines makes an empty answer.
func (p *Pattern) Lines() *Lines {
	return &Lines{pattern: p, room: maxTexts, answer: agentapi.SearchedFiles{Files: []agentapi.SearchedFile{}}}
}

// Full reports whether there is no more room for lines.
func (l *Lines) Full() bool { return l.room <= 0 }

// Add adds what was found in a file. Lines are shown as long as there is room; files behind
// that are listed with the number of their matches.
func (l *Lines) Add(f *Found) {
	if f.Binary {
		l.answer.Binary++
	}
	if f.Matches == 0 {
		return
	}
	l.answer.Matches += f.Matches
	l.answer.Matching++
	if len(l.answer.Files) == maxListed {
		return
	}
	one := agentapi.SearchedFile{Path: f.Path, Matches: f.Matches}
	if !l.pattern.count && l.room > 0 {
		one.Text = f.text
		if one.Cut = len(f.text) > l.room || f.shown < f.Matches; len(f.text) > l.room {
			one.Text = text.Truncate(f.text, l.room)
			one.Text = one.Text[:strings.LastIndexByte(one.Text, '\n')+1]
			l.room = 0
		}
		l.room -= len(one.Text)
	} else {
		one.Cut = !l.pattern.count
	}
	l.answer.Files = append(l.answer.Files, one)
}

// Answer returns the answer.
func (l *Lines) Answer() *agentapi.SearchedFiles {
	a := l.answer
	a.Omitted = a.Matching - len(a.Files)
	return &a
}
