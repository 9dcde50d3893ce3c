package agentfiles

import (
	"bytes"
	"strings"

	"waymark/abi"
	"waymark/plugins/conventions"
	"waymark/plugins/internal/places"
	"waymark/plugins/internal/yaml"
	guest "waymark/sdk-guest"
	"waymark/sdk-guest/frontmatter"
)

// findClaude finds front matter that begins with the first line, and ends with the next ---,
// wherever that stands.
func findClaude(text []byte) (block, rest []byte, err error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	after, found := bytes.CutPrefix(text, []byte("---"))
	first, after, open := bytes.Cut(after, []byte("\n"))
	if !found || !open || len(bytes.TrimSpace(first)) > 0 {
		return nil, text, frontmatter.ErrNone
	}
	if block, rest, found = bytes.Cut(after, []byte("---")); !found {
		return nil, text, frontmatter.ErrNone
	}
	return []byte(string([]rune(string(block)))), rest, nil
}

// noText is a key beside those of front matter: its description is a number, say, which
// describes a skill and no subagent.
const noText = " description"

// claudeFields takes any scalar for a text.
func claudeFields(block string) (v frontmatter.Value, err error) {
	v.Kind = frontmatter.Map
	if !hasContent([]byte(block)) {
		return v, nil
	}
	doc, err := loadNode(block)
	if err != nil {
		return v, err
	}
	for i := 0; i+1 < len(doc.Content); i += 2 {
		key, n := resolved(doc.Content[i]), resolved(doc.Content[i+1])
		field := valueOf("", n)
		if key.Value == "description" && n.Kind == yaml.Scalar && n.Tag != yaml.TagStr {
			v.Map = append(v.Map, frontmatter.Member{Key: noText, Value: frontmatter.Value{Kind: frontmatter.Bool, Text: "true"}})
		}
		if n.Kind == yaml.Scalar && n.Tag != yaml.TagNull {
			field = frontmatter.Value{Kind: frontmatter.String, Text: n.Value, Line: 1}
		}
		v.Map = append(v.Map, frontmatter.Member{Key: key.Value, Value: field})
	}
	return v, nil
}

// quoteSigns puts values in quotes that have a sign of YAML's in them.
func quoteSigns(block string) (repaired string, changed bool) {
	lines := strings.Split(block, "\n")
	for i, line := range lines {
		key, value, found := strings.Cut(line, ":")
		text := strings.TrimSpace(value)
		if !found || strings.HasSuffix(line, "\r") || // which the program's pattern doesn't match
			text == "" || text == value || !isKey(key) || isQuoted(text) || !strings.ContainsAny(text, "{}[]*&#!|>%@`") && !strings.Contains(text, ": ") {
			continue
		}
		lines[i], changed = key+`: "`+strings.ReplaceAll(strings.ReplaceAll(text, `\`, `\\`), `"`, `\"`)+`"`, true
	}
	return strings.Join(lines, "\n"), changed
}

func isKey(text string) bool {
	for i := range len(text) {
		if c := text[i]; c != '_' && c != '-' && (c|0x20 < 'a' || c|0x20 > 'z') {
			return false
		}
	}
	return text != ""
}

func isQuoted(text string) bool {
	return len(text) > 1 && (text[0] == '"' || text[0] == '\'') && text[len(text)-1] == text[0]
}

// asClaude says of a skill, command or subagent what Claude Code makes of its fields and its
// text.
func asClaude(r *guest.Resource, c *conventions.Convention, h *head, rest []byte) {
	if r.Description == "" && c.Kind == abi.KindCommand || r.Description == "" && isSkillFile(c) {
		r.Description = claudeLine(rest, isSkillFile(c))
	}
	if when := strings.TrimSpace(h.fields.Get("when_to_use").Text); when != "" && isSkillFile(c) {
		r.Description = guest.Truncate(r.Description+" - "+when, abi.MaxDescription)
	}
	if r.Description = strings.Join(strings.Fields(r.Description), " "); c.Kind == abi.KindSubagent && !isSkillFile(c) {
		if h.fields.Get(noText).True() {
			r.Description = ""
		}
		return
	}
	switch globs := h.fields.Get("paths").Globs(); {
	case isTrue(h.fields.Get("disable-model-invocation").Text):
		attribute(r, "mode", abi.String(modeManual))
	case isSkillFile(c) && len(globs) > 0 && !allMatchAll(globs):
		attribute(r, "mode", abi.String(modeGlob))
		attribute(r, "globs", abi.Strings(globs...))
	}
}

// isSkillFile reports whether a convention is that of skills of one client: see
// codingagents.
func isSkillFile(c *conventions.Convention) bool {
	for _, place := range c.Places {
		if strings.HasSuffix(place, "/"+places.SkillFile) {
			return true
		}
	}
	return false
}

func isTrue(text string) bool {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "true", "1", "yes", "on":
		return true
	}
	return false
}

// claudeLine is the first line of a text without the marks of a heading.
func claudeLine(text []byte, skill bool) string {
	const limit, dots = 100, "..."
	for line := range strings.SplitSeq(string(text), "\n") {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if heading := strings.TrimLeft(line, "#"); heading != line && strings.HasPrefix(heading, " ") && strings.TrimSpace(heading) != "" {
			line = strings.TrimSpace(heading)
		}
		if runes := []rune(line); len(runes) > limit {
			line = string(runes[:limit-len(dots)]) + dots
		}
		return line
	}
	if skill {
		return "Skill"
	}
	return "Custom command"
}
