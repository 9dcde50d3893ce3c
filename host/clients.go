package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"waymark/abi"
	"waymark/host/clients"
	"waymark/host/plugin"
	"waymark/plugins/conventions"
	"waymark/snapshot"
)

// ClientContext tells what a client would see when it is started in a directory. It looks
// at the directories above, too, as far as that client does, with a host of its own, which
// has the built-in resolvers alone and the conventions of that client, whatever the
// operator has switched off: the client doesn't ask the operator. Of the options the
// roots, push, plugins, providers and memos don't count.
func ClientContext(ctx context.Context, opts Options, client *clients.Client, dir string) (*clients.View, error) {
	in, err := clientInput(ctx, opts, client, dir, nil)
	if err != nil {
		return nil, err
	}
	return clients.Of(*in), nil
}

// clientInput looks at the directories of a client's walk, and at those of below, which
// lie below the one of the start.
func clientInput(ctx context.Context, opts Options, client *clients.Client, dir string, below []string) (input *clients.Input, err error) {
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
	in := &clients.Input{Client: client, Start: start, Project: projectOf(start), Home: opts.Home}
	walk := walkOf(in, below)
	walk.user(in, opts.NoUser)
	opts.Roots = nil
	for _, dir := range walk.roots {
		opts.Roots = append(opts.Roots, RootSpec{Path: dir, Optional: dir != start})
	}
	opts.PluginDirs, opts.Plugins, opts.Providers, opts.Push, opts.Only = nil, nil, nil, nil, nil
	opts.MemoDir, opts.NoMemo, opts.Hold = "", true, false
	opts.Observe, opts.Amended, opts.ObserveWatch, opts.Settled = nil, nil, nil, nil
	opts.DisableBuiltin = nil
	opts.Conventions = plugin.Conventions{Own: walk.rows, Disabled: foreign(client), Heads: client.Heads, Dependencies: client.Dependencies}
	h, err := New(opts)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	if err := h.Load(ctx); err != nil {
		return nil, err
	}
	report, err := h.Refresh(ctx)
	if err != nil {
		return nil, err
	}
	for i := range report.Outcomes {
		o := &report.Outcomes[i]
		if o.Err != nil {
			return nil, fmt.Errorf("look at %s for %s: %w", o.Root, client.Name, o.Err)
		}
		for dir, root := range walk.looked {
			if root == o.Root && !slices.Contains(in.Looked, dir) {
				in.Looked = append(in.Looked, dir)
			}
		}
		for j := range o.Candidates {
			in.Finds = append(in.Finds, walk.find(o.Root, &o.Candidates[j]))
		}
	}
	return in, nil
}

// clientWalk is how the directories of a client's walk are looked at: those of the project
// in one root, so that a link from one to another is followed as the client does, and each
// one above it in its own.
type clientWalk struct {
	roots  []string
	looked map[string]string // directories, and the root of each
	rows   []conventions.Convention
	at     map[string]placed // the rows for directories below a root
}

// placed is what a row is for.
type placed struct{ convention, dir string }

func walkOf(in *clients.Input, below []string) *clientWalk {
	w := &clientWalk{looked: map[string]string{}, rows: slices.Clone(in.Client.Own), at: map[string]placed{}}
	rows := in.Client.Rows()
	top := cmp.Or(in.Project, in.Start)
	for _, dir := range clients.Directories(in.Client, in.Start, in.Project) {
		if rel, err := filepath.Rel(top, dir); err != nil || rel == "." || !filepath.IsLocal(rel) {
			w.roots, w.looked[dir] = append(w.roots, dir), dir
		} else {
			w.place(top, rel, rows)
		}
	}
	rows = in.Client.NestedRows()
	for _, dir := range below {
		if rel, err := filepath.Rel(top, dir); err == nil && w.place(top, rel, rows) {
			in.Below = append(in.Below, dir)
		}
	}
	return w
}

// place adds rows for a directory below the project's top. Where it can't, that is told
// as not looked at.
func (w *clientWalk) place(top, rel string, rows []conventions.Convention) bool {
	if strings.ContainsAny(rel, `*?[]{}\`) || len(w.rows) > maxClientRows {
		return false
	}
	dir := filepath.Join(top, rel)
	w.looked[dir] = top
	for i := range rows {
		row := rows[i]
		row.ID = fmt.Sprintf("%s-%d", rows[i].ID, len(w.rows))
		w.at[row.ID] = placed{rows[i].ID, dir}
		row.Places = slices.Clone(row.Places)
		for j := range row.Places {
			row.Places[j] = filepath.Join(rel, row.Places[j])
		}
		w.rows = append(w.rows, row)
	}
	return true
}

// user has the home directory looked at, too, unless the operator has its files left alone.
func (w *clientWalk) user(in *clients.Input, off bool) {
	home, err := filepath.EvalSymlinks(in.Home)
	if off || in.Home == "" || err != nil || in.Client.User == nil {
		return
	}
	in.Home, in.User = home, true
	if w.looked[home] == "" {
		w.roots, w.looked[home] = append(w.roots, home), home
	}
}

// maxClientRows bounds the conventions of a walk: a resolver takes so many patterns. Some
// twelve are for each directory.
const maxClientRows = 160

// find returns a candidate as a find of the directory that it is of.
func (w *clientWalk) find(root string, c *snapshot.Candidate) clients.Find {
	f := clients.Find{Directory: root, Path: cmp.Or(c.Path, c.Source), Resource: c.Resource}
	if p, ok := w.at[c.Convention]; ok {
		f.Convention, f.Directory = p.convention, p.dir
	}
	file := f.Path
	if f.Kind == abi.KindSkill {
		file = filepath.Join(file, "SKILL.md")
	}
	info, err := os.Lstat(file)
	f.Linked = err == nil && info.Mode()&os.ModeSymlink != 0
	return f
}

// foreign lists the conventions of which a client reads nothing: they needn't be looked
// for.
func foreign(client *clients.Client) (ids []string) {
	wanted := client.Conventions()
	if user := client.User; user != nil { // of the table's rows some are read in the home alone
		wanted = slices.Concat(append(slices.Clone(user.Skills), wanted, user.Instructions)...)
	}
	for i := range conventions.All {
		if id := conventions.All[i].ID; !slices.Contains(wanted, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// projectOf is the nearest directory with .git, dir itself or one above it; empty when
// there is none. That it is there is all that is looked at.
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
