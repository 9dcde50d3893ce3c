package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"waymark/host/resolve"
	"waymark/host/sandbox"
	"waymark/host/vfs"
)

// recognize takes over what is known of a content that is in use already, as
// after a file was renamed, or written again as it was.
func (h *Host) recognize(v *version) {
	for hd := range h.handles {
		if v.pending() && hd.digest == v.digest && hd.desc != nil && hd.loaded() && h.inUse(hd) {
			v.desc, v.wasm, v.ok = hd.desc, nil, true
		}
	}
}

// describe finds out what a module says of itself: from an earlier process, or
// by loading it.
func (h *Host) describe(ctx context.Context, opts *Options, f *pluginFile) error {
	v := f.newest
	v.desc = h.blobs.description(v.digest)
	if reason := opts.Running.Quarantined(v.digest); reason != "" {
		v.err, v.passing, v.wasm = quarantinedError(reason), true, nil // it is for RetryPlugins to try it again
		return nil
	}
	if v.desc != nil {
		v.remembered, v.wasm = true, nil
		return nil
	}
	hd := h.handleOf(f.pluginPath, v.digest, opts.Limits, v.wasm)
	m, err := hd.get(ctx)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	v.wasm = nil
	if err != nil {
		v.fail(f, time.Now(), err, mayPass(err))
		return nil
	}
	v.desc, hd.desc = m.Description(), m.Description()
	return nil
}

// quarantinedError says that an earlier process died of a module.
type quarantinedError string

func (e quarantinedError) Error() string { return string(e) }

// mayPass reports whether a module that can't be used may be usable later as it
// is: when it isn't its own fault, or wasn't in time on a machine that may have
// been busy.
func mayPass(err error) bool {
	return !errors.Is(err, sandbox.ErrRejected) || errors.Is(err, sandbox.ErrDeadline)
}

// makeReady loads what a row of the list needs, and checks it if that is asked
// for. What fails becomes the version's error.
func (h *Host) makeReady(ctx context.Context, p *plugin, check bool) error {
	_, err := p.module.get(ctx)
	if err == nil && check {
		err = h.selfCheck(ctx, p.resolvers)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		p.version.fail(p.file, time.Now(), err, mayPass(err))
	}
	return nil
}

// selfCheck runs all resolvers of a module on an empty directory, where there
// is nothing that could make them fail.
func (h *Host) selfCheck(ctx context.Context, resolvers []resolve.Resolver) (err error) {
	dir, err := os.MkdirTemp("", "waymark-empty-")
	if err != nil {
		return fmt.Errorf("it can't be tried on an empty directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.Remove(dir)) }()
	root, err := vfs.OpenRoot(dir, vfs.RootOptions{})
	if err != nil {
		return fmt.Errorf("it can't be tried on an empty directory: %w", err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	engine := resolve.New(resolve.Options{NoMemo: true, Parallel: 1})
	outcomes, err := engine.Resolve(ctx, resolvers, []resolve.Root{{FS: root}})
	if err != nil {
		return err
	}
	for i := range outcomes {
		if o := &outcomes[i]; o.Err != nil {
			return fmt.Errorf("its resolver fails on an empty directory: %w", o.Err)
		}
	}
	return nil
}
