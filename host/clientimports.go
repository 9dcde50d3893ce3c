package host

import (
	"cmp"
	"context"
	"errors"
	"regexp"
	"slices"

	"waymark/abi"
	"waymark/host/applies"
	"waymark/host/clients"
	"waymark/host/plugin"
	"waymark/host/vfs"
	"waymark/plugins/conventions"
	"waymark/snapshot"
)

const (
	// maxImported bounds how many paths are looked at that texts import: nobody's context has
	// room for more of them. A look is for importsAtOnce, which fit into its patterns.
	maxImported, importsAtOnce = 500, 100
)

// followImports looks at what a client's instructions import, and at what that imports in its
// turn, as many steps as the client goes: below the top of the project, and for what is the
// user's own anywhere. What can't be looked at is said to be so. Links are followed inside of
// these.
func followImports(ctx context.Context, opts Options, in *clients.Input, roots []string) error {
	exclude, left := opts.Exclude, maxImported
	for _, user := range []bool{false, true} {
		top := cmp.Or(in.Project, in.Start)
		if user {
			top, opts.Exclude = "/", excludeBelow(exclude, "/", roots)
		}
		from, known := slices.Clone(in.Finds), map[string]bool{}
		from = slices.DeleteFunc(from, func(f clients.Find) bool { return in.IsUsers(&f) != user })
		for range in.Client.Imports {
			var paths []string
			for i := range from {
				for _, path := range from[i].Imported(in.Home) {
					if _, ok := applies.Below(top, path); ok && !known[path] {
						known[path], paths = true, append(paths, path)
					}
				}
			}
			from = nil
			for paths := range slices.Chunk(paths[:min(len(paths), left)], importsAtOnce) {
				finds, err := lookAtImports(ctx, opts, in.Client, top, paths)
				if err != nil && ctx.Err() != nil {
					return context.Cause(ctx)
				}
				if err != nil {
					in.NotLooked = append(in.NotLooked, paths...)
				}
				from = append(from, finds...)
			}
			in.NotLooked = append(in.NotLooked, paths[min(len(paths), left):]...)
			left -= min(len(paths), left)
			in.Imported = append(in.Imported, from...)
		}
	}
	return nil
}

// patternSigns are what has a meaning in a pattern.
var patternSigns = regexp.MustCompile(`[*?\[\]{}\\]+`)

// lookAtImports looks at files below a directory, in a root of their own.
func lookAtImports(ctx context.Context, opts Options, client *clients.Client, top string, paths []string) (finds []clients.Find, err error) {
	row := conventions.Convention{
		ID: "imported", Readers: []string{client.Reader}, Scope: conventions.ScopeProject, Kind: abi.KindInstructionFile,
		Format: conventions.Markdown, Description: conventions.FromHeading, Imports: true,
	}
	for _, path := range paths {
		rel, _ := applies.Below(top, path)
		row.Places = append(row.Places, patternSigns.ReplaceAllString(rel, "*")) // what else that finds isn't asked for
	}
	by := plugin.Conventions{Own: []conventions.Convention{row}, Disabled: everyRow(), Imports: true}
	opts.Roots = []RootSpec{{Path: top}}
	h, report, err := lookOnce(ctx, opts, client, by)
	if err != nil {
		return nil, err
	}
	for i := range report.Outcomes {
		o := &report.Outcomes[i]
		for j := range o.Candidates {
			c := &o.Candidates[j]
			if path := cmp.Or(c.Path, c.Source); slices.Contains(paths, path) {
				finds = append(finds, clients.Find{Path: path, Resource: c.Resource})
			}
		}
	}
	filter, err := allVisible()
	for i, path := range paths {
		if err != nil || slices.ContainsFunc(finds, func(f clients.Find) bool { return f.Path == path }) {
			continue
		}
		rel, _ := applies.Below(top, paths[i])
		if reason := h.used()[0].root.FS.Judge(filter, rel).Reason; reason != vfs.ReasonNone { // the same whether it is there or not
			finds = append(finds, clients.Find{Path: path, Resource: snapshot.Resource{
				Kind: row.Kind, Convention: row.ID, Source: path, Status: snapshot.StatusUnreadable, Error: "Waymark doesn't look at it: " + string(reason),
			}})
		}
	}
	return finds, errors.Join(err, h.Close())
}
