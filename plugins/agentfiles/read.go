package agentfiles

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"

	"waymark/abi"
	"waymark/plugins/conventions"
	"waymark/plugins/internal/places"
	guest "waymark/sdk-guest"
	"waymark/sdk-guest/frontmatter"
	"waymark/sdk-guest/jsonlite"
)

const (
	// fieldsSize holds the front matter of nearly every file, and little of the rest, whose
	// changes are no reason to look at a file again.
	fieldsSize = 1 << 10
	// headSize is where a first line is looked for.
	headSize = 4 << 10
)

// readSkill reads the skill in a directory, if it is one. file is the path of its SKILL.md,
// dirName the directory's own name, whatever path led to it.
func (f *finder) readSkill(c *conventions.Convention, dir, file, dirName string) (part guest.Part) {
	text, read, state := places.Read(f.root, file, f.buf[:fieldsSize])
	if state == places.Absent {
		return part
	}
	r := guest.Resource{Kind: guest.Skill, Path: dir, Content: guest.File(file), Convention: c.ID}
	var n needs
	var err error
	switch {
	case state == places.Invalid:
		err = errors.New(f.metaFile + " is " + places.LinkToDirectory)
	case read:
		var block []byte
		if block, _, err = f.readBlock(file, text); err == nil {
			var h head
			if h, err = f.yaml.parseYAML(block, false); err == nil {
				err = f.describeSkill(&r, &h, dirName)
			}
			n.yaml = h.cost
		}
		if err != nil {
			f.withholdUnread(&r, block)
		}
	}
	if err != nil {
		fail(&r, err)
	}
	f.attributed(c, &r)
	part = encode(&r, n)
	part.Forget = errors.Is(err, errYAMLBudget) // the next run may have more
	return part
}

// readBlock returns the front matter of a file with the given head, and reads more of the
// file if the head doesn't hold all of it. It is empty if the file is gone.
func (f *finder) readBlock(file string, text []byte) (block, rest []byte, err error) {
	limit, complete := places.ReadLimit(f.req), len(text) < fieldsSize
	block, rest, err = frontmatter.Find(text, complete)
	if errors.Is(err, frontmatter.ErrOpen) && !complete && limit > len(text) {
		if text, err = guest.ReadHead(f.root, file, limit+1); err != nil {
			return nil, nil, nil //nolint:nilerr // gone or changed since: the host will see
		}
		block, rest, err = frontmatter.Find(text, len(text) <= limit)
	}
	return block, rest, err
}

// readFile reads a file that isn't a skill.
func (f *finder) readFile(c *conventions.Convention, p string) (part guest.Part) {
	size := headSize
	if c.Format == conventions.Markdown && usesFields(c) {
		size = fieldsSize
	}
	text, read, state := places.Read(f.root, p, f.buf[:size])
	if state == places.Absent {
		return part
	}
	r := guest.Resource{Kind: c.Kind, Path: p, Content: guest.File(p), Convention: c.ID, Name: places.Name(c, f.relative(p))}
	var n needs
	var err error
	switch {
	case state == places.Invalid:
		fail(&r, errors.New(places.LinkToDirectory))
	case read && c.Each != "":
		return f.readEach(c, &r)
	case read:
		err = f.describe(&r, c, text, &n)
	}
	if errors.Is(err, errNoSubagent) {
		return guest.Part{}
	}
	f.attributed(c, &r)
	part = encode(&r, n)
	part.Forget = errors.Is(err, errYAMLBudget) // the next run may have more
	return part
}

// readEach reads a file with a list, and makes a row of each entry.
func (f *finder) readEach(c *conventions.Convention, r *guest.Resource) (part guest.Part) {
	limit := places.ReadLimit(f.req)
	text, err := guest.ReadHead(f.root, r.Path, limit+1)
	if err != nil || len(text) > limit {
		return encode(r, needs{}) // the host says what is wrong
	}
	format := c.Format
	if strings.HasPrefix(strings.TrimSpace(string(text)), "{") {
		format = conventions.JSON
	}
	h, err := f.yaml.parseFile(format, text)
	if err != nil {
		f.withholdUnread(r, text)
		f.unparsed(r, c, err)
		f.attributed(c, r)
		part = encode(r, needs{yaml: h.cost})
		part.Forget = errors.Is(err, errYAMLBudget)
		return part
	}
	var rows []guest.Resource
	described := 0
	seen := map[string]bool{}
	for i, entry := range h.fields.Get(c.Each).List {
		slug := strings.TrimSpace(entry.Get("slug").Text)
		if entry.Kind != frontmatter.Map || slug == "" || seen[slug] || i >= maxEach {
			continue
		}
		seen[slug] = true
		one := guest.Resource{Kind: r.Kind, Path: r.Path, Content: r.Content, Convention: r.Convention, Key: guest.Truncate(slug, abi.MaxName), Name: guest.Truncate(slug, abi.MaxName)}
		f.fields(&one, c, &head{fields: entry})
		if one.Description != "" {
			described += len(`,"description":`) + jsonlite.StringLen(one.Description)
		}
		f.attributed(c, &one)
		rows = append(rows, one)
	}
	if len(rows) == 0 {
		fail(r, errors.New("it has no "+c.Each+" with a slug, so that it defines nothing"))
		f.attributed(c, r)
		rows = []guest.Resource{*r}
	}
	part.Rows, part.Note = guest.Encode(rows...), needs{yaml: h.cost, description: described}.String()
	return part
}

// maxEach bounds the rows of one file.
const maxEach = 100

// errNoSubagent says that a file among subagents isn't one, such as a README.md.
var errNoSubagent = errors.New("it says neither a name nor a description")

// usesFields reports whether anything is taken from the fields of a file's head.
func usesFields(c *conventions.Convention) bool {
	a := &c.Applies
	return c.Name == conventions.FromField || c.Description == conventions.FromField || c.Kind != abi.KindInstructionFile ||
		a.GlobsKey != "" || a.AlwaysKey != "" || a.ModeKey != "" || a.Described != ""
}

// describe fills in what a file declares. The error is one that may be ignored.
func (f *finder) describe(r *guest.Resource, c *conventions.Convention, text []byte, n *needs) error {
	switch c.Format {
	case conventions.Executable:
		return nil
	case conventions.OpenAIYAML:
		return f.describePolicy(r, n)
	case conventions.TOML, conventions.JSON, conventions.YAML:
		return f.describeFile(r, c, n)
	case conventions.Markdown:
		switch {
		case usesFields(c) && f.heads == conventions.HeadsCopilot:
			return f.asCopilot(r, c, text, n)
		case usesFields(c):
			return f.describeFields(r, c, text, n)
		case c.Imports:
			f.imports(r)
		}
	}
	apply(r, c, frontmatter.Value{})
	if c.Description != conventions.FromNothing {
		r.Description = firstLine(text)
	}
	return nil
}

// describeFile reads a file that consists of fields.
func (f *finder) describeFile(r *guest.Resource, c *conventions.Convention, n *needs) error {
	limit := places.ReadLimit(f.req)
	text, err := guest.ReadHead(f.root, r.Path, limit+1)
	if err != nil || len(text) > limit {
		return nil //nolint:nilerr // the host says what is wrong
	}
	h, err := f.yaml.parseFile(c.Format, text)
	n.yaml = h.cost
	if err != nil {
		f.withholdUnread(r, text)
		f.unparsed(r, c, err)
		return err
	}
	f.fields(r, c, &h)
	if f.heads == conventions.HeadsQwen && h.fields.Get("prompt").Kind != frontmatter.String {
		fail(r, errors.New("it has no prompt"))
	}
	return nil
}

// describeFields reads a file that may begin with front matter.
func (f *finder) describeFields(r *guest.Resource, c *conventions.Convention, text []byte, n *needs) error {
	h, block, rest, err := f.readFields(r.Path, text, c)
	n.yaml = h.cost
	if readsRules(f.heads) && !errors.Is(err, errYAMLBudget) {
		f.extras(r, h.fields)
		f.asWritten(r, c, &h, rest, err)
		return nil
	}
	claude := f.heads == conventions.HeadsClaude && c.Kind != abi.KindInstructionFile
	if claude && err != nil && !errors.Is(err, errYAMLBudget) {
		h.fields, err = frontmatter.Value{Kind: frontmatter.Map}, nil
	}
	if err != nil {
		f.withholdUnread(r, block)
		f.unparsed(r, c, err)
		return err
	}
	if c.Kind == abi.KindSubagent && c.Name == conventions.FromField && f.heads == conventions.HeadsOwn && h.fields.Get("name").Kind == frontmatter.Null && h.fields.Get("description").Kind == frontmatter.Null {
		return errNoSubagent
	}
	if h.unquoted && c.Kind != abi.KindInstructionFile {
		find(r, abi.FindingFrontmatterUnquoted, abi.SeverityWarning, unquoted)
	}
	if c.Imports {
		f.imports(r)
	}
	f.fields(r, c, &h)
	switch {
	case claude:
		asClaude(r, c, &h, rest)
		return nil
	case f.heads == conventions.HeadsQwen && c.Kind == abi.KindInstructionFile:
		asQwenRule(r, c, &h)
	case f.heads == conventions.HeadsQwen:
		if err = asQwen(r, c, &h, rest); err != nil {
			fail(r, err)
		}
		return err
	}
	if description := h.fields.Get("description"); f.heads == conventions.HeadsMatter && c.Kind == abi.KindSubagent && description.Line > 0 && description.Kind != frontmatter.String {
		fail(r, errors.New("description is not a text"))
	}
	if f.heads == conventions.HeadsYAML && c.Kind != abi.KindInstructionFile && h.fields.Get("disable-model-invocation").True() {
		attribute(r, "mode", abi.String(modeManual))
	}
	if r.Description == "" && c.Description != conventions.FromNothing && c.Kind != abi.KindSubagent {
		r.Description = firstLine(rest)
	}
	return nil
}

// readFields reads the front matter, if any, of a file with the given head.
func (f *finder) readFields(file string, text []byte, c *conventions.Convention) (h head, block, rest []byte, err error) {
	if f.heads != conventions.HeadsOwn && (c.Kind != abi.KindInstructionFile || readsRules(f.heads) || f.heads == conventions.HeadsQwen && c.Applies.GlobsKey != "") {
		h, block, rest, err = f.readHead(file, text, c)
	} else if block, rest, err = f.readBlock(file, text); err == nil {
		h, err = f.yaml.parseYAML(block, c.Kind == abi.KindInstructionFile)
	}
	if errors.Is(err, frontmatter.ErrNone) {
		rest, err = text, nil
	}
	return h, block, rest, err
}

const unquoted = "front matter is YAML only once its values with a colon are quoted"

// fields takes name, description and the rest from a file's fields.
func (f *finder) fields(r *guest.Resource, c *conventions.Convention, h *head) {
	name, description := h.fields.Get("name"), h.fields.Get("description")
	if c.Name == conventions.FromField {
		text := strings.TrimSpace(name.Text)
		switch {
		case name.Kind == frontmatter.String && text != "":
			r.Name = guest.Truncate(text, abi.MaxName)
		case c.Kind == abi.KindSubagent && (f.heads != conventions.HeadsLines || name.Kind != frontmatter.String):
			find(r, abi.FindingNameMissing, abi.SeverityWarning, "it has no name: the name of the file stands for it")
		}
		if c.Kind == abi.KindSubagent && (strings.Contains(r.Name, ":") || strings.HasPrefix(r.Name, "-")) {
			find(r, abi.FindingNameInvalid, abi.SeverityWarning, "the name has a colon, or begins with a hyphen")
		}
	}
	if description.Kind == frontmatter.String && c.Description == conventions.FromField {
		r.Description = guest.Truncate(strings.TrimSpace(description.Text), abi.MaxDescription)
	}
	if c.Kind == abi.KindSubagent && c.Description == conventions.FromField && r.Description == "" {
		find(r, abi.FindingDescriptionMissing, abi.SeverityError, noDescription)
	}
	apply(r, c, h.fields)
	f.extras(r, h.fields)
	f.judge(r)
}

const noDescription = "there is no description: agents don't know when to use it"

// maxRunes keeps a description to a line or two of a table.
const maxRunes = 200

// firstLine returns the first non-empty line without its heading marks. Bytes that aren't
// UTF-8 and control characters become spaces.
func firstLine(head []byte) string {
	text := strings.TrimPrefix(string(head), "\ufeff")
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(line), "#"))
		if line = strings.TrimSpace(clean(line)); line != "" {
			return line
		}
	}
	return ""
}

func clean(line string) string {
	var b strings.Builder
	runes := 0
	for _, r := range line {
		if runes++; runes > maxRunes {
			return strings.TrimSpace(b.String()) + "…"
		}
		if r == utf8.RuneError || r < ' ' || r >= 0x7f && r < 0xa0 {
			r = ' '
		}
		b.WriteRune(r)
	}
	return b.String()
}

func quote(s string) string { return strconv.Quote(guest.Truncate(s, 128)) }

// relative returns a path relative to where the places begin. A plugin's manifest may name
// another directory in the plugin, which is still below it.
func (f *finder) relative(p string) string { return strings.TrimPrefix(p, f.below) }
