package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"

	"waymark/abi"
	"waymark/host/applicability"
	"waymark/host/resolve"
	"waymark/host/vfs"
	"waymark/internal/text"
	"waymark/plugins/conventions"
	"waymark/snapshot"
)

const (
	// maxForDepth bounds how many directories below a root For searches on the way to a file.
	// Source code doesn't lie deeper, and each directory takes another twenty patterns.
	maxForDepth = 64
	// maxForDirectory bounds the path of such a directory, in bytes. Together with a place it
	// has to form a pattern that package vfs accepts.
	maxForDirectory = 960
	// maxForWarnings bounds the warnings of a resolver.
	maxForWarnings = 8
)

// For returns the parts of the context that apply to a file, nearest first. The path is
// absolute. The file, and directories on the way to it, need not exist. A path that ends with
// a slash, or is a directory, stands for the files in that directory.
//
// Finds at the top of roots come from the last refresh; if there was none, For refreshes
// first. In each directory between the root and the file, the nested places are looked up
// now, by the resolvers, with the usual checks and limits. No other directory is looked at,
// and no tree is walked. Directories more than 64 names below the root, or with a path of
// more than 960 bytes, are only reported as not searched.
//
// # Errors
//
// applicability.ErrPath, applicability.ErrOutside, applicability.ErrSecret, and the
// context's.
func (h *Host) For(ctx context.Context, path string) (*applicability.Answer, error) {
	if err := applicability.CheckPath(path); err != nil {
		return nil, err
	}
	if err := h.haveReport(ctx); err != nil {
		return nil, err
	}
	in, warnings, err := h.forInput(ctx, path)
	if err != nil {
		return nil, err
	}
	answer, err := applicability.Of(ctx, *in)
	if err != nil {
		return nil, err
	}
	answer.Path, answer.Warnings = path, warnings
	return answer, nil
}

// forInput gathers the input of For.
func (h *Host) forInput(ctx context.Context, asked string) (*applicability.Input, []string, error) {
	_, leave, err := h.turn.Take(ctx) // keeps roots open meanwhile
	if err != nil {
		return nil, nil, err
	}
	defer leave()
	used := h.used()
	u, rel, ok := rootOf(used, asked)
	if !ok {
		return nil, nil, h.outside(used, asked)
	}
	at, err := locate(u.root.FS, rel, strings.HasSuffix(asked, "/"))
	if err != nil {
		return nil, nil, err
	}
	in := &applicability.Input{Root: u.root.FS.Path()}
	in.Path = filepath.Join(in.Root, at.path)
	in.Finds = h.forTop(used)
	dirs, warnings := forDirectories(at.dir)
	if len(dirs) > 0 {
		finds, more, err := h.forNested(ctx, u.root, dirs)
		if err != nil {
			return nil, nil, err
		}
		in.Finds, warnings = append(in.Finds, finds...), append(warnings, more...)
	}
	return in, warnings, nil
}

// outside returns the error for a path that lies in no root.
func (h *Host) outside(used []usedRoot, asked string) error {
	return fmt.Errorf("%w: %s lies in no directory that is looked at: %s", applicability.ErrOutside, quoted([]string{asked}), quoted(h.rootsNow(used).paths))
}

// quoted formats paths for an error.
func quoted(paths []string) string {
	for i, p := range paths {
		paths[i] = text.Cut(text.Printable(p), 200)
	}
	return strings.Join(paths, ", ")
}

// rootOf finds the root that contains a path, and the path relative to it. The working
// directory beats other roots. Among those the outermost wins, because inner roots are part
// of it. If no root contains the path as spelled, its target through links counts.
func rootOf(used []usedRoot, asked string) (u *usedRoot, rel string, ok bool) {
	asked = filepath.Clean(asked)
	if u, rel, ok = rootSpelled(used, asked); ok {
		return u, rel, true
	}
	for dir, rest := asked, ""; dir != "/"; dir, rest = filepath.Dir(dir), filepath.Join(filepath.Base(dir), rest) {
		if target, err := filepath.EvalSymlinks(dir); err == nil {
			return rootSpelled(used, filepath.Join(target, rest))
		}
	}
	return nil, "", false
}

func rootSpelled(used []usedRoot, asked string) (u *usedRoot, rel string, ok bool) {
	rank := func(u *usedRoot) int {
		if u.slot.spec.Source || u.slot.spec.Optional {
			return len(u.root.FS.Path())
		}
		return -1
	}
	for i := range used {
		next := &used[i]
		if next.root.Role != abi.RoleNone || next.root.Scope == snapshot.ScopeUser || next.root.FS.File() != "" || ok && rank(u) <= rank(next) {
			continue
		}
		for _, dir := range []string{next.root.FS.Path(), filepath.Clean(absolute(next.slot.spec.Path))} {
			if r, in := applicability.Below(dir, asked); in {
				u, rel, ok = next, r, true
				break
			}
		}
	}
	return u, rel, ok
}

// located is where a path leads in its root: links are resolved as far as the path exists.
type located struct {
	path string
	dir  string // the deepest existing directory on the way
}

// allVisible shows everything but protected files. Nothing is read with it.
var allVisible = sync.OnceValues(func() (*vfs.Filter, error) { return vfs.View{Reads: []string{"**"}}.Compile() })

// locate resolves the links of the directories on a path. It opens no file and lists no
// directory.
func locate(root *vfs.Root, rel string, isDir bool) (located, error) {
	filter, err := allVisible()
	if err != nil {
		return located{}, err
	}
	if root.Judge(filter, rel).Reason == vfs.ReasonSecret {
		return located{}, fmt.Errorf("%w: no agent is shown what is there: ask for another file of its directory", applicability.ErrSecret)
	}
	run := root.Begin(filter, vfs.Limits{})
	defer func() { _ = run.Close() }()
	names := strings.Split(rel, "/")
	if rel == "." {
		return located{".", "."}, nil
	}
	at := located{dir: "."}
	n := len(names) - 1 // the names that can be directories
	if isDir {
		n++
	} else if info, err := run.Stat(rel); err == nil && info.IsDir() {
		n++
	}
	// If one of them isn't a directory, none below it is.
	known := sort.Search(n, func(i int) bool {
		_, typ, err := run.Resolve(strings.Join(names[:i+1], "/"))
		return err != nil || !typ.IsDir()
	})
	if known > 0 { // the run caches its answers
		if at.dir, _, err = run.Resolve(strings.Join(names[:known], "/")); err != nil {
			return located{}, err
		}
	}
	if known < n {
		if err := lost(run, strings.Join(names[:known+1], "/")); err != nil {
			return located{}, err
		}
	}
	at.path = path.Join(append([]string{at.dir}, names[known:]...)...)
	// A link may lead to a protected file even though the given path isn't protected.
	if root.Judge(filter, at.path).Reason == vfs.ReasonSecret {
		return located{}, fmt.Errorf("%w, by way of a link", applicability.ErrSecret)
	}
	return at, run.Err()
}

// lost returns the error for a directory on the way that can't be resolved; nil if it may
// simply not exist.
func lost(run *vfs.Run, dir string) error {
	_, _, err := run.Resolve(dir)
	switch e, _ := errors.AsType[*vfs.Error](err); {
	case e == nil:
	case errors.Is(e, vfs.ErrEscape):
		return fmt.Errorf("%w: a link on the way leads out of the root", applicability.ErrOutside)
	case e.Reason == vfs.ReasonSecret:
		return fmt.Errorf("%w, by way of a link", applicability.ErrSecret)
	}
	return nil
}

// forDirectories lists a directory and its ancestors, without the root.
func forDirectories(dir string) (dirs, warnings []string) {
	deep := 0
	for ; dir != "."; dir = path.Dir(dir) {
		if strings.Count(dir, "/") >= maxForDepth || len(vfs.LiteralPattern(dir)) > maxForDirectory {
			deep++
			continue
		}
		dirs = append(dirs, dir)
	}
	if deep > 0 {
		warnings = append(warnings, fmt.Sprintf("%s not looked into: more than %d below the root, or with a path of more than %d bytes",
			text.Count(deep, "directory is", "directories are"), maxForDepth, maxForDirectory))
	}
	return dirs, warnings
}

// forTop lists the finds of the snapshot with their places. The caller holds h.turn.
func (h *Host) forTop(used []usedRoot) []applicability.Find {
	type place struct{ path, root string }
	places := map[string]place{}
	for _, u := range used {
		base := u.root.FS.Path()
		for o := range u.slot.outcomes {
			candidates := u.slot.outcomes[o].Candidates
			for c := range candidates {
				id := candidates[c].ID()
				if _, known := places[id]; !known {
					places[id] = place{candidates[c].Path, base}
				}
			}
		}
	}
	resources := h.report.Load().Snapshot.Resources
	finds := make([]applicability.Find, 0, len(resources))
	for i := range resources {
		if p, ok := places[resources[i].ID()]; ok {
			finds = append(finds, applicability.Find{Resource: &resources[i], Path: p.path, Base: p.root})
		}
	}
	return finds
}

// forNested searches directories below a root. A resolver's failure becomes a warning, and
// the rest of the answer stands. The caller holds h.turn.
func (h *Host) forNested(ctx context.Context, root resolve.Root, dirs []string) (finds []applicability.Find, warnings []string, err error) {
	var resolvers []resolve.Resolver
	for _, r := range h.resolvers() {
		if r.DropIn {
			continue
		}
		nested, ok, err := h.nestedResolver(r, dirs)
		if err != nil {
			return nil, nil, err
		}
		if ok {
			resolvers = append(resolvers, nested)
		}
	}
	// A separate engine, because the next question is about other directories and its memos
	// would only take space.
	engine := resolve.New(resolve.Options{
		MaxResourceBytes: h.config.caps.MaxResourceBytes, MaxResources: h.config.caps.MaxResources, Limits: h.config.fileLimits, NoMemo: true,
	})
	outcomes, err := engine.Resolve(ctx, resolvers, []resolve.Root{root})
	if err != nil {
		return nil, nil, context.Cause(ctx)
	}
	for i := range outcomes {
		o := &outcomes[i]
		h.log.Debug("looked into directories for one file", slog.String("resolver", o.Resolver), slog.Int("directories", len(dirs)),
			slog.Int("opens", o.Used.Opens), slog.Int("entries", o.Used.Entries), slog.Int64("read_bytes", o.Used.ReadBytes), slog.Int64("fuel", o.Fuel), slog.Duration("took", o.Duration))
		if o.Err != nil {
			warnings = append(warnings, text.Line(fmt.Sprintf("the directories below the root weren't looked into: %v", o.Err), abi.MaxError))
			continue
		}
		for _, w := range o.Warnings[:min(len(o.Warnings), maxForWarnings)] {
			warnings = append(warnings, text.Printable(w))
		}
		for c := range o.Candidates {
			found := &o.Candidates[c]
			finds = append(finds, applicability.Find{
				Resource: &found.Resource, Path: found.Path, Base: filepath.Join(root.FS.Path(), nestedBase(root.FS.Path(), found, dirs)),
			})
		}
	}
	return finds, warnings, nil
}

// nestedRows returns the rows of the table that are also read below the top of a project, by
// id.
var nestedRows = sync.OnceValue(func() map[string]*conventions.Convention {
	rows := map[string]*conventions.Convention{}
	for i := range conventions.All {
		if c := &conventions.All[i]; c.Scope == conventions.ScopeProject && len(c.Nested) > 0 {
			rows[c.ID] = c
		}
	}
	return rows
})

// nestedResolver restricts a built-in resolver to its places in the given directories. ok is
// false if it has none.
func (h *Host) nestedResolver(r resolve.Resolver, dirs []string) (nested resolve.Resolver, ok bool, err error) {
	var places []string
	for _, c := range nestedRows() {
		if slices.Contains(r.Info.Kinds, c.Kind) {
			places = append(places, c.Places...)
		}
	}
	if len(places) == 0 {
		return r, false, nil
	}
	slices.Sort(places)
	config := map[string]json.RawMessage{}
	if len(r.Config) > 0 {
		if err := json.Unmarshal(r.Config, &config); err != nil {
			return r, false, fmt.Errorf("the configuration of %s: %w", r.ID(), err)
		}
	}
	if config["directories"], err = json.Marshal(dirs); err != nil {
		return r, false, err
	}
	if r.Config, err = json.Marshal(config); err != nil {
		return r, false, err
	}
	names := h.opts.BuiltinNames[r.Info.Name]
	r.Info.Reads, r.Info.ReadsFromConfig, r.Places = nil, nil, nil
	for _, dir := range dirs {
		prefix := vfs.LiteralPattern(dir) + "/"
		for _, p := range places {
			if to, renamed := names[path.Base(p)]; renamed {
				p = path.Join(path.Dir(p), vfs.LiteralPattern(to))
			}
			r.Places = append(r.Places, prefix+p)
		}
	}
	return r, true, nil
}

// nestedBase returns the directory in whose place something was found: the nearest directory
// above it for which the row has a place that matches the rest of the path.
func nestedBase(root string, found *snapshot.Candidate, dirs []string) string {
	rel, _ := applicability.Below(root, found.Path)
	row := nestedRows()[found.Convention]
	for _, dir := range dirs {
		rest, ok := applicability.Below(dir, rel)
		if !ok || row == nil {
			continue
		}
		first, _, _ := strings.Cut(rest, "/")
		if slices.ContainsFunc(row.Places, func(p string) bool { name, _, _ := strings.Cut(p, "/"); return name == first }) {
			return dir
		}
	}
	return dirs[len(dirs)-1]
}
