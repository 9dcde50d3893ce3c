package codingagents

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"waymark/abi"
	"waymark/host/applicability"
	"waymark/internal/text"
	"waymark/plugins/agentfiles/imports"
	"waymark/plugins/conventions"
)

// Comparison is what several coding agents see that are started in one directory, side by
// side.
type Comparison struct {
	// Root is the directory that they are started in, Project the top of its project.
	Root    string `json:"root"`
	Project string `json:"project"`
	// Clients are the coding agents, in the order in which they were asked for.
	Clients []Compared `json:"clients"`
	// Rows are what at least one of them looks at, in the order of the first of them.
	Rows []Row `json:"rows"`
	// Differences are what reaches some of them and not others.
	Differences []Difference `json:"differences"`
}

// Compared is one coding agent of a comparison.
type Compared struct {
	// Client is its id, Name what its makers call it.
	Client string `json:"client"`
	Name   string `json:"name"`
	// Judged says what the rules were compared with; see Client.Judge.
	Judged string `json:"judged"`
	// Tokens is what it starts with of all rows, as an estimate.
	Tokens int64 `json:"tokens" minimum:"0"`
	// NotLookedAt is as in View.
	NotLookedAt []string `json:"not_looked_at"`
}

// Row is one thing, and which coding agents see it.
type Row struct {
	// Kind is that of the resource.
	Kind abi.Kind `json:"kind"`
	// Path is that of the file after links, absolute. Names are the other paths under which it
	// is found.
	Path  string   `json:"path"`
	Names []string `json:"names,omitempty"`
	// Name is what the first coding agent calls it; empty for instructions.
	Name string `json:"name"`
	// User says that it is the user's own, and not the project's.
	User bool `json:"user,omitempty"`
	// Digest is that of the content; empty if it couldn't be read.
	Digest string `json:"digest,omitempty"`
	// Seen says by client what that makes of it. Clients that don't look there are absent.
	Seen map[string]Sight `json:"seen"`

	find *Find
}

// Content is the row's text, as far as it was read.
func (r *Row) Content() string { return string(r.find.Payload) }

// Sight is what one coding agent makes of a row.
type Sight struct {
	// Included says that it sees it, and Reason why it doesn't, or not all of it.
	Included bool   `json:"included"`
	Reason   Reason `json:"reason,omitempty"`
	Detail   string `json:"detail,omitempty"`
}

// Difference is something of the project that reaches some coding agents and not others.
type Difference struct {
	// ID names the difference as long as neither contents nor clients change.
	ID string `json:"id"`
	// Kind is that of the resource.
	Kind abi.Kind `json:"kind"`
	// Drifted says that there are several contents under one name.
	Drifted bool `json:"drifted,omitempty"`
	// Name is the name that is listed, or for instructions the path in the project.
	Name string `json:"name"`
	// Paths are the files, absolute and after links.
	Paths []string `json:"paths"`
	// Has and Lacks are the clients that see it and that don't. With Drifted, all that see
	// any of the contents are in Has.
	Has   []string `json:"has"`
	Lacks []string `json:"lacks"`
	// Text says it for a person.
	Text string `json:"text"`
	// Accepted is the reason for which the project accepts it; absent if it doesn't.
	Accepted string `json:"accepted,omitempty"`
	// Mends are changes that make clients see it.
	Mends []Mend `json:"mends,omitempty"`

	of *Find
}

// Compare compares what the coding agents of some inputs see in one directory. exists reports
// whether there is something at an absolute path, so that no change is proposed there.
func Compare(inputs []*Input, exists func(path string) bool) *Comparison {
	c := compare(inputs)
	n := 0
	for i := range c.Differences {
		c.Differences[i].Mends = mends(inputs, c, &c.Differences[i], exists, &n)
	}
	return c
}

func compare(inputs []*Input) *Comparison {
	c := &Comparison{Clients: []Compared{}, Rows: []Row{}, Differences: []Difference{}}
	index := map[string]int{}
	for _, in := range inputs {
		v := Of(*in)
		c.Root, c.Project = v.Root, v.Project
		one := Compared{Client: v.Client, Name: v.Name, Judged: in.Client.Judge(), NotLookedAt: v.NotLookedAt}
		for i := range v.Items {
			it := &v.Items[i]
			one.Tokens += it.Tokens
			path := cmp.Or(it.find.Source, it.find.Path)
			if it.Kind == abi.KindSkill {
				path = filepath.Join(path, "SKILL.md")
			}
			key := string(it.Kind) + "\x00" + path + "\x00" + it.find.Key
			at, known := index[key]
			if !known {
				at, index[key] = len(c.Rows), len(c.Rows)
				c.Rows = append(c.Rows, Row{
					Kind: it.Kind, Path: path, Name: it.Name, User: it.User, Digest: it.find.ContentHash.String(), Seen: map[string]Sight{}, find: it.find,
				})
			}
			row := &c.Rows[at]
			if it.Path != path && !slices.Contains(row.Names, it.Path) {
				row.Names = append(row.Names, it.Path)
			}
			if before, again := row.Seen[v.Client]; !again || !before.Included && it.Included {
				row.Seen[v.Client] = Sight{Included: it.Included, Reason: it.Reason, Detail: it.Detail}
			}
		}
		for i := range in.Servers {
			c.server(index, v.Client, &in.Servers[i])
		}
		c.Clients = append(c.Clients, one)
	}
	c.differ(inputs)
	return c
}

// server adds a server that a client has.
func (c *Comparison) server(index map[string]int, client string, s *Server) {
	key := string(abi.KindMCPServer) + "\x00" + s.Path + "\x00" + s.Name
	at, known := index[key]
	if !known {
		at, index[key] = len(c.Rows), len(c.Rows)
		find := &Find{Path: s.Path}
		find.ContentHash = s.Digest
		c.Rows = append(c.Rows, Row{Kind: abi.KindMCPServer, Path: s.Path, Name: s.Name, Digest: find.ContentHash.String(), Seen: map[string]Sight{}, find: find})
	}
	c.Rows[at].Seen[client] = Sight{Included: true}
}

// group is rows that count as the same thing.
type group struct {
	kind abi.Kind
	name string
	rows []*Row
}

// groups are the rows of the project that somebody sees: instructions with the same content,
// and others with the same name.
func (c *Comparison) groups() (list []*group) {
	index := map[string]*group{}
	for i := range c.Rows {
		row := &c.Rows[i]
		if row.User || !row.included() || isPersonal(row) || row.isStub() {
			continue
		}
		name, key := row.Name, row.Name
		if row.Kind == abi.KindInstructionFile {
			name, key = c.shorten(row.Path), cmp.Or(row.Digest, row.Path)
		}
		g := index[string(row.Kind)+"\x00"+key]
		if g == nil {
			g = &group{kind: row.Kind, name: name}
			index[string(row.Kind)+"\x00"+key] = g
			list = append(list, g)
		}
		g.rows = append(g.rows, row)
	}
	return list
}

func (c *Comparison) shorten(path string) string {
	if rel, ok := applicability.Below(c.Project, path); ok {
		return rel
	}
	return path
}

func (r *Row) included() bool {
	for _, s := range r.Seen {
		if s.Included {
			return true
		}
	}
	return false
}

// isPersonal reports whether a file is by its name that of one person, and not the team's.
func isPersonal(r *Row) bool { return strings.Contains(filepath.Base(r.Path), ".local.") }

// isStub reports whether a text does nothing but import others.
func (r *Row) isStub() bool {
	if r.Kind != abi.KindInstructionFile || r.find.Payload == nil {
		return false
	}
	rest, list := string(r.find.Payload), imports.Of(string(r.find.Payload))
	for _, path := range list {
		rest = strings.ReplaceAll(rest, "@"+path, "")
	}
	return len(list) > 0 && imports.IsBlank(rest)
}

// speaks reports whether a coding agent has a place for a kind at all.
func (c *Client) speaks(kind abi.Kind) bool {
	switch kind {
	case abi.KindInstructionFile:
		return c.Instructions != nil
	case abi.KindSkill:
		return c.Skills != nil
	case abi.KindMCPServer:
		return slices.ContainsFunc(conventions.All, func(row conventions.Convention) bool {
			return row.Kind == abi.KindMCPConfig && row.Scope == conventions.ScopeProject && slices.Contains(row.Readers, c.Reader)
		})
	}
	return slices.ContainsFunc(c.rows(c.Lists), func(row conventions.Convention) bool { return row.Kind == kind })
}

// differ finds the differences.
func (c *Comparison) differ(inputs []*Input) {
	for _, g := range c.groups() {
		d := Difference{Kind: g.kind, Name: g.name, Has: []string{}, Lacks: []string{}, of: g.rows[0].find}
		digests := map[string]bool{}
		for _, row := range g.rows {
			d.Paths = append(d.Paths, row.Path)
			digests[row.Digest] = true
		}
		for _, in := range inputs {
			switch id := in.Client.ID; {
			case slices.ContainsFunc(g.rows, func(row *Row) bool { return row.Seen[id].Included }):
				d.Has = append(d.Has, id)
			case in.Client.speaks(g.kind):
				d.Lacks = append(d.Lacks, id)
			}
		}
		d.Drifted = len(digests) > 1
		if !d.Drifted && len(d.Lacks) == 0 {
			continue
		}
		d.ID, d.Text = d.id(digests), c.tell(&d)
		c.Differences = append(c.Differences, d)
	}
}

func (d *Difference) id(digests map[string]bool) string {
	parts := []string{string(d.Kind), d.Name, strings.Join(d.Lacks, " ")}
	for digest := range digests {
		parts = append(parts, digest)
	}
	slices.Sort(parts[3:])
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:6])
}

var kindNames = map[abi.Kind]string{abi.KindInstructionFile: "instruction", abi.KindSkill: "skill", abi.KindSubagent: "subagent", abi.KindCommand: "command", abi.KindMCPServer: "server"}

// different says how several files of one name differ.
func different(kind abi.Kind) string {
	if kind == abi.KindMCPServer {
		return "files with different definitions"
	}
	return "files with different contents"
}

func (c *Comparison) tell(d *Difference) string {
	what := kindNames[d.Kind] + " " + d.Name
	var parts []string
	if d.Drifted {
		var paths []string
		for _, path := range d.Paths {
			paths = append(paths, c.shorten(path))
		}
		parts = append(parts, fmt.Sprintf("%s has %s: %s", what, text.Count(len(paths), "file", different(d.Kind)), strings.Join(paths, ", ")))
	}
	if len(d.Lacks) > 0 {
		parts = append(parts, fmt.Sprintf("%s reaches %s, not %s", what, strings.Join(d.Has, ", "), strings.Join(d.Lacks, ", ")))
	}
	return strings.Join(parts, "; ")
}
