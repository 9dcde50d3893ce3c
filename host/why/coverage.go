package why

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"waymark/abi"
	"waymark/host/vfs"
	"waymark/internal/text"
	"waymark/plugins/conventions"
	"waymark/snapshot"
)

// CoverageReason says why nothing was made of a file.
type CoverageReason string

// The reasons, in the order of groups.
const (
	// SwitchedOff: all agents that read it are switched off.
	SwitchedOff CoverageReason = "switched_off"
	// NoResolver: no active resolver lists such files.
	NoResolver CoverageReason = "no_resolver"
	// NoKind: agents know it, but a chat has no use for it.
	NoKind CoverageReason = "no_kind"
	// Misnamed: it lies among files that are used, and only its name keeps it from being one.
	Misnamed CoverageReason = "misnamed"
)

var reasons = []CoverageReason{SwitchedOff, NoResolver, NoKind, Misnamed}

// Coverage is what lies in some roots and isn't used.
type Coverage struct {
	// Groups are those that have files, in the order of the reasons.
	Groups []CoverageGroup `json:"groups"`
	// Partial says that there was more than is looked at.
	Partial bool `json:"partial"`
}

// CoverageGroup is the files of one reason.
type CoverageGroup struct {
	// Reason is why they aren't used.
	Reason CoverageReason `json:"reason"`
	// Text says it for a person, with the number of files.
	Text string `json:"text"`
	// Files are in order of their paths.
	Files []CoverageFile `json:"files"`
}

// CoverageFile is one file that isn't used.
type CoverageFile struct {
	// Path is absolute, and as it was found: it may lead through links.
	Path string `json:"path"`
	// Convention is the id of the row of the table of conventions that matches it.
	Convention string `json:"convention"`
	// As is what such files are called.
	As string `json:"as"`
	// Readers are the ids of the agents that read it.
	Readers []string `json:"readers"`
}

// CoverageOptions say what is used. The zero value uses nothing.
type CoverageOptions struct {
	// Own are the operator's conventions, Disabled the ids of those that aren't used.
	Own      []conventions.Convention
	Disabled []string
	// Kinds are those that some resolver lists.
	Kinds []abi.Kind
}

// unused returns why nothing is made of the files of a convention; empty if something is.
func (o *CoverageOptions) unused(c *conventions.Convention) CoverageReason {
	switch {
	case c.Kind == "":
		return NoKind
	case slices.Contains(o.Disabled, c.ID):
		return SwitchedOff
	case !slices.Contains(o.Kinds, c.Kind):
		return NoResolver
	}
	return ""
}

// CoverageRoot is one to look at.
type CoverageRoot struct {
	FS *vfs.Root
	// Scope is snapshot.ScopeUser for a home directory, in which the places for users count;
	// in all others those for projects do.
	Scope snapshot.Scope
	// Children are the directories at its top that are searched like the root.
	Children []string
}

// sorted are the conventions of one scope by the fate of their files.
type sorted struct {
	unused       map[CoverageReason][]*conventions.Convention
	used, places []string
	near         []place // of the used ones: those that files can miss by their names alone
}

func sort(scope conventions.Scope, opts *CoverageOptions) *sorted {
	s := &sorted{unused: map[CoverageReason][]*conventions.Convention{}}
	for _, list := range [][]conventions.Convention{conventions.All, opts.Own} {
		for i := range list {
			c := &list[i]
			reason := opts.unused(c)
			switch {
			case c.Scope != scope, reason == NoKind && isWide(c):
			case reason != "":
				s.unused[reason] = append(s.unused[reason], c)
				s.places = append(s.places, c.Places...)
			default:
				s.used = append(s.used, c.Places...)
				for _, pattern := range c.Places {
					if p := (place{Convention: c, pattern: pattern}); p.isNear(path.Dir(pattern)+"/x") && c.Kind != abi.KindPlugin && c.Kind != abi.KindHook && !isWide(c) { // programs have files beside them
						s.near, s.places = append(s.near, p), append(s.places, path.Dir(pattern)+"/*.*")
					}
				}
			}
		}
	}
	return s
}

// isWide reports whether a convention for users covers files in any number of directories
// that a chat has no use for, such as caches of plugins and per-project data. Thousands of
// them are no news.
func isWide(c *conventions.Convention) bool {
	return c.Scope == conventions.ScopeUser && slices.ContainsFunc(c.Places, func(place string) bool {
		return strings.Contains(place[:strings.LastIndexByte(place, '/')+1], "*")
	})
}

// CoverageOf looks at roots.
func CoverageOf(roots []CoverageRoot, opts CoverageOptions) *Coverage {
	project, user := sort(conventions.ScopeProject, &opts), sort(conventions.ScopeUser, &opts)
	report := &Coverage{Groups: []CoverageGroup{}}
	files := map[CoverageReason][]CoverageFile{}
	for _, root := range roots {
		s := project
		if root.Scope == snapshot.ScopeUser {
			s = user
		}
		if len(s.places) == 0 || root.FS.File() != "" {
			continue
		}
		for _, dir := range append([]string{"."}, root.Children...) {
			paths, whole := look(root, dir, s.places)
			report.Partial = report.Partial || !whole
			s.tell(filepath.Join(root.FS.Path(), dir), paths, files)
		}
	}
	for _, reason := range reasons {
		if list := files[reason]; len(list) > 0 {
			slices.SortFunc(list, func(a, b CoverageFile) int { return strings.Compare(a.Path, b.Path) })
			list = slices.CompactFunc(list, func(a, b CoverageFile) bool { return a.Path == b.Path }) // of roots that overlap
			report.Groups = append(report.Groups, CoverageGroup{Reason: reason, Text: describeGroup(reason, list), Files: list})
		}
	}
	return report
}

// tell adds the unused files of paths that were found below a directory.
func (s *sorted) tell(dir string, paths []string, files map[CoverageReason][]CoverageFile) {
	elsewhere := map[string]bool{} // what is used after all, or listed under another reason
	for _, path := range vfs.Matching(s.used, paths) {
		elsewhere[path] = true
	}
	for _, reason := range reasons {
		for _, c := range s.unused[reason] {
			for _, path := range vfs.Matching(c.Places, paths) {
				if !elsewhere[path] {
					elsewhere[path] = true
					files[reason] = append(files[reason], CoverageFile{
						Path: filepath.Join(dir, path), Convention: c.ID, As: c.As, Readers: append([]string{}, c.Readers...),
					})
				}
			}
		}
	}
	for _, path := range paths {
		if elsewhere[path] || !isNamedAsText(path) {
			continue
		}
		if at := slices.IndexFunc(s.near, func(p place) bool { return p.isNear(path) }); at >= 0 {
			c := s.near[at]
			files[Misnamed] = append(files[Misnamed], CoverageFile{Path: filepath.Join(dir, path), Convention: c.ID, As: c.As, Readers: append([]string{}, c.Readers...)})
		}
	}
}

// isNamedAsText reports whether a file has the name of a text or a setting that isn't written for
// the people who read the directory.
func isNamedAsText(file string) bool {
	name := strings.ToLower(path.Base(file))
	return !strings.HasPrefix(name, ".") && !strings.HasPrefix(name, "readme.") && slices.Contains([]string{".md", ".mdc", ".markdown", ".txt", ".toml", ".yaml", ".yml", ".json"}, path.Ext(name))
}

// Count says for a person how many files of a reason there are, and nothing else about them.
func (r CoverageReason) Count(n int) string {
	count := text.Count(n, "file", "files")
	switch r {
	case SwitchedOff:
		return count + " for agents that are switched off"
	case NoResolver:
		return count + " that no resolver lists"
	case NoKind:
		return count + " that no kind fits"
	case Misnamed:
		return count + " that agents would read by another name"
	}
	return count
}

// describeGroup describes a group for a person.
func describeGroup(reason CoverageReason, files []CoverageFile) string {
	count := reason.Count(len(files))
	if reason == SwitchedOff {
		return count
	}
	return fmt.Sprintf("%s (%s)", count, things(files))
}

// mostThings is how many words describe a group; a person can ask for the rest.
const mostThings = 3

// things returns what the files are called, the most frequent first.
func things(files []CoverageFile) string {
	counts := map[string]int{}
	var words []string
	for i := range files {
		as := cmp.Or(files[i].As, files[i].Convention)
		if counts[as]++; counts[as] == 1 {
			words = append(words, as)
		}
	}
	slices.SortFunc(words, func(a, b string) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), strings.Compare(a, b)) })
	if len(words) > mostThings {
		words = append(words[:mostThings], "…")
	}
	return strings.Join(words, ", ")
}

// The bounds of one look. A project that agents work in has some hundred names in their
// places.
const (
	maxCovered = 20_000
	maxDirs    = 1024
	maxDepth   = 8 // of what "**" stands for
)

// look lists the files at some places below a directory of a root, relative to it. whole is
// false if there was more to look at.
func look(root CoverageRoot, dir string, places []string) (paths []string, whole bool) {
	// Only names are looked at, including those of settings files.
	filter, err := vfs.View{Reads: places, MCPOnly: true, Below: root.Children}.Compile()
	if err != nil {
		return nil, false // an operator has too many
	}
	run := root.FS.Begin(filter, vfs.Limits{Opens: maxDirs, Entries: maxCovered})
	defer func() { _ = run.Close() }()
	w := walk{run: run}
	patterns := make([]pattern, len(places))
	for i, place := range places {
		patterns[i] = pattern{segments: strings.Split(place, "/")}
	}
	w.list(dir, patterns)
	for i, p := range w.paths {
		w.paths[i] = strings.TrimPrefix(p, dir+"/")
	}
	return w.paths, run.Err() == nil && !w.cut
}

type walk struct {
	run   *vfs.Run
	paths []string
	cut   bool // deeper than maxDepth
}

// pattern is the rest of a place's pattern below a directory.
type pattern struct {
	segments []string
	depth    int // of the "**" before
}

// list looks for files in a directory, and continues in those that a pattern leads to.
func (w *walk) list(dir string, patterns []pattern) {
	f, err := w.run.Open(dir)
	if err != nil {
		return
	}
	entries, err := f.ReadDir()
	if err != nil {
		return
	}
	patterns = slices.Clone(patterns)
	for i := 0; i < len(patterns); i++ { // including those that are added
		if p := patterns[i]; p.segments[0] == "**" && len(p.segments) > 1 { // which also matches no directory
			patterns = append(patterns, pattern{segments: p.segments[1:]})
		}
	}
	for _, e := range entries {
		var below []pattern
		here := false
		for _, p := range patterns {
			switch last := len(p.segments) == 1; {
			case p.segments[0] == "**" && p.depth >= maxDepth:
				w.cut = true
			case p.segments[0] == "**":
				below = append(below, pattern{p.segments, p.depth + 1})
			case !doublestar.MatchUnvalidated(p.segments[0], e.Name):
			case last:
				here = true
			default:
				below = append(below, pattern{segments: p.segments[1:]})
			}
		}
		if !here && len(below) == 0 {
			continue
		}
		path, typ := e.Name, e.Type
		if dir != "." {
			path = dir + "/" + e.Name
		}
		if typ == fs.ModeSymlink {
			if _, typ, err = w.run.Resolve(path); err != nil {
				continue // it leads nowhere
			}
		}
		switch {
		case typ == 0 && here:
			w.paths = append(w.paths, path)
		case typ == fs.ModeDir && len(below) > 0:
			w.list(path, below)
		}
	}
}
