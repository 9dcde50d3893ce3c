package main

import (
	"errors"
	"io/fs"
	"strings"
	"unicode/utf8"

	"waymark/abi"
	guest "waymark/sdk-guest"
	"waymark/sdk-guest/frontmatter"
)

// headSize holds the front matter of nearly every rule.
const headSize = 4 << 10

// maxDescription keeps a description on some lines of a table; an agent that
// picks rules by them needs no more either.
const maxDescription = 1 << 10

// readRule makes the row of one rule. Its name is where it is below .cursor/rules.
func (f *finder) readRule(file, project string) (part guest.Part) {
	_, name, _ := strings.Cut(file, rulesDir+"/")
	r := guest.Resource{
		Kind: guest.InstructionFile, Path: file, Content: guest.File(file),
		Name: guest.Truncate(strings.TrimSuffix(name, ruleExt), abi.MaxName),
	}
	head, err := guest.ReadHead(f.root, file, headSize)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !f.isLink(file):
		return part // gone since it was listed
	case err != nil:
		if info, statErr := fs.Stat(f.root, file); statErr == nil && info.IsDir() {
			r.Status, r.Error = abi.StatusInvalid, "a link to a directory, where a file belongs"
		} // else the host opens it, and knows the reason
	default:
		part.Warnings = f.describe(&r, head, project)
	}
	part.Rows = guest.Encode(r)
	return part
}

func (f *finder) isLink(file string) bool {
	info, err := fs.Lstat(f.root, file)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// describe fills in what the front matter says, or why it says nothing.
func (f *finder) describe(r *guest.Resource, head []byte, project string) (warnings []string) {
	block, body, err := f.split(r.Path, head)
	if err != nil {
		r.Status, r.Error = abi.StatusInvalid, err.Error()
		return nil
	}
	m := readMeta(block)
	if r.Description = m.description; r.Description == "" {
		r.Description = firstLine(body)
	}
	r.Description = guest.Truncate(r.Description, maxDescription)
	r.Attributes = m.attributes(project)
	for _, warning := range m.warnings {
		warnings = append(warnings, r.Path+": "+warning)
	}
	return warnings
}

// split returns a rule's front matter, which need not be there, and the start
// of its text.
func (f *finder) split(file string, head []byte) (block, body []byte, err error) {
	limit, complete := f.req.MaxBytes(), len(head) < headSize
	block, body, err = frontmatter.Find(head, complete)
	if errors.Is(err, frontmatter.ErrOpen) && !complete && limit > headSize {
		if more, readErr := guest.ReadHead(f.root, file, limit+1); readErr == nil {
			head, complete = more, len(more) <= limit
			block, body, err = frontmatter.Find(head, complete)
		}
	}
	if errors.Is(err, frontmatter.ErrNone) {
		return nil, head, nil
	}
	return block, body, err
}

// attributes are mode and globs, and for a rule of a directory below the root
// that directory. Such a rule applies there at most.
func (m meta) attributes(project string) map[string]guest.Value {
	mode := "manual"
	switch {
	case m.always && project != ".":
		mode, m.globs = "glob", []string{project + "/**"}
	case m.always:
		mode = "always"
	case len(m.globs) > 0:
		mode = "glob"
	case m.description != "":
		mode = "model"
	}
	attributes := map[string]guest.Value{"mode": abi.String(mode)}
	if len(m.globs) > 0 {
		attributes["globs"] = abi.Strings(m.globs...)
	}
	if project != "." {
		attributes["directory"] = abi.String(project)
	}
	return attributes
}

// firstLine is the first line of a text that says something, without heading
// marks.
func firstLine(text []byte) string {
	for line := range strings.SplitSeq(string(text), "\n") {
		if line = clean(strings.TrimLeft(strings.TrimSpace(line), "#")); line != "" {
			return line
		}
	}
	return ""
}

// clean makes one line of valid text of what may be anything.
func clean(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r == utf8.RuneError || r == '\ufeff' || r < ' ' || r >= 0x7f && r < 0xa0 {
			return ' '
		}
		return r
	}, s))
}
