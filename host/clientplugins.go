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

	"waymark/abi"
	"waymark/host/applicability"
	"waymark/host/codingagents"
	"waymark/host/plugin"
	"waymark/plugins/conventions"
	"waymark/plugins/installed"
	"waymark/snapshot"
)

// lookAtPlugins adds what the plugins bring that the user has installed and enabled for a
// client. It looks at the home directory as for a snapshot, or at the parent of the directory
// that an environment variable substitutes for the client's, but uses only the plugins found
// there.
func lookAtPlugins(ctx context.Context, opts Options, in *codingagents.Input) (err error) {
	if !in.User || in.Client.User.Plugins == nil {
		return nil
	}
	rules := in.Client.User.Plugins
	home := RootSpec{Path: in.Home, Scope: snapshot.ScopeUser, Optional: true}
	if dir := in.Moved[rules.Dir]; dir != "" {
		home.Path, home.moved = filepath.Dir(dir), map[string]string{rules.Dir: filepath.Base(dir)}
	}
	if !isDir(filepath.Join(home.Path, installed.At(home.moved, rules.Dir))) {
		return nil
	}
	opts.Roots = []RootSpec{home}
	if rules.Settings && in.Start != home.Path {
		opts.Roots = append(opts.Roots, RootSpec{Path: in.Start, Optional: true})
	}
	h, report, err := lookOnce(ctx, opts, in.Client, plugin.Conventions{
		Own: movedRows(home.moved, rules.Own), Disabled: besidesPlugins(), Heads: in.Client.Heads, Dependencies: in.Client.Dependencies,
	}, mcpResolver)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	for _, slot := range h.slots {
		if slot.open == nil || slot.spec.Scope != snapshot.ScopeUser {
			continue
		}
		for i := range slot.installs.list {
			if p := &slot.installs.list[i]; p.Reader == in.Client.Reader && p.State == installed.On {
				dir := filepath.Join(slot.open.Path(), p.Dir)
				in.Plugins, in.Looked = append(in.Plugins, codingagents.Plugin{Name: p.Name, Dir: dir}), append(in.Looked, dir)
			}
		}
	}
	for i := range report.Outcomes {
		for j := range report.Outcomes[i].Candidates {
			if f, ok := pluginFind(in, &report.Outcomes[i].Candidates[j]); ok {
				in.Finds = append(in.Finds, f)
			}
		}
	}
	return nil
}

// movedRows returns conventions with the directories of agents replaced as moved says.
func movedRows(moved map[string]string, rows []conventions.Convention) []conventions.Convention {
	rows = slices.Clone(rows)
	for i := range rows {
		rows[i].Places = slices.Clone(rows[i].Places)
		for j := range rows[i].Places {
			rows[i].Places[j] = movedPlace(moved, rows[i].Places[j])
		}
	}
	return rows
}

// besidesPlugins lists the conventions of the table that concern neither plugin manifests nor
// what plugins bring.
func besidesPlugins() (ids []string) {
	for i := range conventions.All {
		if c := &conventions.All[i]; c.Scope != conventions.ScopePlugin && c.Kind != abi.KindPlugin {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// pluginFind returns a candidate as a find of its plugin. ok is false if it belongs to no
// plugin, or if the client doesn't load it.
func pluginFind(in *codingagents.Input, c *snapshot.Candidate) (f codingagents.Find, ok bool) {
	f = codingagents.Find{Path: cmp.Or(c.Path, c.Source), Resource: c.Resource}
	own := slices.ContainsFunc(in.Client.User.Plugins.Own, func(o conventions.Convention) bool { return o.ID == c.Convention })
	if !own && (c.Attributes["plugin"].Text == "" || !slices.Contains(c.Readers, in.Client.Reader)) {
		return f, false
	}
	for _, p := range in.Plugins {
		rel, ok := applicability.Below(p.Dir, f.Path)
		if !ok || !own && c.Attributes["plugin"].Text != p.Name {
			continue
		}
		f.Directory, f.Linked = p.Dir, isLinked(&f)
		// The usual place of skills, or the one that the manifest names.
		f.Place = filepath.Dir(f.Path)
		if usual := filepath.Join(p.Dir, "skills"); path.Dir(rel) != "." {
			if _, ok := applicability.Below(usual, f.Path); ok {
				f.Place = usual
			}
		}
		if to, err := filepath.EvalSymlinks(f.Place); err == nil && to != f.Place {
			f.RealPlace = to
		}
		return f, true
	}
	return f, false
}

// pluginFinds returns the finds of installed plugins.
func pluginFinds(in *codingagents.Input) (list []codingagents.Find) {
	for i := range in.Finds {
		if f := &in.Finds[i]; slices.ContainsFunc(in.Plugins, func(p codingagents.Plugin) bool { return p.Dir == f.Directory }) {
			list = append(list, *f)
		}
	}
	return list
}

// Built-in resolvers that a view doesn't always need, each of which costs several milliseconds.
const (
	hooksResolver = "hooks"
	mcpResolver   = "mcp-config"
)

// lookOnce makes a host that looks at the roots of opts by the given conventions, without some
// of the built-in resolvers. The caller closes it.
func lookOnce(ctx context.Context, opts Options, client *codingagents.Client, by plugin.Conventions, without ...string) (h *Host, report *Report, err error) {
	opts.PluginDirs, opts.Plugins, opts.Providers, opts.Push, opts.Only = nil, nil, nil, nil, nil
	opts.MemoDir, opts.NoMemo, opts.Hold = "", true, false
	opts.Observe, opts.Amended, opts.ObserveWatch, opts.Settled = nil, nil, nil, nil
	opts.DisableBuiltin, opts.Conventions = without, by
	if h, err = New(opts); err != nil {
		return nil, nil, err
	}
	if err = h.Load(ctx); err == nil {
		report, err = h.Refresh(ctx)
	}
	for i := 0; err == nil && i < len(report.Outcomes); i++ {
		if o := &report.Outcomes[i]; o.Err != nil {
			err = fmt.Errorf("look at %s for %s: %w", o.Root, client.Name, o.Err)
		}
	}
	if err != nil {
		return nil, nil, errors.Join(err, h.Close())
	}
	return h, report, nil
}

// isLinked reports whether the file of a find is a link.
func isLinked(f *codingagents.Find) bool {
	file := f.Path
	if f.Kind == abi.KindSkill {
		file = filepath.Join(file, "SKILL.md")
	}
	info, err := os.Lstat(file)
	return err == nil && info.Mode()&os.ModeSymlink != 0
}
