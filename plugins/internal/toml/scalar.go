package toml

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"

	"waymark/sdk-guest/jsonlite"
)

// basic reads "…" on one line.
func (p *parser) basic() string {
	p.pos++
	var out []byte
	for p.err == nil {
		switch c := p.peek(); c {
		case '"':
			p.pos++
			return string(out)
		case 0, '\n', '\r':
			p.fail("a text is not closed")
		case '\\':
			out = p.escape(out)
		default:
			out = append(out, c)
			p.pos++
		}
	}
	return ""
}

// literal reads '…' on one line.
func (p *parser) literal() string {
	p.pos++
	n := bytes.IndexAny(p.text[p.pos:], "'\n")
	if n < 0 || p.text[p.pos+n] != '\'' {
		p.fail("a text is not closed")
		return ""
	}
	s := string(p.text[p.pos : p.pos+n])
	p.pos += n + 1
	return s
}

// multiBasic reads what follows """, which may have line ends.
func (p *parser) multiBasic() string {
	p.firstLineEnd()
	var out []byte
	for p.err == nil {
		switch c := p.peek(); {
		case c == 0:
			p.fail("a text is not closed")
		case c == '\\':
			if !p.continued() {
				out = p.escape(out)
			}
		case p.take(`"""`):
			return string(p.quotes(out, '"'))
		default:
			out = append(out, c)
			p.pos++
		}
	}
	return ""
}

// multiLiteral reads what follows three single quotes.
func (p *parser) multiLiteral() string {
	p.firstLineEnd()
	n := bytes.Index(p.text[p.pos:], []byte("'''"))
	if n < 0 {
		p.fail("a text is not closed")
		return ""
	}
	out := bytes.Clone(p.text[p.pos : p.pos+n])
	p.pos += n + len("'''")
	return string(p.quotes(out, '\''))
}

// quotes appends the one or two quotes that may stand before the closing three.
func (p *parser) quotes(out []byte, quote byte) []byte {
	for range 2 {
		if p.peek() == quote {
			out = append(out, quote)
			p.pos++
		}
	}
	return out
}

func (p *parser) firstLineEnd() {
	if !p.take("\n") {
		p.take("\r\n")
	}
}

// continued moves past a backslash that ends a line, and the blanks of the next.
func (p *parser) continued() bool {
	rest := p.text[p.pos+1:]
	next := bytes.TrimLeft(rest, " \t")
	if len(next) == 0 || next[0] != '\n' && next[0] != '\r' {
		return false
	}
	p.pos = len(p.text) - len(bytes.TrimLeft(next, " \t\r\n"))
	return true
}

// escape appends what the escape here stands for.
func (p *parser) escape(out []byte) []byte {
	p.pos++
	c := p.peek()
	digits := 0
	switch c {
	case 'b':
		out = append(out, '\b')
	case 't':
		out = append(out, '\t')
	case 'n':
		out = append(out, '\n')
	case 'f':
		out = append(out, '\f')
	case 'r':
		out = append(out, '\r')
	case 'e':
		out = append(out, 0x1b)
	case '"', '\\':
		out = append(out, c)
	case 'x':
		digits = 2
	case 'u':
		digits = 4
	case 'U':
		digits = 8
	default:
		p.fail("an unknown escape")
		return out
	}
	p.pos++
	if digits == 0 {
		return out
	}
	hex := p.text[p.pos:min(p.pos+digits, len(p.text))]
	r, err := strconv.ParseUint(string(hex), 16, 32)
	if err != nil || len(hex) < digits || r > utf8.MaxRune || !utf8.ValidRune(rune(r)) {
		p.fail("an escape that stands for no character")
		return out
	}
	p.pos += digits
	return utf8.AppendRune(out, rune(r))
}

// plain reads a value without quotes.
func (p *parser) plain() *node {
	start := p.pos
	for c := p.peek(); isBare(c) || c == '.' || c == '+' || c == ':'; c = p.peek() {
		p.pos++
	}
	word := string(p.text[start:p.pos])
	switch strings.TrimLeft(word, "+-") {
	case "":
		p.fail("a value is expected")
		return nil
	case "inf", "nan":
		if len(word) <= len("+inf") {
			return textNode(word)
		}
	}
	switch {
	case word == "true", word == "false":
		return &node{json: word}
	case len(word) > 4 && word[4] == '-' || len(word) > 2 && word[2] == ':':
		return p.date(start, word)
	}
	json := number(word)
	if json == "" {
		p.pos = start
		p.fail("neither text, number, boolean nor date")
		return nil
	}
	return &node{json: json}
}

// number returns a number as JSON has it, or nothing.
func number(word string) string {
	digits, ok := plainDigits(word)
	if !ok {
		return ""
	}
	if len(digits) > 1 && digits[0] == '0' {
		if base := map[byte]int{'x': 16, 'o': 8, 'b': 2}[digits[1]]; base != 0 {
			n, err := strconv.ParseUint(digits[2:], base, 63)
			if err != nil {
				return ""
			}
			return strconv.FormatUint(n, 10)
		}
	}
	if len(digits) > 1 && digits[0] == '+' && digits[1] != '-' {
		digits = digits[1:]
	}
	if v, err := jsonlite.Parse([]byte(digits), jsonlite.Options{}); err != nil || v.Kind() != jsonlite.Number {
		return ""
	}
	if !strings.ContainsAny(digits, ".eE") {
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil {
			return ""
		}
		return strconv.FormatInt(n, 10)
	}
	if _, err := strconv.ParseFloat(digits, 64); err != nil {
		return ""
	}
	return digits
}

// plainDigits takes out the underscores, which stand between digits.
func plainDigits(word string) (string, bool) {
	if !strings.Contains(word, "_") {
		return word, true
	}
	hex := strings.HasPrefix(word, "0x")
	digit := func(i int) bool {
		return i >= 0 && i < len(word) && (isDigit(word[i]) || hex && i > 1 && isHex(word[i]))
	}
	for i := range len(word) {
		if word[i] == '_' && (!digit(i-1) || !digit(i+1)) {
			return "", false
		}
	}
	return strings.ReplaceAll(word, "_", ""), true
}

func isHex(c byte) bool { return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }

// date reads a date, a time, or both, of which the word that is given is the beginning.
func (p *parser) date(start int, word string) *node {
	if len(word) == len("2006-01-02") && p.peek() == ' ' && p.pos+1 < len(p.text) && isDigit(p.text[p.pos+1]) {
		p.pos++
		for c := p.peek(); isBare(c) || c == '.' || c == '+' || c == ':'; c = p.peek() {
			p.pos++
		}
		word = string(p.text[start:p.pos])
	}
	if !isDateTime(word) {
		p.pos = start
		p.fail("not a date or a time")
		return nil
	}
	return textNode(word)
}

// isDateTime reports whether a text is 2006-01-02, 15:04:05.999, or both with a zone or
// without one. Seconds may be missing.
func isDateTime(s string) bool {
	if len(s) > 4 && s[4] == '-' {
		year, ok1 := fixed(s, 0, 4)
		month, ok2 := fixed(s, 5, 7)
		day, ok3 := fixed(s, 8, 10)
		if !ok1 || !ok2 || !ok3 || s[7] != '-' || month < 1 || month > 12 || day < 1 || day > daysIn(year, month) {
			return false
		}
		if s = s[10:]; s == "" {
			return true
		}
		if s[0] != 'T' && s[0] != 't' && s[0] != ' ' {
			return false
		}
		rest, ok := cutTime(s[1:])
		return ok && isZone(rest)
	}
	rest, ok := cutTime(s)
	return ok && rest == ""
}

func fixed(s string, from, to int) (n int, ok bool) {
	if len(s) < to {
		return 0, false
	}
	for i := from; i < to; i++ {
		if !isDigit(s[i]) {
			return 0, false
		}
		n = 10*n + int(s[i]-'0')
	}
	return n, true
}

func daysIn(year, month int) int {
	switch {
	case month == 2 && year%4 == 0 && (year%100 != 0 || year%400 == 0):
		return 29
	case month == 2:
		return 28
	case month == 4, month == 6, month == 9, month == 11:
		return 30
	}
	return 31
}

// cutTime takes a time off a text.
func cutTime(s string) (rest string, ok bool) {
	if !isClock(s) {
		return "", false
	}
	s = s[len("15:04"):]
	if s == "" || s[0] != ':' {
		return s, true
	}
	if seconds, ok := fixed(s, 1, 3); !ok || seconds > 59 {
		return "", false
	}
	if s = s[len(":05"):]; s == "" || s[0] != '.' {
		return s, true
	}
	n := 1
	for n < len(s) && isDigit(s[n]) {
		n++
	}
	return s[n:], n > 1
}

// isClock reports whether a text begins with an hour and a minute.
func isClock(s string) bool {
	hour, ok1 := fixed(s, 0, 2)
	minute, ok2 := fixed(s, 3, 5)
	return ok1 && ok2 && s[2] == ':' && hour <= 23 && minute <= 59
}

func isZone(s string) bool {
	switch {
	case s == "", s == "Z", s == "z":
		return true
	case s[0] != '+' && s[0] != '-':
		return false
	}
	return len(s) == len("+15:04") && isClock(s[1:])
}
