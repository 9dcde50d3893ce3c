package host

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"path"
	"path/filepath"

	"waymark/host/applicability"
	"waymark/host/codingagents"
	"waymark/host/vfs"
	"waymark/snapshot"
)

// importer reads what a client's instructions import. Each import is read in a root of its
// own: the top of the project, or "/" for the user's own files. Links are followed inside
// that root. A protected file is reported as such whether or not it exists. Options.Exclude
// is relative to dirs.
func importer(ctx context.Context, opts *Options, in *codingagents.Input, dirs []string) func(f *codingagents.Find, user bool) bool {
	patterns, own := opts.Exclude, opts.own()
	return func(f *codingagents.Find, user bool) bool {
		top, exclude := cmp.Or(in.Project, in.Start), patterns
		if user {
			top, exclude = "/", excludeBelow(patterns, "/", dirs)
		}
		rel, ok := applicability.Below(top, f.Path)
		if !ok || ctx.Err() != nil {
			return false
		}
		there := false
		lookInto(top, vfs.RootOptions{Exclude: exclude, Own: own}, allVisible, vfs.Limits{KeepBytes: in.Client.Instructions.MaxFile}, func(root *vfs.Root, run *vfs.Run) {
			content, err := run.Content(rel)
			f.Status, there = snapshot.StatusUnreadable, true
			switch e, _ := errors.AsType[*vfs.Error](err); content.Class {
			case vfs.ContentOK, vfs.ContentOversize:
				f.Source, f.SizeBytes, f.Payload, f.Status = filepath.Join(root.Path(), content.Path), content.Size, content.Data, snapshot.StatusOK
				sum := sha256.Sum256(content.Data)
				f.ContentHash = sum[:]
			case vfs.ContentHidden:
				f.Error = "Waymark doesn't look at it: " + string(e.Reason)
			case vfs.ContentUnreadable:
				f.Error = "it can't be read: " + e.Errno.Error()
			default:
				there = false
			}
		})
		return there
	}
}

// lookInto reads in a directory, as a root of its own, what a filter shows. Nothing is read in
// one that can't be opened.
func lookInto(dir string, opts vfs.RootOptions, visible func() (*vfs.Filter, error), limits vfs.Limits, read func(root *vfs.Root, run *vfs.Run)) {
	filter, err := visible()
	if err != nil {
		return
	}
	root, err := vfs.OpenRoot(dir, opts)
	if err != nil {
		return
	}
	defer func() { _ = root.Close() }()
	run := root.Begin(filter, limits)
	defer func() { _ = run.Close() }()
	read(root, run)
}

// excludeBelow rewrites patterns that are relative to each of dirs as patterns relative to
// top, which contains dirs.
func excludeBelow(patterns []string, top string, dirs []string) (all []string) {
	for _, dir := range dirs {
		rel, _ := applicability.Below(top, dir)
		for _, pattern := range patterns {
			all = append(all, path.Join(vfs.LiteralPattern(rel), pattern))
		}
	}
	return all
}
