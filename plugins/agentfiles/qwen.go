package agentfiles

import (
	"bytes"
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"waymark/abi"
	"waymark/plugins/conventions"
	"waymark/plugins/internal/yaml"
	guest "waymark/sdk-guest"
	"waymark/sdk-guest/frontmatter"
)

// qwenReader returns the reader of one kind of file: a command needs no front matter, and that
// of a subagent doesn't end with the file.
func qwenReader(c *conventions.Convention) headReader {
	fields := func(block string) (frontmatter.Value, error) {
		v := qwenFields(block)
		for i := range v.Map {
			if m := &v.Map[i]; c.Kind != abi.KindCommand && (m.Key == "name" || m.Key == "description") {
				m.Value.Kind = frontmatter.String
			}
		}
		return v, nil
	}
	return headReader{func(text []byte) (block, rest []byte, err error) { return findQwen(text, c) }, fields, unrepaired}
}

func findQwen(text []byte, c *conventions.Convention) (block, rest []byte, err error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	normal := strings.ReplaceAll(strings.ReplaceAll(string([]rune(string(text))), "\r\n", "\n"), "\r", "\n")
	missing := errors.New("it has no front matter")
	if c.Kind == abi.KindCommand || c.Kind == abi.KindInstructionFile {
		missing = frontmatter.ErrNone
	}
	after, found := strings.CutPrefix(normal, "---\n")
	if !found {
		return nil, []byte(normal), missing
	}
	if c.Kind == abi.KindCommand {
		after = "\n" + after
	}
	for at := 0; ; at++ {
		next := strings.Index(after[at:], "\n---")
		if next < 0 {
			return nil, []byte(normal), missing
		}
		at += next
		tail := after[at+len("\n---"):]
		if tail == "" && (c.Kind != abi.KindSubagent || isSkillFile(c)) || strings.HasPrefix(tail, "\n") {
			return []byte(strings.TrimPrefix(after[:at], "\n")), []byte(strings.TrimPrefix(tail, "\n")), nil
		}
	}
}

// qwenFields takes any value for a text, as JavaScript writes it, and null for none.
func qwenFields(block string) (v frontmatter.Value) {
	doc, err := loadNode(block)
	if err != nil {
		return simpleFields(block)
	}
	v.Kind = frontmatter.Map
	for i := 0; i+1 < len(doc.Content); i += 2 {
		key, n := resolved(doc.Content[i]), resolved(doc.Content[i+1])
		if slices.ContainsFunc(v.Map, func(m frontmatter.Member) bool { return m.Key == key.Value }) {
			return simpleFields(block)
		}
		field := valueOf("", n)
		switch {
		case isNull(n):
			continue
		case n.Kind == yaml.Scalar && strings.HasPrefix(n.Tag, "!") && !strings.HasPrefix(n.Tag, "!!"):
			field = frontmatter.Value{Kind: frontmatter.String, Text: n.Value, Line: 1} // a tag that nobody knows
		case n.Kind == yaml.Mapping:
			field = frontmatter.Value{Kind: frontmatter.Map, Text: "[object Object]", Line: 1}
		case n.Kind == yaml.Sequence:
			field.Text = strings.Join(field.Globs(), ",")
		}
		v.Map = append(v.Map, frontmatter.Member{Key: key.Value, Value: field})
	}
	return v
}

// simpleFields reads what isn't YAML line by line.
func simpleFields(block string) (v frontmatter.Value) {
	v.Kind = frontmatter.Map
	set := func(key string, value frontmatter.Value) {
		value.Line = 1
		v.Map = slices.DeleteFunc(v.Map, func(m frontmatter.Member) bool { return m.Key == key })
		v.Map = append(v.Map, frontmatter.Member{Key: key, Value: value})
	}
	lines := slices.DeleteFunc(strings.Split(block, "\n"), func(line string) bool {
		line = strings.TrimSpace(line)
		return line == "" || strings.HasPrefix(line, "#")
	})
	key := ""
	var list []frontmatter.Value
	inList, inMap := false, false
	for i, line := range lines {
		if item, ok := strings.CutPrefix(line, "  - "); ok {
			inList = true
			list = append(list, simpleValue(strings.TrimSpace(item)))
			continue
		}
		if inList {
			set(key, frontmatter.Value{Kind: frontmatter.List, List: list})
			inList, list, key = false, nil, ""
		}
		if inMap && strings.HasPrefix(line, "  ") {
			continue
		}
		inMap = false
		name, value, found := strings.Cut(line, ":")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		switch {
		case !found:
		case value != "":
			if field := simpleValue(value); field.Kind != frontmatter.Null {
				set(name, field)
			}
		default:
			key = name
			if i+1 < len(lines) && strings.HasPrefix(lines[i+1], "  ") && !strings.HasPrefix(lines[i+1], "  - ") {
				inMap = true
				set(name, frontmatter.Value{Kind: frontmatter.Map, Text: "[object Object]"})
			}
		}
	}
	if inList {
		set(key, frontmatter.Value{Kind: frontmatter.List, List: list})
	}
	return v
}

func simpleValue(text string) frontmatter.Value {
	switch {
	case text == "true" || text == "false":
		return frontmatter.Value{Kind: frontmatter.Bool, Text: text, Line: 1}
	case text == "null":
		return frontmatter.Value{Kind: frontmatter.Null}
	case len(text) > 1 && text[0] == '"' && text[len(text)-1] == '"':
		text = strings.ReplaceAll(strings.ReplaceAll(text[1:len(text)-1], `\"`, `"`), `\\`, `\`)
	default:
		if _, err := strconv.ParseFloat(text, 64); err == nil {
			return frontmatter.Value{Kind: frontmatter.Other, Text: text, Line: 1}
		}
	}
	return frontmatter.Value{Kind: frontmatter.String, Text: text, Line: 1}
}

// asQwen says of a skill, subagent or command what Qwen Code makes of its fields and its
// text. It returns an error for those that it refuses.
func asQwen(r *guest.Resource, c *conventions.Convention, h *head, rest []byte) error {
	description, manual := h.fields.Get("description"), h.fields.Get("disable-model-invocation")
	r.Description = strings.TrimSpace(guest.Truncate(description.Text, abi.MaxDescription))
	if c.Kind == abi.KindCommand {
		when := h.fields.Get("when_to_use")
		if description.Line > 0 && description.Kind != frontmatter.String || manual.Line > 0 && manual.Kind != frontmatter.Bool || when.Line > 0 && when.Kind != frontmatter.String {
			return errors.New("a field has the wrong type")
		}
		if manual.True() {
			attribute(r, "mode", abi.String(modeManual))
		}
		return nil
	}
	name := h.fields.Get("name").Text
	switch {
	case name == "":
		return errors.New("it has no name")
	case r.Description == "":
		return errors.New("it has no description")
	case isSkillFile(c):
		return qwenSkill(r, h, name, manual)
	}
	if mode := h.fields.Get("approvalMode"); mode.Line > 0 && mode.Text != "" && !slices.Contains(qwenModes, mode.Text) {
		return errors.New("there is no such approvalMode")
	}
	if executor := h.fields.Get("executor"); executor.Line > 0 && executor.Kind != frontmatter.Map {
		return errors.New("its executor isn't one")
	}
	if tools := h.fields.Get("tools"); slices.ContainsFunc(tools.List, func(v frontmatter.Value) bool { return v.Kind == frontmatter.String && strings.TrimSpace(v.Text) == "" }) {
		return errors.New("one of its tools has no name")
	}
	return qwenAgent(strings.TrimSpace(name), strings.TrimSpace(string(rest)))
}

func qwenSkill(r *guest.Resource, h *head, name string, manual frontmatter.Value) error {
	if strings.TrimFunc(name, func(c rune) bool { return unicode.In(c, unicode.L, unicode.N) || strings.ContainsRune("_:.-", c) }) != "" {
		return errors.New("its name has another sign than letters, digits and _:.-")
	}
	paths := h.fields.Get("paths")
	if tools := h.fields.Get("allowedTools"); paths.Line > 0 && paths.Kind != frontmatter.List || tools.Line > 0 && tools.Kind != frontmatter.List {
		return errors.New("paths or allowedTools is no list")
	}
	globs := paths.Globs()
	for _, glob := range globs {
		if strings.HasPrefix(glob, "/") || slices.Contains(strings.Split(glob, "/"), "..") {
			return errors.New("one of its paths leads out of the project")
		}
	}
	if when := h.fields.Get("when_to_use"); when.Kind == frontmatter.String && when.Text != "" {
		r.Description = guest.Truncate(r.Description+" — "+when.Text, abi.MaxDescription)
	}
	switch {
	case manual.Text == "true":
		attribute(r, "mode", abi.String(modeManual))
	case len(globs) > 0:
		attribute(r, "mode", abi.String(modeGlob))
		attribute(r, "globs", abi.Strings(globs...))
	}
	return nil
}

// qwenModes are the values of approvalMode.
var qwenModes = []string{"plan", "default", "auto-edit", "auto", "yolo", "bubble"}

// qwenReserved are names that a subagent of Qwen Code can't have.
var qwenReserved = []string{"self", "system", "user", "model", "tool", "config", "default", "main"}

func qwenAgent(name, prompt string) error {
	const shortest, longest, shortestPrompt = 2, 50, 10
	n := utf8.RuneCountInString(name)
	switch {
	case n < shortest || n > longest:
		return errors.New("its name is too short or too long")
	case strings.TrimFunc(name, func(c rune) bool { return unicode.In(c, unicode.L, unicode.N) || c == '_' || c == '-' }) != "" || strings.Trim(name, "_-") != name:
		return errors.New("its name isn't one")
	case slices.Contains(qwenReserved, strings.ToLower(name)):
		return errors.New("its name is reserved")
	case len([]rune(prompt)) < shortestPrompt:
		return errors.New("its text has less than ten characters")
	}
	return nil
}

// asQwenRule makes each rule with paths one that comes with a file.
func asQwenRule(r *guest.Resource, c *conventions.Convention, h *head) {
	if c.Applies.GlobsKey == "" {
		return
	}
	paths := h.fields.Get(c.Applies.GlobsKey)
	globs := paths.Globs()
	switch paths.Kind {
	case frontmatter.List:
	case frontmatter.String:
		globs = slices.DeleteFunc([]string{paths.Text}, func(glob string) bool { return glob == "" })
	default:
		globs = nil
	}
	delete(r.Attributes, "mode")
	delete(r.Attributes, "globs")
	if len(globs) > 0 {
		attribute(r, "mode", abi.String(modeGlob))
		attribute(r, "globs", abi.Strings(globs...))
	}
}
