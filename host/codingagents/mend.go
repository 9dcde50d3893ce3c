package codingagents

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"waymark/abi"
	"waymark/host/applicability"
	"waymark/internal/text"
	"waymark/plugins/conventions"
	"waymark/snapshot"
)

// MendAction is what a change does.
type MendAction string

// The actions.
const (
	MendCreate MendAction = "create" // a file with Text
	MendInsert MendAction = "insert" // Text before the first line of a file
	MendLink   MendAction = "link"   // a link to Target
)

// Mend is one change of one file that makes coding agents see something. By their rules they
// then see it, and all of them still see all that they saw.
type Mend struct {
	// N is its number in the comparison, from 1.
	N int `json:"n" minimum:"1"`
	// Clients are the coding agents that it helps.
	Clients []string `json:"clients"`
	// Judged says that the rules of all of these were compared with the program.
	Judged bool `json:"judged"`
	// Action is what is done with Path, an absolute path in the project.
	Action MendAction `json:"action"`
	Path   string     `json:"path"`
	// Text is what is written, Target what a link leads to, relative to its directory.
	Text   string `json:"text,omitempty"`
	Target string `json:"target,omitempty"`
	// Command does it in a shell that is in the project.
	Command string `json:"command"`
}

// mends are the smallest changes for a difference: one for each coding agent that lacks it,
// unless another one helps it, too. next is the number of the last change.
func mends(inputs []*Input, c *Comparison, d *Difference, exists func(path string) bool, next *int) (list []Mend) {
	if d.Drifted || d.Kind == abi.KindMCPServer { // which content is right, and what may be started, is for people to say
		return nil
	}
	if d.Kind == abi.KindSkill && !isPlainSkill(d.of) {
		return nil
	}
	for _, in := range inputs {
		if !slices.Contains(d.Lacks, in.Client.ID) || slices.ContainsFunc(list, func(m Mend) bool { return slices.Contains(m.Clients, in.Client.ID) }) {
			continue
		}
		for _, m := range candidates(inputs, in, c, d) {
			if m.Action != MendInsert && exists(m.Path) {
				continue
			}
			if m.Clients = helps(inputs, c, d, &m); !slices.Contains(m.Clients, in.Client.ID) {
				continue
			}
			*next++
			m.N, m.Command = *next, m.command(c.Project)
			m.Judged = !slices.ContainsFunc(m.Clients, func(id string) bool { return !Lookup(id).Judged })
			list = append(list, m)
			break
		}
	}
	return list
}

// plainValue is a text that all readers of front matter take for the same one.
var plainValue = text.Lazy(`^[A-Za-z][^:#"'\[\]{}&*!|>%@` + "`" + `]*$`)

// isPlainSkill reports whether all coding agents read a skill alike: it has the name of its
// directory and a description, and nothing that only some of them understand.
func isPlainSkill(f *Find) bool {
	rest, ok := strings.CutPrefix(string(f.Payload), "---\n")
	head, _, closed := strings.Cut(rest, "\n---\n")
	if !ok || !closed {
		return false
	}
	fields := map[string]string{}
	for line := range strings.Lines(head) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		if _, twice := fields[key]; twice || !slices.Contains([]string{"name", "description", "license"}, key) || !plainValue().MatchString(value) {
			return false
		}
		fields[key] = value
	}
	return fields["name"] == filepath.Base(f.Path) && fields["description"] != ""
}

// candidates are changes that could make one coding agent see something, the smallest first.
func candidates(inputs []*Input, in *Input, c *Comparison, d *Difference) (list []Mend) {
	file := cmp.Or(d.of.Source, d.of.Path)
	switch d.Kind {
	case abi.KindSkill:
		for _, at := range commonFirst(inputs, skillPlaces(in.Client), skillPlaces) {
			for _, top := range []string{projectDir(d.of.Path), c.Project} {
				link := filepath.Join(top, at, filepath.Base(file))
				list = append(list, Mend{Action: MendLink, Path: link, Target: relative(link, file)})
			}
		}
	case abi.KindInstructionFile:
		dir := filepath.Dir(file)
		if !slices.Contains(in.Looked, dir) { // a rule in a directory of rules
			return nil
		}
		var inserts, creates, links []Mend
		for _, name := range names(inputs, in.Client) {
			at := filepath.Join(dir, name)
			switch there := existing(inputs, at); {
			case at == file:
			case there == nil:
				if in.Client.Imports != nil {
					creates = append(creates, Mend{Action: MendCreate, Path: at, Text: "@" + relative(at, file) + "\n"})
				}
				links = append(links, Mend{Action: MendLink, Path: at, Target: relative(at, file)})
			case in.Client.Imports != nil && cmp.Or(there.Source, there.Path) == at:
				inserts = append(inserts, Mend{Action: MendInsert, Path: at, Text: "@" + relative(at, file) + "\n\n"})
			}
		}
		list = slices.Concat(inserts, creates, links)
	}
	return slices.DeleteFunc(list, func(m Mend) bool {
		_, ok := applicability.Below(c.Project, m.Path)
		return !ok
	})
}

// names are those of the files in a directory that a coding agent reads, those first that most
// others read, too.
func names(inputs []*Input, c *Client) []string {
	list := slices.DeleteFunc(literalPlaces(c), func(name string) bool {
		return strings.Contains(name, ".local.") || strings.Contains(name, ".override.")
	})
	return commonFirst(inputs, list, literalPlaces)
}

// commonFirst sorts places by how many coding agents read them, those in no directory first.
func commonFirst(inputs []*Input, list []string, of func(*Client) []string) []string {
	readers := map[string]int{}
	for _, in := range inputs {
		for _, place := range of(in.Client) {
			readers[place]++
		}
	}
	slices.SortStableFunc(list, func(a, b string) int {
		return cmp.Or(strings.Count(a, "/")-strings.Count(b, "/"), readers[b]-readers[a])
	})
	return list
}

func literalPlaces(c *Client) (list []string) {
	if c.Instructions == nil {
		return nil
	}
	for _, p := range c.Instructions.Places {
		for _, row := range c.rows([]string{p.Convention}) {
			for _, place := range row.Places {
				if !strings.Contains(place, "*") && !slices.Contains(list, place) {
					list = append(list, place)
				}
			}
		}
	}
	return list
}

// skillPlaces are the directories in which a coding agent looks for skills.
func skillPlaces(c *Client) (list []string) {
	if c.Skills == nil {
		return nil
	}
	for _, ids := range c.Skills.Places {
		for _, row := range c.rows(ids) {
			for _, place := range row.Places {
				if dir, _, ok := strings.Cut(place, "/*"); ok && !slices.Contains(list, dir) {
					list = append(list, dir)
				}
			}
		}
	}
	return list
}

// projectDir is the directory that a skill's container lies in: above .agents/skills/x.
func projectDir(skill string) string { return filepath.Dir(filepath.Dir(filepath.Dir(skill))) }

// existing is what somebody finds at a path.
func existing(inputs []*Input, at string) *Find {
	for _, in := range inputs {
		for i := range in.Finds {
			if f := &in.Finds[i]; f.Path == at {
				return f
			}
		}
	}
	return nil
}

func relative(from, to string) string {
	rel, err := filepath.Rel(filepath.Dir(from), to)
	if err != nil {
		return to
	}
	return rel
}

// helps returns the coding agents that see something after a change that didn't before, and
// nothing if one of them would no longer see what it saw.
func helps(inputs []*Input, before *Comparison, d *Difference, m *Mend) (helped []string) {
	changed := make([]*Input, len(inputs))
	for i, in := range inputs {
		changed[i] = in.with(m, d)
	}
	after := compare(changed)
	for _, in := range inputs {
		id := in.Client.ID
		had, has := before.seen(id), after.seen(id)
		for key, row := range had {
			if _, ok := has[key]; !ok && row.Path != m.Path {
				return nil
			}
		}
		_, now := has[d.key()]
		if _, then := had[d.key()]; now && !then {
			helped = append(helped, id)
		}
	}
	return helped
}

// key is that of what a difference is about, as in seen.
func (d *Difference) key() string {
	if d.Kind == abi.KindInstructionFile {
		return string(d.Kind) + "\x00" + d.of.ContentHash.String()
	}
	return string(d.Kind) + "\x00" + d.of.ContentHash.String() + "\x00" + d.Name
}

// seen is what a client sees of the project.
func (c *Comparison) seen(client string) map[string]*Row {
	all := map[string]*Row{}
	for i := range c.Rows {
		row := &c.Rows[i]
		if row.User || !row.Seen[client].Included {
			continue
		}
		key := string(row.Kind) + "\x00" + row.Digest
		if row.Kind != abi.KindInstructionFile {
			key += "\x00" + row.Name
		}
		all[key] = row
	}
	return all
}

// with is an input as it would be after a change.
func (in *Input) with(m *Mend, d *Difference) *Input {
	changed := *in
	changed.Finds = slices.Clone(in.Finds)
	if m.Action == MendInsert {
		for i := range changed.Finds {
			if f := &changed.Finds[i]; f.Path == m.Path {
				f.Payload = append([]byte(m.Text), f.Payload...)
				f.SizeBytes += int64(len(m.Text))
				f.ContentHash = hashOf(f.Payload)
			}
		}
		return &changed
	}
	for _, row := range in.Client.Rows() {
		for _, dir := range in.Looked {
			rel, ok := applicability.Below(dir, m.Path)
			if d.Kind == abi.KindSkill {
				rel = path.Join(rel, "SKILL.md")
			}
			if !ok || !slices.ContainsFunc(row.Places, func(place string) bool { return doublestar.MatchUnvalidated(place, rel) }) {
				continue
			}
			changed.Finds = append(changed.Finds, m.find(&row, dir, d))
		}
	}
	return &changed
}

func (m *Mend) find(row *conventions.Convention, dir string, d *Difference) Find {
	f := Find{Directory: dir, Path: m.Path, Resource: d.of.Resource}
	f.Kind, f.Convention, f.Attributes = row.Kind, row.ID, d.of.Attributes
	switch {
	case d.Kind == abi.KindSkill && row.Kind != abi.KindSkill: // of its SKILL.md; see asSkill
		f.Path, f.Source = filepath.Join(m.Path, "SKILL.md"), filepath.Join(d.of.Source, "SKILL.md")
	case m.Action == MendCreate:
		f.Resource = snapshot.Resource{
			Kind: row.Kind, Convention: row.ID, Source: m.Path, Status: snapshot.StatusOK, Payload: []byte(m.Text), SizeBytes: int64(len(m.Text)),
			ContentHash: hashOf([]byte(m.Text)),
		}
	}
	f.Place = PlaceOf(dir, f.Path)
	return f
}

func hashOf(data []byte) snapshot.Hash {
	sum := sha256.Sum256(data)
	return sum[:]
}

// command does a change in a shell.
func (m *Mend) command(project string) string {
	at, err := filepath.Rel(project, m.Path)
	if err != nil {
		at = m.Path
	}
	word := text.ShellWord(at)
	switch m.Action {
	case MendLink:
		made := ""
		if dir := filepath.Dir(at); dir != "." {
			made = "mkdir -p " + text.ShellWord(dir) + " && "
		}
		return made + "ln -s " + text.ShellWord(m.Target) + " " + word
	case MendInsert:
		return fmt.Sprintf("printf '%%s\\n\\n' %s | cat - %s > %s.new && mv %s.new %s", text.ShellWord(strings.TrimSpace(m.Text)), word, word, word, word)
	}
	return fmt.Sprintf("echo %s > %s", text.ShellWord(strings.TrimSpace(m.Text)), word)
}
