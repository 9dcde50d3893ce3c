package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"waymark/abi"
	"waymark/host/applicability"
	"waymark/host/codingagents"
	"waymark/host/plugin"
	"waymark/host/vfs"
	"waymark/plugins/conventions"
	"waymark/snapshot"
)

// ClientContext returns what a client would see when started in dir. It looks as far up the
// directory tree as the client does. It uses a host of its own with the built-in resolvers
// and the client's conventions, whatever the operator has switched off, because the client
// doesn't ask the operator. It ignores the roots, push, plugins, providers and memos in opts.
func ClientContext(ctx context.Context, opts Options, client *codingagents.Client, dir string) (*codingagents.View, error) {
	if opts.Shared == nil { // it may look more than once
		opts.Shared = &plugin.Shared{Keep: true}
		defer opts.Shared.Close()
	}
	in, err := clientInput(ctx, opts, client, dir, nil)
	if err != nil {
		return nil, err
	}
	in.Nested = nestedIn(in.Project)
	return codingagents.Of(*in), context.Cause(ctx)
}

// CompareClients returns what several clients would see when started in dir, side by side. It
// looks as ClientContext does for each.
func CompareClients(ctx context.Context, opts Options, clients []*codingagents.Client, dir string) (*codingagents.Comparison, error) {
	if opts.Shared == nil {
		opts.Shared = &plugin.Shared{Keep: true}
		defer opts.Shared.Close()
	}
	inputs := make([]*codingagents.Input, len(clients))
	var group errgroup.Group // the inputs read imports by ctx later
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, client := range clients {
		group.Go(func() (err error) {
			if inputs[i], err = clientInput(ctx, opts, client, dir, nil); err == nil {
				inputs[i].Servers = projectServers(&opts, inputs[i])
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	exists := func(path string) bool {
		_, err := os.Lstat(path)
		return !errors.Is(err, fs.ErrNotExist)
	}
	return codingagents.Compare(inputs, exists), context.Cause(ctx)
}

// clientInput looks at the directories on a client's walk, and at those in below, which lie
// below its start.
//
// Links are followed inside a root. A link may lead out of it: between directories of a walk
// without a project, or to skills that a user keeps elsewhere. Clients follow such links, so
// everything is then looked at again in one root that also contains the targets.
func clientInput(ctx context.Context, opts Options, client *codingagents.Client, dir string, below []string) (input *codingagents.Input, err error) {
	start, err := filepath.Abs(dir)
	if err == nil {
		start, err = filepath.EvalSymlinks(start)
	}
	if err != nil {
		return nil, fmt.Errorf("look where %s is started: %w", client.Name, err)
	}
	if info, err := os.Stat(start); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("look where %s is started: %s is not a directory", client.Name, start)
	}
	in := &codingagents.Input{Client: named(&opts, client, start), Start: start, Home: opts.Home, ProjectOf: func(dir string) string { return projectOf(dir, client.WholeGit) }}
	in.Project = in.ProjectOf(start)
	walk := walkOf(in, &opts, below, "")
	in.Read = importer(ctx, &opts, in, walk.roots)
	walk.in.Read = in.Read
	targets, err := walk.look(ctx, opts)
	if err != nil {
		return walk.in, err
	}
	if err := lookAtPlugins(ctx, opts, walk.in); err != nil || len(targets) == 0 {
		return walk.in, err
	}
	brought := pluginFinds(walk.in)
	best, exclude := walk, opts.Exclude
	for _, top := range []string{commonTop(append(targets, walk.roots...)), "/"} { // links can lead to links
		wide := walkOf(in, &opts, below, top)
		if wide.incomplete {
			break
		}
		opts.Exclude = excludeBelow(exclude, top, walk.roots)
		targets, err := wide.look(ctx, opts)
		if err != nil { // the wider root may exceed the limits
			break
		}
		if best = wide; len(targets) == 0 {
			break
		}
	}
	if best != walk {
		best.in.Plugins = walk.in.Plugins
		best.in.Finds = append(best.in.Finds, brought...)
		for _, p := range walk.in.Plugins {
			best.in.Looked = append(best.in.Looked, p.Dir)
		}
	}
	return best.in, context.Cause(ctx)
}

// commonTop returns the deepest directory that contains all paths.
func commonTop(paths []string) string {
	top := paths[0]
	for _, path := range paths[1:] {
		for {
			if _, ok := applicability.Below(top, path); ok {
				break
			}
			top = filepath.Dir(top)
		}
	}
	return top
}

// clientWalk says how the directories of a client's walk are looked at. Those of the project
// share one root, so that links between them are followed as the client does. Each directory
// above the project has its own root.
type clientWalk struct {
	in       *codingagents.Input
	roots    []string
	looked   map[string]string // the root of each directory
	rows     []conventions.Convention
	at       map[string]placed // the rows for directories below a root
	disabled []string          // rows of the table that don't apply at the roots themselves
	places   map[string]string // caches leadsTo
	names    map[string]bool   // the files in an unusual case that count
	// incomplete is set when not all directories could be placed.
	incomplete bool
}

// placed is what a row stands for: a convention in a directory of a root. moved is the
// directory in the home directory that this one replaces.
type placed struct{ convention, root, dir, moved string }

// walkOf plans a walk. If wide is set, it is the one root for all directories.
func walkOf(of *codingagents.Input, opts *Options, below []string, wide string) *clientWalk {
	in := *of
	w := &clientWalk{in: &in, looked: map[string]string{}, at: map[string]placed{}, places: map[string]string{}, names: map[string]bool{}}
	top := cmp.Or(wide, in.Project, in.Start)
	if wide != "" {
		w.roots = []string{wide}
		for i := range conventions.All {
			w.disabled = append(w.disabled, conventions.All[i].ID)
		}
	} else {
		w.rows, w.disabled = slices.Clone(in.Client.Own), foreign(in.Client)
	}
	rows, above := in.Client.Rows(), in.Client.RowsAbove()
	for _, dir := range codingagents.Directories(in.Client, in.Start, in.Project, in.Home) {
		switch rel, ok := applicability.Below(top, dir); {
		case wide == "" && (!ok || rel == "."):
			w.roots, w.looked[dir] = append(w.roots, dir), dir
			w.anywhere(w.folded(dir, rows))
		case dir == in.Start:
			w.incomplete = !w.place(top, rel, append(w.folded(dir, rows), rows...)) || w.incomplete
		default:
			w.incomplete = !w.place(top, rel, append(w.folded(dir, above), above...)) || w.incomplete
		}
	}
	w.user(opts, wide)
	rows = in.Client.NestedRows()
	for _, dir := range below {
		if rel, ok := applicability.Below(top, dir); ok && w.place(top, rel, append(w.folded(dir, rows), rows...)) {
			in.Below = append(in.Below, dir)
		} else {
			w.incomplete = true
		}
	}
	return w
}

// look looks at all directories, and returns the targets of links that lead out of the roots.
func (w *clientWalk) look(ctx context.Context, opts Options) (targets []string, err error) {
	in := w.in
	opts.Roots = nil
	for _, dir := range w.roots {
		opts.Roots = append(opts.Roots, RootSpec{Path: dir, Optional: dir != in.Start})
	}
	by := plugin.Conventions{Own: w.rows, Disabled: w.disabled, Heads: in.Client.Heads, Dependencies: in.Client.Dependencies}
	without := []string{mcpResolver}
	if isManifest := func(row conventions.Convention) bool { return row.Kind == abi.KindPlugin }; !slices.ContainsFunc(in.Client.Rows(), isManifest) {
		without = append(without, hooksResolver)
	}
	h, report, err := lookOnce(ctx, opts, in.Client, by, without...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	for i := range report.Outcomes {
		o := &report.Outcomes[i]
		for dir, root := range w.looked {
			if root == o.Root && !slices.Contains(in.Looked, dir) {
				in.Looked = append(in.Looked, dir)
			}
		}
		for j := range o.Candidates {
			if f, ok := w.find(o.Root, &o.Candidates[j]); ok {
				in.Finds = append(in.Finds, f)
			}
		}
		for _, d := range o.Denied {
			if target, err := filepath.EvalSymlinks(filepath.Join(o.Root, d.Path)); d.Reason == vfs.ReasonEscape && err == nil {
				targets = append(targets, target)
			}
		}
	}
	return targets, nil
}

// place adds rows for a directory below the project's top. If it can't, it records the
// directory as not looked at.
func (w *clientWalk) place(top, rel string, rows []conventions.Convention) bool {
	if strings.ContainsAny(rel, `*?[]{}\`) || len(w.rows) > maxClientRows {
		return false
	}
	dir := filepath.Join(top, rel)
	w.looked[dir] = top
	for i := range rows {
		row := rows[i]
		row.ID = fmt.Sprintf("%s-%d", rows[i].ID, len(w.rows))
		w.at[row.ID] = placed{rows[i].ID, top, dir, ""}
		row.Places = slices.Clone(row.Places)
		for j := range row.Places {
			row.Places[j] = filepath.Join(rel, row.Places[j])
		}
		w.rows = append(w.rows, row)
	}
	return true
}

// user adds the home directory, unless the operator excludes the user's files, and the
// directories that environment variables substitute for those in it.
func (w *clientWalk) user(opts *Options, wide string) {
	in := w.in
	home, err := filepath.EvalSymlinks(in.Home)
	if opts.NoUser || in.Home == "" || err != nil || in.Client.User == nil {
		return
	}
	in.Home, in.User = home, true
	top := w.looked[home] // the project's root, if the home directory lies in the project
	switch {
	case wide == "" && top == home:
	case wide == "" && top == "":
		w.roots, w.looked[home] = append(w.roots, home), home
	default:
		top = cmp.Or(wide, top)
		rel, ok := applicability.Below(top, home)
		var beside []conventions.Convention // what was looked for there, if it is on the walk
		switch {
		case home == in.Start:
			beside = in.Client.Rows()
		case w.looked[home] != "":
			beside = in.Client.RowsAbove()
		}
		w.incomplete = !ok || !w.place(top, rel, in.Client.UserRows(beside)) || w.incomplete
	}
	if folded := w.folded(home, in.Client.UserRows(nil)); w.looked[home] == home {
		w.anywhere(folded)
	} else if rel, ok := applicability.Below(w.looked[home], home); ok {
		w.incomplete = !w.place(w.looked[home], rel, folded) || w.incomplete
	}
	in.Moved = map[string]string{}
	for _, m := range in.Client.User.Moved {
		dir, err := filepath.EvalSymlinks(opts.ClientVariables[m.Variable])
		if filepath.IsAbs(dir) && err == nil && dir != filepath.Join(home, m.Dir) && dir != "/" {
			in.Moved[m.Dir] = dir
			w.incomplete = !w.moved(dir, m.Dir, wide) || w.incomplete
		}
	}
}

// moved adds rows for a directory that replaces one in the home directory. It is looked at
// from its parent: in a root of its own, its files would count as those of a project.
func (w *clientWalk) moved(dir, stands, wide string) bool {
	top := cmp.Or(wide, filepath.Dir(dir))
	rel, ok := applicability.Below(top, dir)
	if !ok || strings.ContainsAny(rel, `*?[]{}\`) {
		return false
	}
	if !slices.Contains(w.roots, top) {
		w.roots = append(w.roots, top)
	}
	w.looked[dir] = top
	for _, row := range w.in.Client.UserRows(nil) {
		var places []string
		for _, place := range row.Places {
			if rest, ok := strings.CutPrefix(place, stands+"/"); ok {
				places = append(places, filepath.Join(rel, rest))
			}
		}
		if len(places) > 0 {
			id := row.ID
			row.ID, row.Places = fmt.Sprintf("%s-%d", id, len(w.rows)), places
			w.at[row.ID] = placed{id, top, dir, stands}
			w.rows = append(w.rows, row)
		}
	}
	return true
}

// anywhere adds rows for the top of any root: own rows apply to all of them.
func (w *clientWalk) anywhere(rows []conventions.Convention) {
	for _, row := range rows {
		id := row.ID
		row.ID = fmt.Sprintf("%s-%d", id, len(w.rows))
		w.at[row.ID] = placed{convention: id}
		w.rows = append(w.rows, row)
	}
}

// folded returns rows for instruction files in a directory whose names have another case than
// those of rows, if the client ignores that: a file counts only if there is none in the usual
// case. Of names with a star only those in capitals are looked for.
func (w *clientWalk) folded(dir string, rows []conventions.Convention) (others []conventions.Convention) {
	if !w.in.Client.FoldNames {
		return nil
	}
	for i := range rows {
		row := rows[i]
		if row.Places = nil; row.Kind != abi.KindInstructionFile {
			continue
		}
		for _, place := range rows[i].Places {
			in, name := path.Split(place)
			if before, ending, found := strings.Cut(name, "*"); found {
				row.Places = append(row.Places, in+before+"*"+strings.ToUpper(ending))
				continue
			}
			entries, err := os.ReadDir(filepath.Join(dir, in))
			is := func(e os.DirEntry) bool { return e.Name() == name }
			if err != nil || slices.ContainsFunc(entries, is) {
				continue
			}
			at := slices.IndexFunc(entries, func(e os.DirEntry) bool { return strings.EqualFold(e.Name(), name) })
			if at >= 0 {
				row.Places = append(row.Places, in+entries[at].Name())
				w.names[filepath.Join(dir, in, entries[at].Name())] = true
			}
		}
		if len(row.Places) > 0 {
			others = append(others, row)
		}
	}
	return others
}

// maxClientRows bounds the conventions of a walk, because a resolver takes only so many
// patterns. Each directory needs about twelve.
const maxClientRows = 160

// find returns a candidate as a find in its directory. ok is false if its row is for another
// root.
func (w *clientWalk) find(root string, c *snapshot.Candidate) (f codingagents.Find, ok bool) {
	f = codingagents.Find{Directory: root, Path: cmp.Or(c.Path, c.Source), Resource: c.Resource}
	p, placed := w.at[c.Convention]
	if placed && p.root == "" {
		if filepath.Ext(f.Path) == strings.ToLower(filepath.Ext(f.Path)) && !w.names[f.Path] {
			return f, false // there is one in the usual case
		}
		p.root, p.dir = root, root
	}
	if placed {
		if p.root != root {
			return f, false
		}
		f.Convention, f.Directory = p.convention, p.dir
	}
	f.Linked = isLinked(&f)
	f.Place = codingagents.PlaceOf(f.Directory, f.Path)
	if rel, ok := applicability.Below(p.dir, f.Path); ok && p.moved != "" { // without the moved directory
		f.Place = filepath.Join(p.dir, strings.TrimPrefix(codingagents.PlaceOf("/", path.Join("/", p.moved, rel)), "/"+p.moved))
	}
	f.RealPlace = w.leadsTo(f.Place)
	return f, true
}

// leadsTo returns the target that dir reaches over links, or "" if there are no links.
func (w *clientWalk) leadsTo(dir string) string {
	to, known := w.places[dir]
	if !known {
		if to, _ = filepath.EvalSymlinks(dir); to == dir {
			to = ""
		}
		w.places[dir] = to
	}
	return to
}

// foreign lists the conventions of which a client reads nothing, so that nobody looks for
// them.
func foreign(client *codingagents.Client) (ids []string) {
	wanted := client.Conventions()
	if user := client.User; user != nil { // some rows are read in the home directory only
		wanted = slices.Concat(append(slices.Clone(user.Skills), wanted, user.Before, user.Instructions, user.Rules, user.Lists)...)
	}
	for i := range conventions.All {
		if id := conventions.All[i].ID; !slices.Contains(wanted, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// ProjectOf returns the top of the project that a directory lies in, free of links: the
// nearest directory with .git, or the directory itself.
func ProjectOf(dir string) (string, error) {
	start, err := filepath.Abs(dir)
	if err == nil {
		start, err = filepath.EvalSymlinks(start)
	}
	if err != nil {
		return "", err
	}
	return cmp.Or(projectOf(start, false), start), nil
}

// projectOf returns the nearest directory that contains .git, starting with dir itself, or ""
// if there is none. With whole, a directory .git counts only with what git init makes, and a
// file .git that doesn't name another directory ends the search.
func projectOf(dir string, whole bool) string {
	for {
		git := filepath.Join(dir, ".git")
		info, err := os.Stat(git)
		switch {
		case err == nil && whole && !info.IsDir():
			if text, err := os.ReadFile(git); err != nil || !strings.HasPrefix(string(text), "gitdir:") {
				return ""
			}
			return dir
		case err == nil && (!whole || slices.IndexFunc([]string{"HEAD", "objects", "refs"}, func(name string) bool {
			_, err := os.Stat(filepath.Join(git, name))
			return err != nil
		}) < 0):
			return dir
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
		dir = filepath.Dir(dir)
	}
}
