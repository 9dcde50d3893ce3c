package host

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"

	"waymark/abi"
	"waymark/host/applies"
	"waymark/host/clients"
	"waymark/host/vfs"
	"waymark/snapshot"
)

// importer reads what a client's instructions import, each in a root of its own: the top of
// the project, and for what is the user's own all there is. Links are followed inside of
// these. What is protected is said to be so, whether it is there or not. dirs are those that
// the patterns of what is excluded are relative to.
func importer(ctx context.Context, patterns []string, in *clients.Input, dirs []string) func(path string, user bool) *clients.Find {
	return func(path string, user bool) *clients.Find {
		top, exclude := cmp.Or(in.Project, in.Start), patterns
		if user {
			top, exclude = "/", excludeBelow(patterns, "/", dirs)
		}
		rel, ok := applies.Below(top, path)
		if !ok || ctx.Err() != nil {
			return nil
		}
		filter, err := allVisible()
		if err != nil {
			return nil
		}
		root, err := vfs.OpenRoot(top, vfs.RootOptions{Exclude: exclude})
		if err != nil {
			return nil
		}
		defer func() { _ = root.Close() }()
		run := root.Begin(filter, vfs.Limits{KeepBytes: in.Client.Instructions.MaxFile})
		defer func() { _ = run.Close() }()
		f := &clients.Find{Path: path, Resource: snapshot.Resource{Kind: abi.KindInstructionFile, Convention: "imported", Source: path, Status: snapshot.StatusUnreadable}}
		content, err := run.Content(rel)
		switch e, _ := errors.AsType[*vfs.Error](err); content.Class {
		case vfs.ContentOK, vfs.ContentOversize:
			f.Source, f.SizeBytes, f.Payload, f.Status = filepath.Join(root.Path(), content.Path), content.Size, content.Data, snapshot.StatusOK
		case vfs.ContentHidden:
			f.Error = "Waymark doesn't look at it: " + string(e.Reason)
		case vfs.ContentUnreadable:
			f.Error = "it can't be read: " + e.Errno.Error()
		default:
			return nil
		}
		return f
	}
}
