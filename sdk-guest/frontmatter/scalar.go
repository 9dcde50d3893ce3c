package frontmatter

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// scalar reads a value that begins at a column of the next line and is no map
// or list of lines. What goes on below is indented more than indent.
func (p *parser) scalar(indent, column, depth int) Value {
	text := p.lines[p.at].text[column:]
	v := Value{Kind: String, Line: p.at + firstLine}
	switch text[0] {
	case '|', '>':
		v.Text = p.block(indent, text)
	case '"', '\'':
		if p.lenient && followed(text) {
			return p.plain(indent, column)
		}
		v.Text = p.quoted(indent, column)
	case '[', '{':
		if p.lenient && bracketsInText(text) {
			return p.plain(indent, column)
		}
		return p.flow(column, depth+1)
	default:
		return p.plain(indent, column)
	}
	return v
}

// plain reads a text without quotes, which may go on below.
func (p *parser) plain(indent, column int) Value {
	v := Value{Kind: String, Line: p.at + firstLine}
	text, commented := uncomment(p.lines[p.at].text[column:])
	strange := p.beginning(text)
	if !strange && hasColon(text) {
		strange = true
		if !p.lenient {
			p.fail(p.at, `a text with ": " in it needs quotes`)
		}
	}
	p.at++
	v.Text = text
	var out strings.Builder // texts of many lines aren't copied with each of them
	for blanks := 0; !commented && p.at < len(p.lines); p.at++ {
		l := p.lines[p.at]
		more := trim(l.text)
		if more == "" {
			blanks++
			continue
		}
		if l.indent <= indent || more[0] == '#' {
			break
		}
		if more, commented = uncomment(more); hasColon(more) {
			p.fail(p.at, "this belongs to the text above, but looks like a key; put the text into quotes")
		}
		if out.Len() == 0 {
			out.WriteString(text)
		}
		out.WriteString(fold(blanks))
		out.WriteString(more)
		blanks = 0
	}
	if out.Len() > 0 {
		v.Text = out.String()
	}
	if !strange {
		v.Kind = plainKind(v.Text)
	}
	return v.normal()
}

// normal makes one text of the several ways to write a boolean or nothing.
func (v Value) normal() Value {
	switch v.Kind {
	case Null:
		v.Text = ""
	case Bool:
		v.Text = strings.ToLower(v.Text)
	}
	return v
}

// beginning refuses the characters that mean something else at the beginning of
// a text. Lenient, it reports those that are taken as they are.
func (p *parser) beginning(text string) (strange bool) {
	c := text[0]
	if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' { // as nearly all do
		return false
	}
	second := byte(' ')
	if len(text) > 1 {
		second = text[1]
	}
	switch {
	case c == '-' && !isBlank(second), strings.IndexByte("-?:,]}#&*!%@`[{\"'|>", c) < 0:
		return false
	case p.lenient && (strings.IndexByte("%@`[{\"'", c) >= 0 || c == '!' && second != '!' || c == '*' && !isAlias(text)):
		return true
	}
	p.fail(p.at, "a text that begins with "+text[:1]+" needs quotes")
	return false
}

// isAlias reports whether a text is an alias: a star and a name.
func isAlias(text string) bool {
	for i := 1; i < len(text); i++ {
		c := text[i]
		if word := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'; !word {
			return false
		}
	}
	return true
}

// uncomment takes a comment and the blanks before it off a text that isn't
// blank, and doesn't begin with one.
func uncomment(text string) (rest string, commented bool) {
	for i := 1; i < len(text); i++ {
		if text[i] == '#' && isBlank(text[i-1]) {
			return trim(text[:i]), true
		}
	}
	return trim(text), false
}

// hasColon reports whether YAML would take a part of a text for a key.
func hasColon(text string) bool {
	for i := range len(text) {
		if text[i] == ':' && (i+1 == len(text) || isBlank(text[i+1])) {
			return true
		}
	}
	return false
}

// fold is what stands for the line ends between two lines of a text, with so
// many blank lines between them.
func fold(blanks int) string {
	if blanks == 0 {
		return " "
	}
	return strings.Repeat("\n", blanks)
}

// plainKind says what a text without quotes is. Numbers and dates of every YAML
// version are made of few characters, and begin with fewer.
func plainKind(s string) Kind {
	switch s {
	case "", "~", "null", "Null", "NULL":
		return Null
	case "true", "True", "TRUE", "false", "False", "FALSE":
		return Bool
	case "<<", "=":
		return Other
	}
	if isSpecial(s) {
		return Other
	}
	if c := s[0]; (c < '0' || c > '9') && c != '+' && c != '-' && c != '.' {
		return String
	}
	for i := range len(s) {
		if strings.IndexByte("0123456789abcdefABCDEFxXoOtTzZiInN_.:+- ", s[i]) < 0 {
			return String
		}
	}
	return Other
}

// isSpecial reports whether a word is a boolean or a null in some version of
// YAML, in any case.
func isSpecial(s string) bool {
	if len(s) > len("false") {
		return false
	}
	switch strings.ToLower(s) {
	case "true", "false", "null", "yes", "no", "on", "off", "y", "n":
		return true
	}
	return false
}

// closing returns where the quote is that closes a text, which begins behind
// the opening one, or its length.
func closing(text string, quote byte) int {
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\' && quote == '"':
			i++
		case text[i] == quote && quote == '\'' && i+1 < len(text) && text[i+1] == '\'':
			i++
		case text[i] == quote:
			return i
		}
	}
	return len(text)
}

// followed reports whether something stands behind the quotes that a text
// begins with.
func followed(text string) bool {
	end := closing(text[1:], text[0]) + 2
	return end < len(text) && !ends(text[end:])
}

// ends reports whether nothing but a comment stands in what is left of a line.
func ends(rest string) bool {
	text := trim(rest)
	return text == "" || text[0] == '#' && isBlank(rest[0])
}

// quoted reads a text in quotes, which may go on below, and all of its last
// line.
func (p *parser) quoted(indent, column int) string {
	first := p.at
	text := p.lines[p.at].text[column:]
	quote, rest := text[0], text[1:]
	var out strings.Builder
	for blanks := 0; ; {
		end := closing(rest, quote)
		if end < len(rest) {
			p.unquote(&out, rest[:end], quote)
			if !ends(rest[end+1:]) {
				p.fail(p.at, "something stands behind the closing quote")
			}
			p.at++
			return out.String()
		}
		p.unquote(&out, strings.TrimRight(rest, " \t"), quote)
		for p.at++; p.at < len(p.lines) && trim(p.lines[p.at].text) == ""; p.at++ {
			blanks++
		}
		if p.at == len(p.lines) || p.lines[p.at].indent <= indent {
			p.at = first + 1
			p.fail(first, "the quote isn't closed")
			return ""
		}
		out.WriteString(fold(blanks))
		rest = strings.TrimLeft(p.lines[p.at].text, " \t")
		blanks = 0
	}
}

// unquote writes what stands between quotes.
func (p *parser) unquote(out *strings.Builder, text string, quote byte) {
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\'' && quote == '\'':
			i++ // of two
			out.WriteByte(c)
		case c == '\\' && quote == '"':
			r, n := escape(text[i+1:])
			if n == 0 {
				p.fail(p.at, "an escape that isn't known; in single quotes a backslash is just that")
				return
			}
			out.WriteRune(r)
			i += n
		default:
			out.WriteByte(c)
		}
	}
}

// escape reads what stands behind a backslash. n is its length, 0 for what isn't
// read.
func escape(text string) (r rune, n int) {
	if text == "" {
		return 0, 0
	}
	digits := 0
	switch text[0] {
	case '"', '\\', '/':
		return rune(text[0]), 1
	case 'n':
		return '\n', 1
	case 't':
		return '\t', 1
	case 'r':
		return '\r', 1
	case 'x':
		digits = 2
	case 'u':
		digits = 4
	case 'U':
		digits = 8
	}
	if digits == 0 || len(text) <= digits || strings.IndexByte("+-_", text[1]) >= 0 {
		return 0, 0
	}
	code, err := strconv.ParseUint(text[1:1+digits], 16, 32)
	if err != nil || code == 0 || code == utf8.RuneError || code > utf8.MaxRune || !utf8.ValidRune(rune(code)) {
		return 0, 0
	}
	return rune(code), 1 + digits
}

// block reads the lines below | or >.
func (p *parser) block(indent int, header string) string {
	chomp, rest := byte(0), header[1:]
	if rest != "" && (rest[0] == '+' || rest[0] == '-') {
		chomp, rest = rest[0], rest[1:]
	}
	if !ends(rest) {
		p.fail(p.at, "behind "+header[:1]+" nothing but + or - is read")
	}
	p.at++
	margin, blanks := p.margin(indent), 0
	var out strings.Builder
	for started, above := false, false; p.at < len(p.lines); p.at++ {
		l := p.lines[p.at]
		if l.indent == len(l.text) && (margin == 0 || l.indent <= margin) {
			blanks++
			continue
		}
		if margin == 0 || l.indent < margin {
			break
		}
		text := l.text[margin:]
		indented := isBlank(text[0]) // further than the others: such lines aren't folded
		switch {
		case started && header[0] == '>' && !above && !indented:
			out.WriteString(fold(blanks))
		case started:
			out.WriteString(strings.Repeat("\n", blanks+1))
		default:
			out.WriteString(strings.Repeat("\n", blanks))
		}
		out.WriteString(text)
		started, above, blanks = true, indented, 0
	}
	if out.Len() > 0 && chomp != '-' {
		out.WriteByte('\n')
	}
	if chomp == '+' {
		out.WriteString(strings.Repeat("\n", blanks))
	}
	return out.String()
}

// margin returns the indentation of the first line below | or > that isn't
// blank, which is that of the text; 0 when there is no text.
func (p *parser) margin(indent int) int {
	longest := 0
	for at := p.at; at < len(p.lines); at++ {
		l := p.lines[at]
		switch {
		case l.indent == len(l.text):
			longest = max(longest, l.indent)
		case l.indent <= indent:
			return 0
		case l.indent < longest:
			p.fail(at, "a blank line above is indented more than this")
			return 0
		case l.text[l.indent] == '\t':
			p.fail(at, "a tab in the indentation; use blanks")
			return 0
		default:
			return l.indent
		}
	}
	return 0
}
