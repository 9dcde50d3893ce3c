package agentfiles

import (
	"bytes"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"waymark/abi"
	"waymark/plugins/conventions"
	"waymark/plugins/internal/wellknown"
	guest "waymark/sdk-guest"
	"waymark/sdk-guest/frontmatter"
)

const (
	// maxImports bounds what is told of a file's imports in all, and maxImport each of them,
	// in bytes.
	maxImports = 8 << 10
	maxImport  = 1 << 10
)

// imports tells what a file imports, as it is written there.
func (f *finder) imports(r *guest.Resource, c *conventions.Convention) {
	if !c.Imports && (!f.allImports || c.Kind != abi.KindInstructionFile) {
		return
	}
	text, err := guest.ReadHead(f.root, r.Path, wellknown.Limit(f.req))
	if err != nil {
		return // gone or changed since: the host will see
	}
	if list := importsOf(string(text), f.allImports); len(list) > 0 {
		attribute(r, "imports", abi.Strings(list...))
	}
}

// importsOf returns the paths behind an @ that Claude Code 2.1.332 takes for imports, each
// once: at the beginning of a text or behind a blank, outside front matter, code, HTML and
// comments. A blank in a path is written with a backslash, and what follows a # is a place
// in the file. Without all, a word that has neither slash nor dot is left out: as a rule it
// is somebody's name.
func importsOf(text string, all bool) (list []string) {
	if _, rest, err := frontmatter.Find([]byte(text), true); err == nil {
		text = string(rest)
	}
	var paragraph []byte
	size, p := 0, prose{blank: true}
	for line := range strings.SplitSeq(strings.TrimPrefix(text, "\ufeff")+"\n\n", "\n") {
		line = p.of(line)
		if paragraph = append(append(paragraph, line...), '\n'); line != "" {
			continue
		}
		for _, word := range importsIn(paragraph) {
			if (all || strings.ContainsAny(word, "./")) && size+len(word) <= maxImports && !slices.Contains(list, word) {
				list, size = append(list, word), size+len(word)
			}
		}
		paragraph = paragraph[:0]
	}
	return list
}

// importsIn returns what a paragraph imports.
func importsIn(paragraph []byte) (list []string) {
	if bytes.IndexByte(paragraph, '@') < 0 {
		return nil
	}
	text := string(inline(paragraph))
	for at := 0; ; {
		i := strings.IndexByte(text[at:], '@')
		if i < 0 {
			return list
		}
		at += i + 1
		if before, _ := utf8.DecodeLastRuneInString(text[:at-1]); at == 1 || ends(before) {
			word, n := importAt(text[at:])
			at += n
			if isImport(word) {
				list = append(list, word)
			}
		}
	}
}

// ends reports whether a word ends before a character.
func ends(r rune) bool { return r == mark || r == '\ufeff' || unicode.IsSpace(r) }

// importAt returns the path that a text begins with, and how much of the text that is.
func importAt(text string) (word string, n int) {
	for n < len(text) {
		r, size := utf8.DecodeRuneInString(text[n:])
		if strings.HasPrefix(text[n:], `\ `) {
			size = 2
		} else if r == '\\' || ends(r) {
			break
		}
		n += size
	}
	word, _, _ = strings.Cut(text[:n], "#")
	return strings.ReplaceAll(word, `\ `, " "), n
}

// textEndings are those of the files that Claude Code 2.1.332 imports, of some 400 that it was
// tried with. What has none is imported, too.
const textEndings = " .adoc .asciidoc .astro .bash .bat .c .cfg .cjs .clj .cljc .cljs .cmake .cmd .conf .config .cpp .cs .css .csv .cts .cxx .dart .diff " +
	".edn .ejs .elm .env .erb .erl .ex .exs .f .f90 .f95 .fish .for .go .gql .gradle .graphql .h .hbs .hpp .hrl .hs .htm .html .hxx .ini .jade .java " +
	".js .json .jsx .kt .kts .latex .less .lhs .lock .log .lua .make .makefile .md .mjs .ml .mli .mts .org .patch .php .pl .pm .properties .proto .ps1 " +
	".pug .py .pyi .pyw .r .rake .rb .rs .rst .sass .sbt .scala .scss .sh .sql .svelte .swift .tex .text .toml .ts .tsx .txt .vue .xml .yaml .yml .zsh "

func isImport(word string) bool {
	name := path.Base(word)
	ending := strings.ToLower(path.Ext(name))
	if word == "" || word == "/" || len(word) > maxImport || word[0] == '~' && !strings.HasPrefix(word, "~/") {
		return false
	}
	c := word[0]
	begins := strings.IndexByte("./~_-", c) >= 0 || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
	return begins && (ending == "" || len(ending) == len(name) || strings.Contains(textEndings, " "+ending+" "))
}

// prose is what a reader of Markdown knows at a line.
type prose struct {
	fence   string // that opened the code around the line
	html    bool   // it is inside of HTML, which ends with a blank line
	comment bool   // it is inside of one
	blank   bool   // the line before was blank, or code by its indent
	list    bool   // it may belong to an item of a list, where an indent isn't code
}

// of returns what is neither code, HTML nor comment in the next line; nothing where a
// paragraph ends.
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
	after := p.blank
	if p.indented(line) {
		return ""
	}
	if p.html = (p.html || opensHTML(trimmed, after)) && !p.blank; p.html || p.blank || after && isDefinition(trimmed) {
		return ""
	}
	line = string(outsideCode([]byte(trimmed)))
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

// indented reports whether a line is code by its indent, which can't follow a line of
// text at once.
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

// beginsItem reports whether a line begins an item of a list.
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

// mark stands for a sign of Markdown, at which one text ends and another one begins.
const mark = 0

// outsideCode takes code between backticks out of a text.
func outsideCode(text []byte) []byte {
	for at := 0; ; {
		i := bytes.IndexByte(text[at:], '`')
		if i < 0 {
			return text
		}
		at += i
		ticks := len(text[at:]) - len(bytes.TrimLeft(text[at:], "`"))
		if end := closingTicks(text[at+ticks:], ticks); end >= 0 {
			erase(text[at : at+ticks+end+ticks])
		}
		at += ticks
	}
}

// closingTicks returns where as many backticks stand as opened code.
func closingTicks(text []byte, ticks int) int {
	for at := 0; ; {
		i := bytes.IndexByte(text[at:], '`')
		if i < 0 {
			return -1
		}
		at += i
		n := len(text[at:]) - len(bytes.TrimLeft(text[at:], "`"))
		if n == ticks {
			return at
		}
		at += n
	}
}

func erase(text []byte) {
	for i := range text {
		text[i] = mark
	}
}

// maxSpan is how far apart signs are looked for that belong together.
const maxSpan = 1 << 10

// inline puts marks in the place of code, tags, links and emphasis.
func inline(text []byte) []byte {
	text = outsideCode(text)
	for i := 0; i < len(text); i++ {
		near := text[i:min(len(text), i+maxSpan)]
		switch near[0] {
		case '<':
			if end := bytes.IndexByte(near, '>'); end > 1 && (isLetter(near[1]) || near[1] == '/') {
				erase(near[:end+1])
			}
		case ']':
			before := text[max(0, i-maxSpan):i]
			if begin, end := bytes.LastIndexByte(before, '['), bytes.IndexByte(near, ')'); end > 0 && near[1] == '(' && begin >= 0 {
				if begin > 0 && before[begin-1] == '!' { // a picture
					erase(before[begin:])
				}
				erase(near[:end+1])
				before[begin] = mark
			}
		case '*', '_':
			n := len(near) - len(bytes.TrimLeft(near, string(near[:1])))
			end := n + bytes.Index(near[n:], near[:n])
			if (i == 0 || !isLetter(text[i-1])) && end > n && !unicode.IsSpace(rune(near[n])) && !unicode.IsSpace(rune(near[end-1])) {
				erase(near[:n])
				erase(near[end : end+n])
			}
			i += n - 1
		}
	}
	return text
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' }

// htmlBlocks are the elements that begin a block of HTML wherever their tag begins a line.
const htmlBlocks = " address article aside base basefont blockquote body caption center col colgroup dd details dialog dir div dl dt fieldset figcaption " +
	"figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header hr html iframe legend li link main menu menuitem meta nav noframes ol optgroup option " +
	"p param pre script search section style summary table tbody td textarea tfoot th thead title tr track ul "

// isDefinition reports whether a line says what a link or a footnote leads to.
func isDefinition(line string) bool {
	label, _, ok := strings.Cut(line, "]:")
	return ok && strings.HasPrefix(label, "[") && !strings.Contains(label, "]")
}

// opensHTML reports whether a line opens a block of HTML. after: it doesn't follow a line of
// text.
func opensHTML(line string, after bool) bool {
	rest, ok := strings.CutPrefix(line, "<")
	rest = strings.TrimSpace(strings.TrimPrefix(rest, "/"))
	n := strings.IndexFunc(rest, func(r rune) bool { return r > 'z' || !isLetter(byte(r)) })
	if !ok || n <= 0 {
		return false
	}
	return strings.Contains(htmlBlocks, " "+strings.ToLower(rest[:n])+" ") || after && strings.IndexByte(rest, '>') == len(rest)-1
}
