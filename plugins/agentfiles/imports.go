package agentfiles

import (
	"slices"
	"strings"

	"waymark/abi"
	"waymark/plugins/internal/wellknown"
	guest "waymark/sdk-guest"
	"waymark/sdk-guest/frontmatter"
)

const (
	// maxImports and maxImport bound what is told of a file's imports.
	maxImports = 32
	maxImport  = 256
)

// imports tells what a file imports, as it is written there.
func (f *finder) imports(r *guest.Resource) {
	text, err := guest.ReadHead(f.root, r.Path, wellknown.Limit(f.req))
	if err != nil {
		return // gone or changed since: the host will see
	}
	if list := importsOf(string(text)); len(list) > 0 {
		attribute(r, "imports", abi.Strings(list...))
	}
}

// importsOf returns the paths behind an @ at the beginning of a line or behind a blank,
// outside front matter, code and comments, each once. A blank in a path is written with
// a backslash, and what follows a # is a place in the file. A word without slash and dot
// is somebody's name.
func importsOf(text string) (list []string) {
	if _, rest, err := frontmatter.Find([]byte(text), true); err == nil {
		text = string(rest)
	}
	p := prose{blank: true}
	for line := range strings.SplitSeq(text, "\n") {
		line = p.of(line)
		for at := 0; len(list) < maxImports; {
			i := strings.IndexByte(line[at:], '@')
			if i < 0 {
				break
			}
			at += i + 1
			if at > 1 && line[at-2] != ' ' && line[at-2] != '\t' {
				continue
			}
			if word := importAt(line[at:]); isImport(word) && !slices.Contains(list, word) {
				list = append(list, word)
			}
		}
	}
	return list
}

// importAt returns the path that a text begins with.
func importAt(text string) string {
	end := 0
	for end < len(text) && !strings.ContainsRune(" \t\r@`#", rune(text[end])) {
		if strings.HasPrefix(text[end:], `\ `) {
			end++
		}
		end++
	}
	return strings.ReplaceAll(strings.TrimRight(text[:end], ".,;:!?)]}\"'*_"), `\ `, " ")
}

// prose is what a reader of Markdown knows at a line.
type prose struct {
	fence   string // that opened the code around the line
	comment bool   // it is inside of one
	blank   bool   // the line before was blank, or code by its indent
	list    bool   // it may belong to an item of a list, where an indent isn't code
}

// of returns what is neither code nor comment in the next line.
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
	if p.indented(line) {
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

// outsideCode takes code between backticks out of a line.
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

// closingTicks returns where as many backticks stand as opened code.
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

func isImport(word string) bool {
	if word == "" || len(word) > maxImport || !strings.ContainsAny(word, "./") {
		return false
	}
	c := word[0]
	return c == '.' || c == '/' || c == '~' || c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}
