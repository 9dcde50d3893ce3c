package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

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
	in, err := clientInput(ctx, opts, client, dir, nil)
	if err != nil {
		return nil, err
	}
	return codingagents.Of(*in), context.Cause(ctx)
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
	in := &codingagents.Input{Client: client, Start: start, Project: projectOf(start), Home: opts.Home}
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
	// incomplete is set when not all directories could be placed.
	incomplete bool
}

// placed is what a row stands for: a convention in a directory of a root. moved is the
// directory in the home directory that this one replaces.
type placed struct{ convention, root, dir, moved string }

// walkOf plans a walk. If wide is set, it is the one root for all directories.
func walkOf(of *codingagents.Input, opts *Options, below []string, wide string) *clientWalk {
	in := *of
	w := &clientWalk{in: &in, looked: map[string]string{}, at: map[string]placed{}, places: map[string]string{}}
	top := cmp.Or(wide, in.Project, in.Start)
	if wide != "" {
		w.roots = []string{wide}
		for i := range conventions.All {
			w.disabled = append(w.disabled, conventions.All[i].ID)
		}
	} else {
		w.rows, w.disabled = slices.Clone(in.Client.Own), foreign(in.Client)
	}
	rows := in.Client.Rows()
	for _, dir := range codingagents.Directories(in.Client, in.Start, in.Project, in.Home) {
		switch rel, ok := applicability.Below(top, dir); {
		case wide == "" && (!ok || rel == "."):
			w.roots, w.looked[dir] = append(w.roots, dir), dir
		default:
			w.incomplete = !w.place(top, rel, rows) || w.incomplete
		}
	}
	w.user(opts, wide)
	rows = in.Client.NestedRows()
	for _, dir := range below {
		if rel, ok := applicability.Below(top, dir); ok && w.place(top, rel, rows) {
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
	h, report, err := lookOnce(ctx, opts, in.Client, by)
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
	case top == home:
	case wide == "" && top == "":
		w.roots, w.looked[home] = append(w.roots, home), home
	default:
		top = cmp.Or(wide, top)
		rel, ok := applicability.Below(top, home)
		w.incomplete = !ok || !w.place(top, rel, in.Client.UserRows(w.looked[home] != "")) || w.incomplete
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
	for _, row := range w.in.Client.UserRows(false) {
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

// maxClientRows bounds the conventions of a walk, because a resolver takes only so many
// patterns. Each directory needs about twelve.
const maxClientRows = 160

// find returns a candidate as a find in its directory. ok is false if its row is for another
// root.
func (w *clientWalk) find(root string, c *snapshot.Candidate) (f codingagents.Find, ok bool) {
	f = codingagents.Find{Directory: root, Path: cmp.Or(c.Path, c.Source), Resource: c.Resource}
	p, placed := w.at[c.Convention]
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
		wanted = slices.Concat(append(slices.Clone(user.Skills), wanted, user.Instructions, user.Rules, user.Lists)...)
	}
	for i := range conventions.All {
		if id := conventions.All[i].ID; !slices.Contains(wanted, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// projectOf returns the nearest directory that contains .git, starting with dir itself, or ""
// if there is none. Only the existence of .git is checked.
func projectOf(dir string) string {
	for {
		if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
		dir = filepath.Dir(dir)
	}
}
