package imports

import (
	"slices"
	"strings"
	"unicode"
)

// InProse returns up to 500 paths after an @ in a text, as Copilot CLI 1.0.102 takes them. A
// path has a slash or a dot, and ends with a blank, a quote, an angle bracket or a backtick;
// punctuation at its end isn't part of it. An @ behind a character of an address doesn't
// count, nor one in code: between lines that begin with three backticks or tildes, or after
// an odd number of backticks in its line. Comments and indented text are no exception.
func InProse(text string) (list []string) {
	fence := ""
	for line := range strings.SplitSeq(text, "\n") {
		if trimmed := strings.TrimSpace(line); strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~") {
			switch fence {
			case "":
				fence = trimmed[:3]
			case trimmed[:3]:
				fence = ""
			}
			continue
		}
		if fence != "" {
			continue
		}
		for i := 0; i < len(line); i++ {
			if line[i] != '@' || i > 0 && isOfAddress(line[i-1]) || strings.Count(line[:i], "`")%2 > 0 {
				continue
			}
			word := line[i+1:]
			if end := strings.IndexFunc(word, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("\"'<>`", r) }); end >= 0 {
				word = word[:end]
			}
			i += len(word)
			word = strings.TrimRight(word, ".,:;!?)]}")
			if word = strings.TrimLeft(word, "@"); strings.ContainsAny(word, "./") && !slices.Contains(list, word) && len(list) < most {
				list = append(list, word)
			}
		}
	}
	return list
}

// isOfAddress reports whether a character can stand before the @ of an address.
func isOfAddress(c byte) bool { return isLetter(c) || strings.IndexByte("._%+-`", c) >= 0 }
