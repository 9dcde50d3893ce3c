package main

import (
	"strings"
)

// meta is what the front matter of a rule says.
type meta struct {
	description string
	globs       []string
	always      bool
	warnings    []string // about what can't be meant, for a person
}

// entry is one key with its value; more are the lines that belong to it.
type entry struct {
	key, value string
	more       []string
}

// readMeta reads front matter as Cursor's users write it. It isn't YAML, but
// everything that Cursor's own editor writes is understood, and so are lists,
// quotes and folded texts.
func readMeta(block []byte) (m meta) {
	seen := make(map[string]bool)
	for _, e := range entries(string(block)) {
		if seen[e.key] {
			m.warn(e.key + " stands twice; the first one counts")
			continue
		}
		switch e.key {
		case "description":
			m.description = e.text()
		case "globs":
			m.globs = e.list()
			if n := fit(m.globs); n < len(m.globs) {
				m.globs = m.globs[:n]
				m.warn("too many globs; the first ones count")
			}
		case "alwaysApply":
			m.setAlways(e.value)
		default:
			continue
		}
		seen[e.key] = true
	}
	return m
}

func (m *meta) warn(text string) {
	if len(m.warnings) < 4 { // one for each key, and one more
		m.warnings = append(m.warnings, text)
	}
}

// setAlways reads a boolean. Cursor takes a text like "true" for no boolean,
// and so the rule as one that doesn't always apply.
func (m *meta) setAlways(value string) {
	switch plain := uncomment(value); plain {
	case "true", "True", "TRUE":
		m.always = true
	case "false", "False", "FALSE", "", "~", "null", "Null", "NULL":
	default:
		m.warn("alwaysApply must be true or false, without quotes; taken as false")
	}
}

// entries cuts a block into its keys.
func entries(block string) (list []entry) {
	for line := range strings.SplitSeq(block, "\n") {
		line = strings.TrimRight(line, " \t\r")
		trimmed := strings.TrimLeft(line, " \t")
		if trimmed == "" || trimmed[0] == '#' {
			continue
		}
		key, value, isKey := strings.Cut(line, ":")
		if isKey && trimmed == line && trimmed[0] != '-' {
			list = append(list, entry{key: clean(key), value: strings.TrimSpace(value)})
		} else if len(list) > 0 {
			last := &list[len(list)-1]
			last.more = append(last.more, trimmed)
		}
	}
	return list
}

// text is the value as one line.
func (e entry) text() string {
	lines := e.more
	if !isBlockMark(e.value) {
		lines = append([]string{e.value}, lines...)
	}
	text := strings.TrimSpace(strings.Join(lines, " "))
	if isNull(text) {
		return ""
	}
	return clean(unquote(text))
}

// isBlockMark reports whether a value says that the text follows, as | and >-
// do.
func isBlockMark(value string) bool {
	return value != "" && (value[0] == '|' || value[0] == '>') && strings.Trim(value[1:], "+-123456789") == ""
}

func isNull(value string) bool {
	switch value {
	case "", "~", "null", "Null", "NULL":
		return true
	}
	return false
}

// unquote takes a pair of quotes off, and with it the escapes of \ and " in
// double ones and of ' in single ones.
func unquote(s string) string {
	if len(s) < 2 || s[0] != s[len(s)-1] {
		return s
	}
	inner := s[1 : len(s)-1]
	switch s[0] {
	case '"':
		return strings.NewReplacer(`\\`, `\`, `\"`, `"`).Replace(inner)
	case '\'':
		return strings.ReplaceAll(inner, "''", "'")
	}
	return s
}

// uncomment takes a comment off, which begins with " #" outside of quotes.
func uncomment(s string) string {
	quote := byte(0)
	for i := range len(s) {
		switch c := s[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case (c == '"' || c == '\'') && (i == 0 || strings.IndexByte(" [,", s[i-1]) >= 0):
			quote = c
		case c == '#' && i > 0 && s[i-1] == ' ':
			return strings.TrimSpace(s[:i])
		}
	}
	return strings.TrimSpace(s)
}
