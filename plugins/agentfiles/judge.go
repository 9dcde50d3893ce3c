package agentfiles

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"

	"waymark/abi"
	"waymark/plugins/conventions"
	guest "waymark/sdk-guest"
	"waymark/sdk-guest/frontmatter"
)

// The Agent Skills specification's bounds, in characters.
const (
	maxNameLen        = 64
	maxDescriptionLen = 1024
)

// find adds a finding.
func find(r *guest.Resource, code string, severity abi.Severity, message string) {
	if len(r.Findings) < abi.MaxFindings {
		r.Findings = append(r.Findings, guest.Finding{Code: code, Severity: severity, Message: guest.Truncate(message, abi.MaxMessage)})
	}
}

// describeSkill fills in what a skill declares. An error is a reason why clients don't load
// it.
func (f *finder) describeSkill(r *guest.Resource, h *head, dirName string) error {
	var none frontmatter.Value
	name, description, odd := &none, &none, false
	for i := range h.fields.Map { // once, because there are many skills
		switch m := &h.fields.Map[i]; m.Key {
		case "name":
			name = &m.Value
		case "description":
			description = &m.Value
		default:
			odd = true
		}
	}
	if name.Kind != frontmatter.String && name.Kind != frontmatter.Null {
		return errors.New("name is not a string; put it in quotes")
	}
	if description.Kind == frontmatter.String {
		r.Description = guest.Truncate(strings.TrimSpace(description.Text), abi.MaxDescription)
	}
	r.Name = strings.TrimSpace(name.Text)
	if description.Kind != frontmatter.String && description.Kind != frontmatter.Null {
		return errors.New("description is not a string; put it in quotes")
	}
	if h.unquoted {
		find(r, abi.FindingFrontmatterUnquoted, abi.SeverityWarning, unquoted)
	}
	checkName(r, dirName)
	switch {
	case r.Description == "":
		find(r, abi.FindingDescriptionMissing, abi.SeverityError, noDescription)
	case len(description.Text) > maxDescriptionLen && utf8.RuneCountInString(description.Text) > maxDescriptionLen:
		find(r, abi.FindingDescriptionTooLong, abi.SeverityWarning, "description is longer than "+strconv.Itoa(maxDescriptionLen)+" characters")
	}
	if odd {
		unknownFields(r, h.fields)
		f.extras(r, h.fields)
	}
	if f.strict {
		f.judge(r)
	}
	return nil
}

// checkName reports what is wrong with a skill's name, and names it after its directory if it
// has no usable name.
func checkName(r *guest.Resource, dirName string) {
	name := r.Name
	if name == "" {
		find(r, abi.FindingNameMissing, abi.SeverityWarning, "name is missing from the front matter")
		r.Name = guest.Truncate(dirName, abi.MaxName)
		return
	}
	if len(name) > maxNameLen {
		find(r, abi.FindingNameTooLong, abi.SeverityWarning, "name is longer than "+strconv.Itoa(maxNameLen)+" characters")
		r.Name = guest.Truncate(name, abi.MaxName)
	}
	if !isKebab(name) {
		find(r, abi.FindingNameInvalid, abi.SeverityWarning, "name "+quote(name)+" is not kebab-case: a-z, 0-9 and single hyphens between them")
	}
	if name != dirName {
		find(r, abi.FindingNameMismatch, abi.SeverityWarning, "name "+quote(name)+" is not the name of its directory, "+quote(dirName))
	}
}

func isKebab(s string) bool {
	hyphen := true // where a hyphen isn't allowed
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z' || c >= '0' && c <= '9':
			hyphen = false
		case c == '-' && !hyphen:
			hyphen = true
		default:
			return false
		}
	}
	return !hyphen
}

// unknownFields reports fields of a skill that neither the specification nor Claude Code has.
func unknownFields(r *guest.Resource, fields frontmatter.Value) {
	message := ""
	for i := range fields.Map {
		if key := fields.Map[i].Key; !isSkillField(key) && len(message) < abi.MaxMessage {
			if message != "" {
				message += ", "
			}
			message += quote(key)
		}
	}
	if message != "" {
		find(r, abi.FindingUnknownField, abi.SeverityInfo, "fields that skills don't have: "+message)
	}
}

func isSkillField(key string) bool {
	switch key {
	case "name", "description", "license", "compatibility", "metadata", "allowed-tools":
	case "when_to_use", "argument-hint", "arguments", "disable-model-invocation", "user-invocable", "disallowed-tools", "model",
		"effort", "context", "agent", "background", "hooks", "paths", "shell":
	default:
		return false
	}
	return true
}

// unparsed reports front matter, or a whole file, that can't be read. That makes a skill, a
// subagent, or a file that consists of fields unusable; others still have their text.
func (f *finder) unparsed(r *guest.Resource, c *conventions.Convention, err error) {
	if r.Kind == guest.Skill || r.Kind == guest.Subagent || c.Format != conventions.Markdown && r.Kind == guest.Command {
		fail(r, err)
		return
	}
	find(r, abi.FindingFrontmatterInvalid, abi.SeverityWarning, err.Error())
	f.judge(r)
}

// judge makes a resource with a warning invalid if the operator wants that.
func (f *finder) judge(r *guest.Resource) {
	if !f.strict || r.Kind == guest.InstructionFile || r.Status == abi.StatusInvalid {
		return
	}
	for i := range r.Findings {
		if r.Findings[i].Severity != abi.SeverityInfo {
			fail(r, errors.New(r.Findings[i].Message))
			return
		}
	}
}

// extras reads fields that aren't texts: tools, a model, and reasons to withhold the text.
func (f *finder) extras(r *guest.Resource, fields frontmatter.Value) {
	hooks, mcp := false, false
	for i := range fields.Map {
		v := fields.Map[i].Value
		switch fields.Map[i].Key {
		case "tools", "allowed-tools":
			if list := tools(v); len(list) > 0 && r.Kind != guest.InstructionFile {
				attribute(r, "tools", abi.Strings(list...))
			}
		case "model":
			if text := strings.TrimSpace(v.Text); text != "" && v.Kind == frontmatter.String && r.Kind != guest.InstructionFile {
				attribute(r, "model", abi.String(guest.Truncate(text, abi.MaxName)))
			}
		case "hooks":
			hooks = v.Kind != frontmatter.Null
		case "mcpServers", "mcp-servers", "mcp_servers":
			mcp = mcp || v.Kind != frontmatter.Null
		}
	}
	f.withhold(r, hooks, mcp)
}

// withhold withholds a text with hooks or servers that aren't granted.
func (f *finder) withhold(r *guest.Resource, hooks, mcp bool) {
	hooks, mcp = hooks && !f.hooks, mcp && !f.mcp
	var what string
	switch {
	case hooks && mcp:
		what = "hooks and MCP servers"
	case hooks:
		what = "hooks"
	case mcp:
		what = "MCP servers"
	default:
		return
	}
	r.Content.Withheld = true
	find(r, abi.FindingWithheld, abi.SeverityInfo, "its text is withheld, since it may hold "+what)
}

// withholdUnread withholds an unreadable text that may hold hooks or servers.
func (f *finder) withholdUnread(r *guest.Resource, text []byte) {
	f.withhold(r, bytes.Contains(text, []byte("hooks")), bytes.Contains(text, []byte("mcp")))
}

func attribute(r *guest.Resource, key string, v guest.Value) {
	if r.Attributes == nil {
		r.Attributes = map[string]guest.Value{}
	}
	r.Attributes[key] = v
}

// maxTools keeps tools within a resource's attributes, in bytes.
const maxTools = 4 << 10

// tools reads a list of tools: a list, a map of those that are enabled, or a text separated
// by commas or blanks, in which parentheses belong to a tool.
func tools(v frontmatter.Value) (list []string) {
	size := 0
	add := func(name string) {
		if size += len(name); name != "" && size <= maxTools {
			list = append(list, name)
		}
	}
	for _, e := range v.List {
		add(strings.TrimSpace(e.Text))
	}
	for _, m := range v.Map {
		if m.Value.True() {
			add(m.Key)
		}
	}
	start, depth := 0, 0
	for i := range len(v.Text) {
		switch c := v.Text[i]; {
		case c == '(':
			depth++
		case c == ')' && depth > 0:
			depth--
		case depth == 0 && (c == ',' || c == ' ' || c == '\n' || c == '\t'):
			add(v.Text[start:i])
			start = i + 1
		}
	}
	add(v.Text[start:])
	return list
}

// The modes of a resource.
const (
	modeAlways = "always"
	modeGlob   = "glob"
	modeManual = "manual"
)

// apply sets when a file applies.
func apply(r *guest.Resource, c *conventions.Convention, fields frontmatter.Value) {
	a := &c.Applies
	mode, globs := a.Mode, []string(nil)
	if a.GlobsKey != "" {
		globs = fields.Get(a.GlobsKey).Globs()
		if len(globs) == 0 && strings.Contains(a.GlobsKey, ".") {
			globs = fields.Get(strings.Split(a.GlobsKey, ".")...).Globs()
		}
	}
	word := ""
	if a.ModeKey != "" {
		word = modeOf(a, fields.Get(a.ModeKey).Text)
	}
	switch description := fields.Get("description"); {
	case a.ManualKey != "" && fields.Get(a.ManualKey).True():
		mode = modeManual
	case word != "":
		mode = word
	case a.AlwaysKey != "" && fields.Get(a.AlwaysKey).True():
		mode = modeAlways
	case len(globs) > 0 && (a.GlobsOfAll && allMatchAll(globs) || !a.GlobsOfAll && matchesAll(globs)):
		mode = modeAlways
	case len(globs) > 0:
		mode = modeGlob
	case a.Described != "" && strings.TrimSpace(description.Text) != "":
		mode = a.Described
	}
	if mode == "" || mode == modeAlways {
		return
	}
	attribute(r, "mode", abi.String(mode))
	if strings.ContainsAny(strings.Join(globs, ""), "“”‘’„«»") {
		find(r, abi.FindingGlobQuotes, abi.SeverityWarning, "a glob is in typographic quotes, which count as part of it: it matches nothing")
	}
	if mode == modeGlob && len(globs) == 0 && a.Mode == modeGlob {
		find(r, abi.FindingGlobsMissing, abi.SeverityWarning, "it applies by globs, and its field "+a.GlobsKey+" has none: it applies to no file")
	}
	if mode == modeGlob && len(globs) > 0 {
		attribute(r, "globs", abi.Strings(globs...))
	}
}

func modeOf(a *conventions.Applies, text string) string {
	for _, w := range a.Words {
		if w.Is == text {
			return w.Mode
		}
	}
	return ""
}

// allMatchAll is for Applies.GlobsOfAll.
func allMatchAll(globs []string) bool {
	for _, g := range globs {
		if g = strings.TrimSuffix(g, "/**"); g != "" && g != "**" {
			return false
		}
	}
	return true
}

func matchesAll(globs []string) bool {
	for _, g := range globs {
		if g == "**" || g == "**/*" || g == "**/**" {
			return true
		}
	}
	return false
}
