package agentfiles

import (
	"slices"
	"strings"

	"waymark/abi"
	"waymark/plugins/internal/wellknown"
	guest "waymark/sdk-guest"
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
// outside code. A word without slash and dot is somebody's name.
func importsOf(text string) (list []string) {
	fence := ""
	for line := range strings.SplitSeq(text, "\n") {
		trimmed := strings.TrimLeft(line, " \t>")
		if fence != "" {
			if strings.HasPrefix(trimmed, fence) && strings.Trim(trimmed, fence[:1]+" \t\r") == "" {
				fence = ""
			}
			continue
		}
		if fence = opensFence(trimmed); fence != "" {
			continue
		}
		line = outsideCode(line)
		for at := 0; len(list) < maxImports; {
			i := strings.IndexByte(line[at:], '@')
			if i < 0 {
				break
			}
			at += i + 1
			word := line[at:]
			if end := strings.IndexAny(word, " \t\r@`"); end >= 0 {
				word = word[:end]
			}
			word = strings.TrimRight(word, ".,;:!?)]}\"'*_")
			if (at == 1 || line[at-2] == ' ' || line[at-2] == '\t') && isImport(word) && !slices.Contains(list, word) {
				list = append(list, word)
			}
		}
	}
	return list
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
