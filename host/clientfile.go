package host

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"waymark/host/applicability"
	"waymark/host/codingagents"
)

// ClientContext returns what a client would see when started in dir, an absolute path to a
// directory in a root; empty means the working directory. It looks only where the client
// does, including the directories above. It answers one such question at a time.
//
// # Errors
//
// applicability.ErrPath, applicability.ErrOutside, applicability.ErrSecret, and the
// context's.
func (h *Host) ClientContext(ctx context.Context, client *codingagents.Client, dir string) (view *codingagents.View, err error) {
	err = h.asClient(ctx, dir, func(ctx context.Context, opts Options, start string) error {
		view, err = ClientContext(ctx, opts, client, start)
		return err
	})
	return view, err
}

// CompareClients returns what clients would see when started in dir, side by side. The path
// and the errors are those of ClientContext.
func (h *Host) CompareClients(ctx context.Context, clients []*codingagents.Client, dir string) (c *codingagents.Comparison, err error) {
	err = h.asClient(ctx, dir, func(ctx context.Context, opts Options, start string) error {
		c, err = CompareClients(ctx, opts, clients, start)
		return err
	})
	return c, err
}

// asClient looks on behalf of a client that is started in dir, one such look at a time.
func (h *Host) asClient(ctx context.Context, dir string, look func(ctx context.Context, opts Options, start string) error) error {
	opts, start, err := h.clientStart(ctx, dir)
	if err != nil {
		return err
	}
	ctx, leave, err := h.asking.Take(ctx)
	if err != nil {
		return err
	}
	defer leave()
	return look(ctx, opts, start)
}

// ForClient returns what applies to a file for a client that is started in the working
// directory, or in the root that contains the path. Finds are ordered nearest first, and
// within a directory in the client's own order. The path is as in For, and so are the
// directories below the root that are searched.
//
// # Errors
//
// Those of For.
func (h *Host) ForClient(ctx context.Context, client *codingagents.Client, path string) (*applicability.Answer, error) {
	if err := applicability.CheckPath(path); err != nil {
		return nil, err
	}
	opts, root, at, err := h.clientPlace(ctx, path)
	if err != nil {
		return nil, err
	}
	ctx, leave, err := h.asking.Take(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	below, warnings := forDirectories(at.dir)
	view, err := fileView(ctx, opts, client, root, below, filepath.Join(root, at.path))
	if err != nil {
		return nil, err
	}
	answer := view.Answer(path)
	answer.Warnings = append(warnings, answer.Warnings...)
	return answer, nil
}

// fileView looks at what a client has for a file. The paths in below are relative to start.
func fileView(ctx context.Context, opts Options, client *codingagents.Client, start string, below []string, file string) (*codingagents.FileView, error) {
	dirs := make([]string, len(below))
	for i, dir := range below {
		dirs[i] = filepath.Join(start, dir)
	}
	in, err := clientInput(ctx, opts, client, start, dirs)
	if err != nil {
		return nil, err
	}
	view := codingagents.For(*in, file)
	for _, dir := range dirs {
		if !slices.Contains(in.Below, dir) {
			view.NotLookedAt = append(view.NotLookedAt, dir)
		}
	}
	return view, context.Cause(ctx)
}

// WhyClient returns what a client that is started in the working directory makes of each
// file, in the order of the given absolute paths.
//
// # Errors
//
// The context's, and applicability.ErrOutside if there is no working directory.
func (h *Host) WhyClient(ctx context.Context, client *codingagents.Client, paths ...string) (verdicts []codingagents.Verdict, err error) {
	err = h.asClient(ctx, "", func(ctx context.Context, opts Options, start string) error {
		client := named(&opts, client, start)
		views := map[string]*codingagents.FileView{} // by directory; the start for places on its walk
		for _, path := range paths {
			path = realPath(path)
			at := client.Place(path)
			from, dir := start, at.Directory
			var below []string
			if at.Row == nil && client.Imports != nil { // a file on the way to it may import it
				dir = filepath.Dir(path)
			}
			if rel, ok := applicability.Below(start, dir); ok && rel != "." {
				if below, _ = forDirectories(rel); len(below) > 0 {
					from = dir
				}
			}
			view := views[from]
			if view == nil {
				if view, err = fileView(ctx, opts, client, start, below, filepath.Join(from, "*")); err != nil {
					return err
				}
				views[from] = view
			}
			verdicts = append(verdicts, view.Verdict(path, at))
		}
		return nil
	})
	return verdicts, err
}

// realPath resolves the links in a path's directory, but not in its last name.
func realPath(path string) string {
	path = filepath.Clean(path)
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		return filepath.Join(dir, filepath.Base(path))
	}
	return path
}

// clientStart returns the directory in which a client is started: dir in its root, or the
// working directory if dir is empty.
func (h *Host) clientStart(ctx context.Context, dir string) (opts Options, start string, err error) {
	if dir != "" {
		if err := applicability.CheckPath(dir); err != nil {
			return opts, "", err
		}
		opts, root, at, err := h.clientPlace(ctx, strings.TrimSuffix(dir, "/")+"/")
		if err == nil && at.dir != at.path {
			err = fmt.Errorf("%w: it is not a directory: name one that a client can be started in", applicability.ErrPath)
		}
		return opts, filepath.Join(root, at.path), err
	}
	opts, leave, err := h.clientOptions(ctx)
	if err != nil {
		return opts, "", err
	}
	defer leave()
	used := h.used()
	for i := range used {
		if u := &used[i]; u.isWorking() {
			return opts, u.root.FS.Path(), nil
		}
	}
	return opts, "", fmt.Errorf("%w: there is no working directory that a client could be started in: name a directory", applicability.ErrOutside)
}

// clientPlace returns the root that contains a path, and the path's location in it.
func (h *Host) clientPlace(ctx context.Context, path string) (opts Options, root string, at located, err error) {
	opts, leave, err := h.clientOptions(ctx)
	if err != nil {
		return opts, "", at, err
	}
	defer leave()
	used := h.used()
	u, rel, ok := rootOf(used, path)
	if !ok {
		return opts, "", at, h.outside(used, path)
	}
	at, err = locate(u.root.FS, rel, strings.HasSuffix(path, "/"))
	return opts, u.root.FS.Path(), at, err
}

// clientOptions returns the options now in force, for a look on a client's behalf. The caller
// holds h.turn until it calls leave.
func (h *Host) clientOptions(ctx context.Context) (opts Options, leave func(), err error) {
	if err := h.haveReport(ctx); err != nil {
		return opts, nil, err
	}
	_, leave, err = h.turn.Take(ctx) // keeps roots open meanwhile
	if err != nil {
		return opts, nil, err
	}
	opts = h.opts
	opts.Exclude, opts.Own, opts.FileLimits, opts.Caps = h.config.exclude, h.config.own, h.config.fileLimits, h.config.caps
	opts.Progress = nil
	return opts, leave, nil
}
