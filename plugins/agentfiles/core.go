package agentfiles

import (
	"bytes"
	"errors"
	"strconv"
	"strings"

	"waymark/abi"
	"waymark/plugins/conventions"
	"waymark/plugins/internal/yaml"
	guest "waymark/sdk-guest"
	"waymark/sdk-guest/frontmatter"
)

// readsRules reports whether the front matter of rules is read in the client's way, too.
func readsRules(heads conventions.Heads) bool {
	return heads == conventions.HeadsContinue || heads == conventions.HeadsCline
}

// findContinue finds front matter between the first two lines that are ---, wherever they
// stand: what comes before is dropped.
func findContinue(text []byte) (block, rest []byte, err error) {
	var at [2]int // where the lines begin, and where the text after them does
	from, found := 0, 0
	for next := 0; next < len(text) && found < 2; {
		begin := next
		line, _, _ := bytes.Cut(text[begin:], []byte("\n"))
		next = min(begin+len(line)+1, len(text))
		if after, ok := bytes.CutPrefix(line, []byte("---")); ok && len(bytes.TrimSpace(after)) == 0 {
			at[found] = begin
			if found++; found == 1 {
				from = next
			} else {
				rest = text[next:]
			}
		}
	}
	if found < 2 {
		return nil, text, frontmatter.ErrNone
	}
	return text[from:at[1]], rest, nil
}

// findCline finds front matter that begins with a first line that is just ---, and ends where
// a later line begins with ---.
func findCline(text []byte) (block, rest []byte, err error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	first, after, open := bytes.Cut(text, []byte("\n"))
	if !open || strings.TrimSuffix(string(first), "\r") != "---" {
		return nil, text, frontmatter.ErrNone
	}
	block, rest, open = bytes.Cut(after, []byte("\n---"))
	if !open {
		return nil, text, frontmatter.ErrNone
	}
	return block, bytes.TrimPrefix(bytes.TrimPrefix(rest, []byte("\r")), []byte("\n")), nil
}

// findClineAgent finds that of a subagent, which ends with the last line of --- that makes it
// one.
func findClineAgent(text []byte) (block, rest []byte, err error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	first, after, open := bytes.Cut(text, []byte("\n"))
	if !open || strings.TrimRight(string(first), " \t\r") != "---" {
		return nil, text, frontmatter.ErrNone
	}
	err = errors.New("no line of --- ends front matter with a name, a description and fields of the right types")
	for next := 0; next < len(after); {
		begin := next
		line, _, _ := bytes.Cut(after[begin:], []byte("\n"))
		next = min(begin+len(line)+1, len(after))
		if strings.TrimRight(string(line), " \t\r") != "---" {
			continue
		}
		if fields, wrong := coreFields(string(after[:begin])); wrong == nil && checkAgent(&fields) == nil {
			block, rest, err = after[:begin], after[next:], nil
		}
	}
	return block, rest, err
}

// checkAgent says what is wrong with the fields of a subagent of Cline.
func checkAgent(fields *frontmatter.Value) error {
	for i := range fields.Map {
		m := &fields.Map[i]
		ok := true
		switch m.Key {
		case "providerId", "modelId":
			ok = m.Value.Kind == frontmatter.String && strings.TrimSpace(m.Value.Text) != ""
		case "maxIterations":
			n, err := strconv.Atoi(m.Value.Text)
			ok = m.Value.Kind == frontmatter.Other && err == nil && n > 0
		case "tools", "skills":
			ok = m.Value.Kind == frontmatter.String || m.Value.Kind == frontmatter.List
			for _, e := range m.Value.List {
				ok = ok && e.Kind == frontmatter.String
			}
		}
		if !ok {
			return errors.New(m.Key + " has a wrong type")
		}
	}
	for _, key := range []string{"name", "description"} {
		if v := fields.Get(key); v.Kind != frontmatter.String || strings.TrimSpace(v.Text) == "" {
			return errors.New(key + " is missing, or not a string")
		}
	}
	return nil
}

// coreFields reads fields by the core schema of YAML 1.2. What isn't a map has no fields.
func coreFields(block string) (v frontmatter.Value, err error) {
	v.Kind = frontmatter.Map
	if !hasContent([]byte(block)) {
		return v, nil
	}
	doc, err := yamlNode(block)
	if err != nil || doc.Kind != yaml.Mapping {
		return v, err
	}
	for i := 0; i+1 < len(doc.Content); i += 2 {
		key := resolved(doc.Content[i]).Value
		if v.Get(key).Line > 0 {
			return v, errors.New("front matter is not valid YAML: key " + quote(key) + " stands twice")
		}
		v.Map = append(v.Map, frontmatter.Member{Key: key, Value: coreValue(resolved(doc.Content[i+1]))})
	}
	return v, nil
}

// isTruthy reports whether JavaScript takes a value for true.
func isTruthy(v frontmatter.Value) bool {
	switch v.Kind {
	case frontmatter.String:
		return v.Text != ""
	case frontmatter.Bool:
		return v.Text == "true"
	case frontmatter.List, frontmatter.Map:
		return true
	case frontmatter.Other:
		return strings.Trim(v.Text, "0.+-") != "" && !strings.EqualFold(v.Text, ".nan")
	}
	return false
}

// asWritten says of a rule, skill or subagent what Continue or Cline makes of it. err is
// what is wrong with its front matter.
func (f *finder) asWritten(r *guest.Resource, c *conventions.Convention, h *head, rest []byte, err error) {
	skill := isSkillFile(c)
	rule := !skill && c.Kind == abi.KindInstructionFile
	if rule && h.size > 0 && err == nil {
		attribute(r, "head_bytes", abi.String(strconv.Itoa(h.size)))
	}
	name, description := h.fields.Get("name"), h.fields.Get("description")
	r.Name, r.Description, r.Findings = strings.TrimSpace(name.Text), guest.Truncate(description.Text, abi.MaxDescription), nil
	if r.Name == "" && !rule {
		find(r, abi.FindingNameMissing, abi.SeverityWarning, "it has no name")
	}
	switch {
	case f.heads == conventions.HeadsContinue && rule:
		if err == nil {
			attributeMode(r, &h.fields)
		}
	case err != nil:
		fail(r, err)
	case f.heads == conventions.HeadsContinue:
		if name.Kind != frontmatter.String || name.Text == "" || description.Kind != frontmatter.String || description.Text == "" {
			fail(r, errors.New("name or description is missing, or not a string"))
		}
	case !rule && !skill:
		if err := checkAgent(&h.fields); err != nil {
			fail(r, err)
			return
		}
		asCline(r, h, rest, false)
	default:
		asCline(r, h, rest, rule)
	}
}

// attributeMode says when a rule of Continue applies.
func attributeMode(r *guest.Resource, fields *frontmatter.Value) {
	always := fields.Get("alwaysApply")
	switch conditional := isTruthy(fields.Get("globs")) || isTruthy(fields.Get("regex")); {
	case isTruthy(fields.Get("invokable")), always.Line > 0 && !always.True():
		attribute(r, "mode", abi.String(modeManual))
	case always.Line == 0 && conditional:
		attribute(r, "mode", abi.String(modeGlob))
	}
}

// asCline checks the types of fields, and whether there is a text below them.
func asCline(r *guest.Resource, h *head, rest []byte, rule bool) {
	for _, key := range []string{"name", "description", "disabled", "enabled"} {
		v := h.fields.Get(key)
		want := frontmatter.String
		if key == "disabled" || key == "enabled" {
			want = frontmatter.Bool
		}
		if v.Line > 0 && v.Kind != frontmatter.Null && v.Kind != want && (key != "description" || !rule) {
			fail(r, errors.New(key+" has a wrong type"))
			return
		}
	}
	switch disabled, enabled := h.fields.Get("disabled"), h.fields.Get("enabled"); {
	case len(bytes.TrimSpace(rest)) == 0:
		if !rule { // a blank rule is known by its size
			fail(r, errors.New("there is no text below its front matter"))
		}
	case disabled.True(), disabled.Kind != frontmatter.Bool && enabled.Kind == frontmatter.Bool && !enabled.True():
		attribute(r, "mode", abi.String(modeManual))
	}
}
