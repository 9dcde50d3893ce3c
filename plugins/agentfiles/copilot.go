package agentfiles

import (
	"bytes"
	"errors"
	"path"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"waymark/abi"
	"waymark/plugins/conventions"
	"waymark/plugins/internal/yaml"
	guest "waymark/sdk-guest"
	"waymark/sdk-guest/frontmatter"
)

// asCopilot fills in what Copilot CLI makes of a rule, a skill, a command or a subagent. The
// convention of skills has the kind of subagents; see isSkillFile.
func (f *finder) asCopilot(r *guest.Resource, c *conventions.Convention, text []byte, n *needs) error {
	h, block, rest, err := f.readHead(r.Path, text, c)
	n.yaml = h.cost
	if errors.Is(err, errYAMLBudget) {
		f.withholdUnread(r, block)
		f.unparsed(r, c, err)
		return err
	}
	none := errors.Is(err, frontmatter.ErrNone)
	if none && (c.Kind == abi.KindInstructionFile || c.Kind == abi.KindCommand && !bytes.HasPrefix(bytes.TrimSpace(text), []byte("---"))) {
		rest, err = text, nil
	}
	if c.Kind == abi.KindInstructionFile {
		copilotRule(r, &h, string(block), err)
		return nil
	}
	skill := c.Kind == abi.KindCommand || isSkillFile(c)
	switch {
	case none && err != nil:
		err = errors.New("it has no front matter")
	case err == nil && skill:
		err = copilotSkill(r, c, &h, rest)
	case err == nil:
		err = copilotAgent(r, &h, block)
	}
	if err != nil {
		f.withholdUnread(r, block)
		fail(r, err)
		return nil
	}
	f.extras(r, h.fields)
	return nil
}

// findCopilot finds front matter between lines that are just ---, with blanks after it.
func findCopilot(text []byte) (block, rest []byte, err error) {
	return cutHead(text, func(line string) bool { return strings.TrimRight(line, " \t\r") == "---" })
}

// findRule finds that of a rule, which any line ends that begins with ---.
func findRule(text []byte) (block, rest []byte, err error) {
	return cutHead(text, func(line string) bool { return strings.HasPrefix(line, "---") })
}

func cutHead(text []byte, ends func(line string) bool) (block, rest []byte, err error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	first, after, found := bytes.Cut(text, []byte("\n"))
	if !found || strings.TrimRight(string(first), " \t\r") != "---" {
		return nil, text, frontmatter.ErrNone
	}
	for block := after; ; {
		line, next, more := bytes.Cut(after, []byte("\n"))
		if ends(string(line)) {
			block = block[:len(block)-len(after)]
			return []byte(string([]rune(string(block)))), next, nil // what isn't UTF-8 becomes U+FFFD
		}
		if after = next; !more {
			return nil, text, frontmatter.ErrNone
		}
	}
}

// copilotFields keeps the types of values. A date is a text.
func copilotFields(block string) (v frontmatter.Value, err error) {
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
		if key.Kind == yaml.Scalar && v.Get(key.Value).Line > 0 {
			return v, errors.New("key " + quote(key.Value) + " stands twice")
		}
		field := valueOf("", n)
		if n.Kind == yaml.Scalar && field.Kind == frontmatter.Other && (isDate(n.Value) || strings.HasPrefix(n.Tag, "!") && !strings.HasPrefix(n.Tag, "!!")) {
			field = frontmatter.Value{Kind: frontmatter.String, Text: n.Value, Line: 1}
		}
		v.Map = append(v.Map, frontmatter.Member{Key: key.Value, Value: field})
	}
	return v, nil
}

// isDate reports whether a text is a date to some readers of YAML.
func isDate(text string) bool {
	return len(text) >= len("2026-01-02") && text[4] == '-' && text[7] == '-' && strings.Trim(text, "0123456789-:.TtZz +") == ""
}

// copilotRule says to which files a rule applies. Text that isn't YAML is read by lines.
func copilotRule(r *guest.Resource, h *head, block string, err error) {
	globs := func(key string) (list []string) {
		v := h.fields.Get(key)
		if err != nil {
			v = frontmatter.Value{Kind: frontmatter.String, Text: fieldOf(block, key)}
		}
		if v.Kind == frontmatter.List {
			for _, e := range v.List {
				if e.Kind == frontmatter.String {
					list = append(list, e.Text)
				}
			}
			return list
		}
		if v.Kind != frontmatter.String {
			return nil
		}
		return v.Globs()
	}
	list := globs("applyTo")
	if len(list) == 0 {
		list = globs("paths")
	}
	other := h.fields.Get("excludeAgent")
	names := append([]frontmatter.Value{other}, other.List...)
	switch {
	case slices.ContainsFunc(names, func(v frontmatter.Value) bool { return v.Text == "coding-agent" || v.Text == "cloud-agent" }):
		attribute(r, "mode", abi.String(modeManual))
	case slices.ContainsFunc(list, func(glob string) bool { return glob != "*" && glob != "**" && glob != "**/*" }):
		attribute(r, "mode", abi.String(modeGlob))
		attribute(r, "globs", abi.Strings(list...))
	}
}

// fieldOf is what stands behind a key in a block that isn't YAML.
func fieldOf(block, key string) string {
	for line := range strings.SplitSeq(block, "\n") {
		if rest, found := strings.CutPrefix(line, key+":"); found {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}

// copilotSkill says what a skill or a command is called, and what for.
func copilotSkill(r *guest.Resource, c *conventions.Convention, h *head, rest []byte) error {
	name, given := h.fields.Get("name"), h.fields.Get("description")
	text := strings.TrimSpace(name.Text)
	switch {
	case name.Line == 0 && c.Kind == abi.KindCommand:
		text = strings.TrimSuffix(path.Base(r.Path), path.Ext(r.Path))
	case name.Line == 0:
		text = path.Base(path.Dir(r.Path))
	case name.Kind != frontmatter.String:
		return errors.New("its name is not a text")
	}
	for i := range len(text) {
		if first := text[i]|0x20 >= 'a' && text[i]|0x20 <= 'z' || text[i] >= '0' && text[i] <= '9'; !first && (i == 0 || !strings.Contains("-_.: ", text[i:i+1])) {
			return errors.New("its name has a sign that names can't have there: " + quote(text))
		}
	}
	if text == "" || len(text) > 64 {
		return errors.New("its name is empty, or longer than 64 characters")
	}
	r.Name = strings.Join(strings.Fields(text), "-")
	const longest = 1024
	switch {
	case given.Line > 0 && given.Kind != frontmatter.String:
		return errors.New("its description is not a text")
	case len(utf16.Encode([]rune(given.Text))) > longest:
		return errors.New("its description has more than 1024 characters")
	}
	if r.Description = strings.TrimRight(given.Text, "\n"); given.Line == 0 {
		r.Description = firstThree(rest, longest)
	}
	for _, key := range []string{"allowed-tools", "argument-hint", "disable-model-invocation", "user-invocable"} {
		v := h.fields.Get(key)
		right := v.Kind == frontmatter.String
		switch key {
		case "allowed-tools":
			right = right || v.Kind == frontmatter.List && !slices.ContainsFunc(v.List, func(e frontmatter.Value) bool { return e.Kind != frontmatter.String })
		case "disable-model-invocation":
			right = v.Kind == frontmatter.Bool
		case "user-invocable":
			right = v.Kind == frontmatter.Bool || c.Kind == abi.KindCommand
		}
		if v.Line > 0 && !right {
			return errors.New("its " + key + " is none")
		}
	}
	if h.fields.Get("disable-model-invocation").True() {
		attribute(r, "mode", abi.String(modeManual))
	}
	return nil
}

// firstThree is the text of the first three lines that aren't blank and no headings, cut to a
// number of characters.
func firstThree(text []byte, longest int) string {
	var lines []string
	for line := range strings.SplitSeq(string(text), "\n") {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' && len(lines) < 3 {
			lines = append(lines, line)
		}
	}
	runes := []rune(strings.Join(lines, " "))
	return guest.Truncate(string(runes[:min(len(runes), longest)]), abi.MaxDescription)
}

// copilotAgent says what a subagent is called, and what for. Its fields must have their types.
func copilotAgent(r *guest.Resource, h *head, block []byte) error {
	if bytes.Contains(block, []byte("\ufffd")) || !utf8.Valid(block) {
		return errNotUTF8
	}
	for i := range h.fields.Map {
		m := &h.fields.Map[i]
		texts := m.Value.Kind == frontmatter.List && !slices.ContainsFunc(m.Value.List, func(e frontmatter.Value) bool { return e.Kind != frontmatter.String })
		right := true
		switch m.Key {
		case "name", "description":
			right = m.Value.Kind == frontmatter.String
		case "user-invocable", "disable-model-invocation", "infer", "include-custom-instructions", "deferred-tool-loading":
			right = m.Value.Kind == frontmatter.Bool
		case "tools", "model":
			right = m.Value.Kind == frontmatter.String || texts
		case "skills":
			right = texts
		case "reasoning-effort":
			right = m.Value.Kind == frontmatter.String
		case "hooks", "github":
			right = m.Value.Kind == frontmatter.Map
		case "mcp-servers":
			right = m.Value.Kind == frontmatter.Map || m.Value.Kind == frontmatter.Null
		}
		if !right {
			return errors.New("its " + m.Key + " is none")
		}
	}
	given := h.fields.Get("description")
	if given.Line == 0 {
		return errors.New(noDescription)
	}
	r.Description = guest.Truncate(strings.TrimRight(given.Text, "\n"), abi.MaxDescription)
	if name := h.fields.Get("name").Text; name != "" {
		r.Name = guest.Truncate(name, abi.MaxName)
	} else {
		r.Name = strings.TrimSuffix(strings.TrimSuffix(path.Base(r.Path), path.Ext(r.Path)), ".agent")
	}
	manual := h.fields.Get("disable-model-invocation")
	if manual.True() || manual.Line == 0 && h.fields.Get("infer").Kind == frontmatter.Bool && !h.fields.Get("infer").True() {
		attribute(r, "mode", abi.String(modeManual))
	}
	return nil
}
