// Package workspaces has realistic workspaces, each with a list of what agents read in it.
//
// # The format
//
// testdata/NAME.txtar has the files. testdata/NAME.list has a line for everything that
// agents read there: the path, its convention in plugins/conventions, the kind as which it
// is listed, when it applies, and who reads it. A file that holds several things has a line
// for each. The kind "-" means that agents know the file but don't list it; files without a
// line are irrelevant to agents.
//
// # Guarantees
//
// Lists are checked against the table of conventions, so they are as complete and correct
// as the table: no file that follows a convention lacks a line. Settings and configurations
// hold Token in every place for a secret.
//
// A Workspace's methods don't change it, and may be called from many goroutines.
package workspaces

import (
	"embed"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"

	"waymark/abi"
)

// Token stands in settings and configurations for secrets. It must not come out
// anywhere.
const Token = "wm-t0ken-never-shown"

// FiveAgents is the workspace of somebody who uses Claude Code, Cursor, Copilot,
// Codex and Gemini: 56 files for agents.
const FiveAgents = "five-agents"

// OtherAgents is that of a team with ten other agents, with what each of them reads.
const OtherAgents = "other-agents"

// Names are those of all workspaces.
var Names = []string{FiveAgents, OtherAgents}

//go:embed testdata
var testdata embed.FS

// Workspace is one, with its list.
type Workspace struct {
	Files []txtar.File
	List  []Line
}

// Line is something that agents read.
type Line struct {
	Path       string // of the file
	Convention string
	Kind       abi.Kind // empty when it isn't listed
	Mode       string   // empty for kinds without one
	Readers    []string // in order
}

// Source is the path that the resource has: a skill is its directory.
func (l *Line) Source() string {
	if l.Kind == abi.KindSkill {
		return path.Dir(l.Path)
	}
	return l.Path
}

// Load reads a workspace.
func Load(name string) (*Workspace, error) {
	files, err := testdata.ReadFile("testdata/" + name + ".txtar")
	if err != nil {
		return nil, err
	}
	list, err := testdata.ReadFile("testdata/" + name + ".list")
	if err != nil {
		return nil, err
	}
	w := &Workspace{Files: txtar.Parse(files).Files}
	for text := range strings.Lines(string(list)) {
		fields := strings.Fields(text)
		switch {
		case len(fields) == 0 || fields[0] == "#":
			continue
		case len(fields) != 5:
			return nil, fmt.Errorf("%s: %q has %d fields, want path, convention, kind, mode, readers", name, text, len(fields))
		}
		w.List = append(w.List, Line{
			Path: fields[0], Convention: fields[1], Kind: abi.Kind(orEmpty(fields[2])), Mode: orEmpty(fields[3]), Readers: strings.Split(fields[4], ","),
		})
	}
	return w, nil
}

// orEmpty is a field, of which "-" says that there is none.
func orEmpty(field string) string {
	if field == "-" {
		return ""
	}
	return field
}

// Write puts the files into a directory.
func (w *Workspace) Write(dir string) error {
	for _, f := range w.Files {
		file := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, f.Data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Found is a resource that somebody found in a workspace.
type Found struct {
	Kind abi.Kind
	// Source is its path, relative to the workspace. Several resources of a file
	// have the same.
	Source     string
	Convention string
	Readers    []string
	// Mode is its attribute; empty means always.
	Mode string
}

// Compare says, a line for each, what of the list wasn't found or as something else,
// and what was found that isn't on the list. Nothing means that it was all found.
func (w *Workspace) Compare(found []Found) (differences []string) {
	matched := make([]bool, len(found))
	for i := range w.List {
		l := &w.List[i]
		if l.Kind == "" {
			continue
		}
		here := false
		for j := range found {
			f := &found[j]
			if f.Source != l.Source() || f.Kind != l.Kind {
				continue
			}
			matched[j], here = true, true
			if d := l.differs(f); d != "" {
				differences = append(differences, fmt.Sprintf("%s of %s: %s", l.Kind, l.Source(), d))
			}
		}
		if !here {
			differences = append(differences, fmt.Sprintf("%s of %s (%s) was not found", l.Kind, l.Source(), l.Convention))
		}
	}
	for j := range found {
		if !matched[j] {
			differences = append(differences, fmt.Sprintf("%s of %s is not on the list", found[j].Kind, found[j].Source))
		}
	}
	return differences
}

// differs says in what a find isn't what the line says.
func (l *Line) differs(f *Found) string {
	mode := f.Mode
	if mode == "" {
		mode = "always"
	}
	switch {
	case f.Convention != l.Convention:
		return fmt.Sprintf("convention %q, want %q", f.Convention, l.Convention)
	case !slices.Equal(f.Readers, l.Readers):
		return fmt.Sprintf("readers %q, want %q", f.Readers, l.Readers)
	case l.Mode != "" && mode != l.Mode:
		return fmt.Sprintf("mode %q, want %q", mode, l.Mode)
	}
	return ""
}
