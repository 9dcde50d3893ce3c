// Package imports reads what Markdown imports with an @, as Claude Code 2.1.332 does. Guests
// and the agent share it, so it only parses and opens nothing.
package imports

import (
	"path"
	"slices"
	"strings"
	"unicode"

	"waymark/sdk-guest/frontmatter"
)

// Of returns up to 500 paths after an @ at the beginning of a line or after a blank, outside
// front matter, code, HTML and comments, as written and without duplicates. A blank in a path
// is written with a backslash. The text after a # is a position in the file.
func Of(text string) (list []string) {
	p := prose{blank: true}
	for line := range strings.SplitSeq(withoutHead(text), "\n") {
		line = strings.ReplaceAll(p.of(line), `\ `, blankInside)
		for word := range strings.FieldsFuncSeq(line, isEnd) {
			if text, _, isLink := strings.Cut(word, "]("); isLink {
				word = strings.TrimPrefix(text, "[")
			}
			word, found := strings.CutPrefix(word, "@")
			if end := strings.IndexAny(word, `#\`); end >= 0 {
				word = word[:end]
			}
			word = strings.ReplaceAll(word, blankInside, " ")
			if found && isPath(word) && !slices.Contains(list, word) {
				list = append(list, word)
			}
			if len(list) == most {
				return list
			}
		}
	}
	return list
}

// most bounds the paths of one text: no context has room for more.
const most = 500

// blankInside stands for a blank that doesn't end a word.
const blankInside = "\x00"

// isEnd reports whether a character ends a word: emphasis marks aren't part of it.
func isEnd(r rune) bool { return r == '*' || r == '`' || unicode.IsSpace(r) }

// IsBlank reports whether a text has only blanks, comments and front matter.
func IsBlank(text string) bool {
	for text = withoutHead(text); ; {
		before, rest, found := strings.Cut(text, "<!--")
		if !found || strings.TrimSpace(before) != "" {
			return strings.TrimSpace(before) == ""
		}
		_, text, _ = strings.Cut(rest, "-->")
	}
}

func withoutHead(text string) string {
	if _, rest, err := frontmatter.Find([]byte(text), true); err == nil {
		text = string(rest)
	}
	return strings.TrimPrefix(text, "\ufeff")
}

// textEndings are the suffixes of files that Claude Code imports, of some 400 that were
// tried. Names without a suffix are imported, too.
const textEndings = " .adoc .asciidoc .astro .bash .bat .c .cfg .cjs .clj .cljc .cljs .cmake .cmd .conf .config .cpp .cs .css .csv .cts .cxx .dart .diff " +
	".edn .ejs .elm .env .erb .erl .ex .exs .f .f90 .f95 .fish .for .go .gql .gradle .graphql .h .hbs .hpp .hrl .hs .htm .html .hxx .ini .jade .java " +
	".js .json .jsx .kt .kts .latex .less .lhs .lock .log .lua .make .makefile .md .mjs .ml .mli .mts .org .patch .php .pl .pm .properties .proto .ps1 " +
	".pug .py .pyi .pyw .r .rake .rb .rs .rst .sass .sbt .scala .scss .sh .sql .svelte .swift .tex .text .toml .ts .tsx .txt .vue .xml .yaml .yml .zsh "

func isPath(word string) bool {
	if word == "" || word == "/" || word[0] == '~' && !strings.HasPrefix(word, "~/") {
		return false
	}
	name := path.Base(word)
	ending := strings.ToLower(path.Ext(name))
	begins := isLetter(word[0]) || strings.IndexByte("./~_-", word[0]) >= 0
	return begins && (ending == "" || len(ending) == len(name) || strings.Contains(textEndings, " "+ending+" "))
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' }

// prose is the state of a Markdown reader at a line.
type prose struct {
	fence   string // that opened the code around the line
	html    bool   // inside HTML, which ends with a blank line
	comment bool   // inside a comment
	blank   bool   // the previous line was blank, or code by its indent
	list    bool   // it may belong to a list item, where an indent isn't code
}

// of returns the next line without code, HTML and comments.
func (p *prose) of(line string) string {
	if p.comment {
		_, rest, ended := strings.Cut(line, "-->")
		if !ended {
			return ""
		}
		line, p.comment = rest, false
	}
	trimmed := strings.TrimLeft(line, " \t>")
	if p.fence != "" {
		if strings.HasPrefix(trimmed, p.fence) && strings.Trim(trimmed, p.fence[:1]+" \t\r") == "" {
			p.fence = ""
		}
		return ""
	}
	if p.fence = opensFence(trimmed); p.fence != "" {
		return ""
	}
	begins := p.blank
	if p.indented(line) {
		return ""
	}
	if p.html = !p.blank && (p.html || begins && isTag(trimmed)); p.html {
		return ""
	}
	line = outsideCode(line)
	for {
		before, rest, begun := strings.Cut(line, "<!--")
		if !begun {
			return line
		}
		_, after, ended := strings.Cut(rest, "-->")
		if !ended {
			p.comment = true
			return before
		}
		line = before + " " + after
	}
}

// isTag reports whether a line is just a tag, with which HTML begins.
func isTag(line string) bool {
	line = strings.TrimSpace(line)
	name := strings.TrimPrefix(strings.TrimPrefix(line, "<"), "/")
	return len(name) < len(line) && name != "" && isLetter(name[0]) && strings.IndexByte(name, '>') == len(name)-1
}

// indented reports whether a line is code by its indent, which can't directly follow a line
// of text.
func (p *prose) indented(line string) bool {
	text := strings.TrimLeft(line, " \t")
	indent := line[:len(line)-len(text)]
	switch {
	case strings.TrimSpace(text) == "":
		p.blank = true
		return false
	case len(indent) >= 4 || strings.Contains(indent, "\t"):
		if p.list || !p.blank {
			p.blank = false
			return false
		}
		return true
	}
	p.list = beginsItem(text) || p.list && indent != ""
	p.blank = false
	return false
}

// beginsItem reports whether a line begins a list item.
func beginsItem(text string) bool {
	digits := strings.TrimLeft(text, "0123456789")
	if n := len(text) - len(digits); n > 0 {
		return n <= 9 && (strings.HasPrefix(digits, ". ") || strings.HasPrefix(digits, ") "))
	}
	return len(text) > 1 && strings.IndexByte("-*+", text[0]) >= 0 && (text[1] == ' ' || text[1] == '\t')
}

// opensFence returns the fence that a line opens, or nothing.
func opensFence(line string) string {
	for _, mark := range []string{"`", "~"} {
		n := len(line) - len(strings.TrimLeft(line, mark))
		if n >= 3 && (mark == "~" || !strings.Contains(line[n:], mark)) {
			return line[:n]
		}
	}
	return ""
}

// outsideCode removes code between backticks from a line.
func outsideCode(line string) string {
	if !strings.Contains(line, "`") {
		return line
	}
	var out strings.Builder
	for line != "" {
		i := strings.IndexByte(line, '`')
		if i < 0 {
			break
		}
		out.WriteString(line[:i])
		rest := strings.TrimLeft(line[i:], "`")
		ticks := line[i : len(line)-len(rest)]
		end := closingTicks(rest, ticks)
		if end < 0 {
			out.WriteString(ticks)
			line = rest
			continue
		}
		out.WriteByte('`')
		line = rest[end+len(ticks):]
	}
	out.WriteString(line)
	return out.String()
}

// closingTicks returns the position of as many backticks as opened the code.
func closingTicks(text, ticks string) int {
	for at := 0; ; {
		i := strings.IndexByte(text[at:], '`')
		if i < 0 {
			return -1
		}
		at += i
		n := len(text[at:]) - len(strings.TrimLeft(text[at:], "`"))
		if n == len(ticks) {
			return at
		}
		at += n
	}
}
