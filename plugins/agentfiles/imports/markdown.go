package imports

import "strings"

// WordsOutsideCode is Words with what is code in Markdown in the place of backticks, as
// Qwen Code 0.24.4 finds it: blocks and spans, but not in lists and tables, and not in quotes
// of several lines.
func WordsOutsideCode(text string) []string { return words(text, code) }

// code finds blocks and spans of code.
func code(text string) (regions [][2]int) {
	var (
		fence          string
		from           int // of a block of code, or of the paragraph
		paragraph      = -1
		list, table    bool
		html           string // what ends HTML
		blank          = true
		at             int
		endOfParagraph = func() {
			quote := paragraph >= 0 && strings.HasPrefix(strings.TrimLeft(text[paragraph:at], " "), ">")
			goesOn := strings.Contains(text[max(0, paragraph):at], "\n>") || strings.Contains(text[max(0, paragraph):at], "\n >")
			if paragraph >= 0 && (!quote || !goesOn) {
				for _, r := range spans(text[paragraph:at]) {
					regions = append(regions, [2]int{paragraph + r[0], paragraph + r[1]})
				}
			}
			paragraph = -1
		}
	)
	for line := range strings.SplitAfterSeq(text, "\n") {
		trimmed := strings.TrimRight(strings.TrimLeft(line, " "), "\r\n")
		indent := len(line) - len(strings.TrimLeft(line, " "))
		isBlank := strings.TrimSpace(line) == ""
		indented := (indent >= 4 || strings.HasPrefix(trimmed, "\t")) && !isBlank
		if list && blank && indent == 0 && !isBlank && !beginsItem(trimmed) {
			list = false
		}
		switch {
		case fence != "":
			if !indented && strings.HasPrefix(trimmed, fence) && strings.Trim(trimmed, fence[:1]+" \t") == "" {
				regions = append(regions, [2]int{from, at + len(line)})
				fence = ""
			}
		case html != "":
			if html == "\n" && isBlank || html != "\n" && strings.Contains(line, html) {
				html = ""
			}
		case isBlank:
			endOfParagraph()
			table = false
		case list || table:
		case paragraph < 0 && indented:
			regions = append(regions, [2]int{at, at + len(line)})
		case !indented && opensFence(trimmed) != "":
			endOfParagraph()
			fence, from = opensFence(trimmed), at
		case !indented && beginsItem(trimmed) && (paragraph < 0 || trimmed[0] < '0' || trimmed[0] > '9' || strings.HasPrefix(trimmed, "1")):
			endOfParagraph()
			list = true
		case paragraph < 0 && strings.HasPrefix(trimmed, "<!--"):
			if !strings.Contains(line, "-->") {
				html = "-->"
			}
		case paragraph < 0 && beginsHTML(trimmed):
			html = "\n"
		case strings.HasPrefix(trimmed, "#"):
			endOfParagraph()
			paragraph = at
			at += len(line)
			endOfParagraph()
			at -= len(line)
		case paragraph < 0 && strings.HasPrefix(trimmed, "|"):
			table = true
		case paragraph < 0:
			paragraph = at
		}
		at += len(line)
		blank = isBlank
	}
	if fence != "" {
		regions = append(regions, [2]int{from, at})
	}
	endOfParagraph()
	return regions
}

// beginsHTML reports whether a line begins a block of HTML.
func beginsHTML(line string) bool {
	name := strings.TrimPrefix(strings.TrimPrefix(line, "<"), "/")
	return len(name) < len(line) && name != "" && isLetter(name[0]) && strings.Contains(name, ">")
}

// spans finds code between backticks in a paragraph.
func spans(text string) (regions [][2]int) {
	for i := 0; i < len(text); {
		at := strings.IndexByte(text[i:], '`')
		if at < 0 {
			break
		}
		if at += i; at > 0 && text[at-1] == '\\' && (at < 2 || text[at-2] != '\\') {
			i = at + 1
			continue
		}
		rest := strings.TrimLeft(text[at:], "`")
		begin := len(text) - len(rest)
		end := closingTicks(rest, text[at:begin])
		if i = begin; end >= 0 {
			i = begin + end + begin - at
			regions = append(regions, [2]int{at, i})
		}
	}
	return regions
}
