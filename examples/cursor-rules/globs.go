package main

import "strings"

// maxGlobs bounds the globs of one rule, in bytes: rows of many such rules
// still fit into an answer.
const maxGlobs = 4 << 10

// fit returns how many of the globs stay within maxGlobs.
func fit(globs []string) int {
	size := 0
	for i, g := range globs {
		if size += len(g); size > maxGlobs {
			return i
		}
	}
	return len(globs)
}

// list is the value as a list of globs: one text with commas, a list in
// brackets, or one item a line.
func (e entry) list() []string {
	value := uncomment(e.value)
	if strings.HasPrefix(value, "[") {
		value = strings.Join(append([]string{value}, e.more...), " ")
		if inner, isList := strings.CutSuffix(value[1:], "]"); isList {
			return split(inner)
		}
		return split(value) // a class, as in [ab]*.ts
	}
	globs := []string{}
	if !isNull(value) {
		globs = split(unquote(value))
	}
	for _, line := range e.more {
		item, isItem := strings.CutPrefix(line, "-")
		if item = uncomment(strings.TrimSpace(item)); isItem && !isNull(item) {
			globs = append(globs, split(unquote(item))...)
		}
	}
	return globs
}

// split cuts a text at its commas, but not within braces, where they separate
// alternatives, and not within quotes.
func split(s string) []string {
	globs := []string{}
	add := func(glob string) {
		if glob = clean(unquote(strings.TrimSpace(glob))); glob != "" {
			globs = append(globs, glob)
		}
	}
	start, braces, quote := 0, 0, byte(0)
	blank := true // since start
	for i := range len(s) {
		c := s[i]
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case (c == '"' || c == '\'') && blank:
			quote = c
		case c == '{':
			braces++
		case c == '}':
			braces = max(braces-1, 0)
		case c == ',' && braces == 0:
			add(s[start:i])
			start, blank = i+1, true
			continue
		}
		blank = blank && c == ' '
	}
	add(s[start:])
	return globs
}
