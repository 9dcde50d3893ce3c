package codingagents

import (
	"cmp"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"waymark/abi"
	"waymark/host/applicability"
	"waymark/plugins/conventions"
	"waymark/snapshot"
)

// Verdict is what a client makes of one file.
type Verdict struct {
	// Client is the coding agent.
	Client string `json:"client"`
	// Version is the version that the rules describe.
	Version string `json:"version"`
	// Judged says what the rules were compared with; see View.
	Judged string `json:"judged"`
	// Root is the directory that it is started in.
	Root string `json:"root"`
	// Included says that the client has it at its start. If it reads it only later, or when
	// started elsewhere, it isn't included, and When says so.
	Included bool `json:"included"`
	// When says when it reads it: at its `start`; when it works on a `file` of that
	// directory; or only when it is `started_there`. Absent if it doesn't.
	When When `json:"when,omitempty"`
	// CutBytes is how many bytes are cut off.
	CutBytes int64 `json:"cut_bytes" minimum:"0"`
	// Reason is why it isn't included, or not whole.
	Reason Reason `json:"reason,omitempty"`
	// Detail says the reason for a person.
	Detail string `json:"detail,omitempty"`
}

// Placed is a place that a path is in.
type Placed struct {
	// Directory is the directory that the place is relative to; empty if the path is in no
	// place of the client.
	Directory string
	// Row is the convention of the place.
	Row *conventions.Convention
}

// Place returns the place of a client that contains an absolute and clean path, or a skill
// that does. The outermost directory counts: .claude/CLAUDE.md is not the CLAUDE.md of
// .claude.
func (c *Client) Place(file string) Placed {
	rows := c.Rows()
	for i := range conventions.All {
		if row := &conventions.All[i]; row.Scope == conventions.ScopeProject && slices.Contains(row.Readers, c.Reader) {
			rows = append(rows, *row) // what it reads besides, after all that it starts with
		}
	}
	dirs := between("/", filepath.Dir(file))
	for i := range rows {
		for _, dir := range dirs {
			rel, _ := applicability.Below(dir, file)
			if slices.ContainsFunc(rows[i].Places, func(place string) bool { return inPlace(place, rel) }) {
				return Placed{dir, &rows[i]}
			}
		}
	}
	return Placed{}
}

// inPlace reports whether a path matches a place, or is part of a skill there.
func inPlace(place, rel string) bool {
	if doublestar.MatchUnvalidated(place, rel) {
		return true
	}
	above, _, _ := strings.Cut(place, "*")
	rest, ok := strings.CutPrefix(rel, above)
	return ok && rest != "" && path.Base(place) == "SKILL.md"
}

// Verdict says what the client makes of a file, absolute and without links, that is in a
// place of it.
func (v *FileView) Verdict(file string, at Placed) Verdict {
	d := Verdict{Client: v.Client, Version: v.Version, Judged: v.Judged, Root: v.Root}
	c := Lookup(v.Client)
	if it := v.item(file); it != nil {
		d.Included, d.When, d.CutBytes, d.Reason = it.When == AtStart, it.When, it.CutBytes, it.Reason
		d.Detail = it.Why
		if it.Included && !d.Included {
			d.Reason = snapshot.ClientNested
		}
		return d
	}
	switch {
	case at.Row == nil:
		d.Reason, d.Detail = snapshot.ClientNotItsPlace, v.Name+" looks for nothing there: "+c.reads()
		if row := c.users(v.home, file); row != nil {
			d.Reason, d.Detail = snapshot.ClientUsersOwn, "it is "+row.As+", in the place that "+v.Name+" has for every project; what it makes of that isn't looked at"
		}
	case !slices.Contains(c.Conventions(), at.Row.ID):
		d.Reason, d.Detail = snapshot.ClientNotContext, v.Name+" reads it as "+cmp.Or(at.Row.As, "a file of its own")+", and its model doesn't begin with that"
	case at.Directory != v.Project && c.topOnly(at.Row.ID):
		d.Reason, d.Detail = snapshot.ClientElsewhere, "it is read in the top directory of a project"
	case !slices.Contains(v.walk, at.Directory) || at.Directory != v.Root && !c.isNested(at.Row.ID) && isBelow(v.Root, at.Directory):
		d.Reason, d.When, d.Detail = snapshot.ClientNested, StartedThere, v.Name+" reads it where it is started in "+at.Directory
		if !isBelow(at.Directory, v.Root) { // otherwise it would be read now
			d.Detail += " or below"
		}
	default:
		d.Reason, d.Detail = snapshot.ClientNotFound, v.Name+" would look for it, and it wasn't found: what Waymark says of it holds"
	}
	return d
}

func isBelow(dir, path string) bool {
	_, ok := applicability.Below(dir, path)
	return ok
}

// topOnly reports whether instructions are read only in the top directory of a project.
func (c *Client) topOnly(convention string) bool {
	return c.Instructions != nil && slices.ContainsFunc(c.Instructions.Places, func(p Place) bool { return p.Convention == convention && p.TopOnly })
}

func (c *Client) isNested(convention string) bool {
	return slices.ContainsFunc(c.NestedRows(), func(row conventions.Convention) bool { return row.ID == convention })
}

// item returns that of a file, or of the innermost skill that contains it.
func (v *FileView) item(file string) (found *FileItem) {
	for i := range v.Items {
		it := &v.Items[i]
		if it.Path == file || it.find.Source == file {
			return it
		}
		if it.Kind != abi.KindSkill {
			continue
		}
		if _, ok := applicability.Below(filepath.Dir(it.Path), file); ok && (found == nil || len(it.Path) > len(found.Path)) {
			found = it
		}
	}
	return found
}

// reads says where a client looks for what it starts with.
func (c *Client) reads() string {
	var places []string
	for _, row := range c.Rows() {
		if row.Kind == abi.KindPlugin || c.Skills != nil && row.ID == c.Skills.Policy {
			continue // files beside skills
		}
		for _, place := range row.Places {
			place, _, _ = strings.Cut(place, "/*")
			if !slices.Contains(places, place) {
				places = append(places, place)
			}
		}
	}
	return "it looks for " + strings.Join(places, ", ")
}

// users returns the convention of the user's files that a path seems to match.
func (c *Client) users(home, file string) *conventions.Convention {
	rel, ok := applicability.Below(home, file)
	if home == "" || !ok {
		return nil
	}
	for i := range conventions.All {
		row := &conventions.All[i]
		if row.Scope != conventions.ScopeUser || !slices.Contains(row.Readers, c.Reader) {
			continue
		}
		if slices.ContainsFunc(row.Places, func(place string) bool { return inPlace(place, rel) }) {
			return row
		}
	}
	return nil
}
