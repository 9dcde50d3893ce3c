package frontmatter

import "strings"

// flow reads what stands in brackets.
type flow struct {
	*parser
	first, column int // where the brackets begin, and the next character is
}

// flow reads a list or a map in brackets, and all of its last line.
func (p *parser) flow(column, depth int) Value {
	f := flow{p, p.at, column}
	v := f.value(depth)
	if p.err == nil && !ends(f.rest()) {
		p.fail(p.at, "something stands behind the closing bracket")
	}
	p.at++
	return v
}

func (f *flow) rest() string { return f.lines[f.at].text[f.column:] }

// next goes to the next character that is neither blank nor of a comment, and
// returns it; 0 after an error.
func (f *flow) next() byte {
	for f.err == nil {
		rest := f.rest()
		text := strings.TrimLeft(rest, " \t")
		f.column += len(rest) - len(text)
		if text != "" && (text[0] != '#' || f.column > 0 && !isBlank(f.lines[f.at].text[f.column-1])) {
			return text[0]
		}
		if f.at+1 == len(f.lines) {
			f.fail(f.first, "the bracket isn't closed")
			break
		}
		f.at++
		f.column = 0
	}
	return 0
}

// value reads one value.
func (f *flow) value(depth int) Value {
	v := Value{Line: f.at + firstLine}
	if depth > maxDepth {
		f.fail(f.at, "more than 32 levels")
		return v
	}
	switch f.next() {
	case 0:
	case '[':
		v.Kind = List
		f.items(']', func() { v.List = append(v.List, f.value(depth+1)) })
	case '{':
		v.Kind = Map
		f.items('}', func() { f.member(&v, depth) })
	case '"', '\'':
		v.Kind, v.Text = String, f.quoted()
	default:
		v = f.plain()
	}
	return v
}

// items reads what stands between brackets, with commas between.
func (f *flow) items(end byte, item func()) {
	f.column++
	for c := f.next(); c != 0 && c != end; c = f.next() {
		f.count()
		item()
		if c = f.next(); c == ',' {
			f.column++
		} else if c != end {
			f.fail(f.at, "a comma or "+string(rune(end))+" is missing")
		}
	}
	if f.err == nil {
		f.column++
	}
}

// member reads a key with its value.
func (f *flow) member(v *Value, depth int) {
	key, n, isKey := f.key(f.rest(), true)
	if !isKey {
		f.fail(f.at, `in braces "key: value" is needed`)
	}
	switch {
	case len(key) > maxKey:
		f.fail(f.at, "a key of more than 128 bytes")
	case len(v.Map) == maxKeys:
		f.fail(f.at, "more than 256 keys")
	case has(v.Map, key):
		f.fail(f.at, "the key "+key+" stands twice")
	}
	f.column += n
	m := Member{Key: key, Value: Value{Line: f.at + firstLine}}
	if c := f.next(); c != 0 && c != ',' && c != '}' {
		m.Value = f.value(depth + 1)
	}
	v.Map = append(v.Map, m)
}

// quoted reads a text in quotes; in brackets, it ends on its line.
func (f *flow) quoted() string {
	text := f.rest()
	end := closing(text[1:], text[0]) + 1
	if end >= len(text) {
		f.fail(f.at, "the quote isn't closed on its line")
		return ""
	}
	var out strings.Builder
	f.unquote(&out, text[1:end], text[0])
	f.column += end + 1
	return out.String()
}

// plain reads a text without quotes, up to what ends it in brackets.
func (f *flow) plain() Value {
	rest := f.rest()
	text := rest
	if end := strings.IndexAny(rest, ",[]{}"); end >= 0 {
		text = rest[:end]
	}
	v := Value{Kind: String, Line: f.at + firstLine}
	if text == "" {
		f.fail(f.at, "a value is missing")
		return v
	}
	plain, commented := uncomment(text)
	f.column += len(text)
	if commented {
		f.column = len(f.lines[f.at].text)
	}
	strange := f.beginning(plain)
	if hasColon(plain) {
		f.fail(f.at, `a text with ": " in it needs quotes`)
	}
	v.Text = plain
	if !strange {
		v.Kind = plainKind(plain)
	}
	return v.normal()
}

// bracketsInText reports whether a text goes on behind the bracket that closes
// its first one, as in "[ab]*.ts": it is no list then.
func bracketsInText(text string) bool {
	depth := 0
	for i := range len(text) {
		switch text[i] {
		case '[', '{':
			depth++
		case ']', '}':
			if depth--; depth == 0 {
				return !ends(text[i+1:])
			}
		}
	}
	return false
}
