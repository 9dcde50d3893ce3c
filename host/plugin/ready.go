package plugin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/fxamacker/cbor/v2"

	"waymark/abi"
	"waymark/host/resolve"
	"waymark/host/sandbox"
	"waymark/host/vfs"
)

// recognize copies what is known of content that is already in use, for example after a file
// was renamed or rewritten unchanged.
func (c *Catalog) recognize(v *version) {
	for _, p := range c.current.rows {
		if hd := p.handle; hd != nil && v.pending() && hd.digest == v.digest && hd.desc != nil && hd.loaded() {
			v.desc, v.wasm, v.ok = hd.desc, nil, true
		}
	}
}

// describeAll describes all modules that were read and not judged yet.
func (c *Catalog) describeAll(ctx context.Context, config *Config) error {
	for _, dir := range c.store.dirs {
		for _, f := range dir.files {
			if f.newest == nil || !f.newest.pending() {
				continue
			}
			if err := c.describe(ctx, config, f); err != nil {
				return err
			}
		}
	}
	return nil
}

// describe obtains a module's description: from an earlier process, or by loading the module.
func (c *Catalog) describe(ctx context.Context, config *Config, f *file) error {
	v := f.newest
	v.desc = c.description(v.digest)
	if reason := c.opts.Running.Quarantined(v.digest); reason != "" {
		v.err, v.passing, v.wasm = quarantinedError(reason), true, nil // only Retry tries it again
		return nil
	}
	if v.desc != nil {
		v.remembered, v.wasm = true, nil
		return nil
	}
	hd := c.handleOf(f.modulePath, v.digest, config.Limits, v.wasm)
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

// keptDescription is a module's description from when it was last loaded.
type keptDescription struct {
	Salt, Digest string
	Description  abi.Description
}

func descriptionName(digest string) string { return "module-" + digest }

// description returns a module's stored description; nil if there is none.
func (c *Catalog) description(digest string) *abi.Description {
	if c.opts.Store == nil {
		return nil
	}
	data, ok := c.opts.Store.Get(descriptionName(digest))
	if !ok {
		return nil
	}
	var kept keptDescription
	if cbor.Unmarshal(data, &kept) != nil || kept.Salt != c.opts.Salt || kept.Digest != digest {
		return nil
	}
	return &kept.Description
}

// keepDescription stores it for the next process.
func (c *Catalog) keepDescription(digest string, d *abi.Description) error {
	if c.opts.Store == nil {
		return nil
	}
	data, err := cbor.Marshal(keptDescription{c.opts.Salt, digest, *d})
	if err != nil {
		return err
	}
	return c.opts.Store.Put(descriptionName(digest), data)
}

// quarantinedError says that an earlier process died of a module.
type quarantinedError string

func (e quarantinedError) Error() string { return string(e) }

// mayPass reports whether a module that can't be used may become usable without a change:
// because the failure isn't its own fault, or it was too slow on a machine that may have been
// busy.
func mayPass(err error) bool {
	return !errors.Is(err, sandbox.ErrRejected) || errors.Is(err, sandbox.ErrDeadline)
}

// arrangeReady is arrange with untested versions. It loads those that are new to the list and
// that need selects. Versions that can't be loaded aren't used, and the rest is arranged
// again.
func (c *Catalog) arrangeReady(ctx context.Context, config *Config, need func(*row) bool, check bool) ([]*row, error) {
	for {
		list := c.arrange(config, true)
		again := false
		for _, p := range list {
			if p.handle == nil || p.file == nil {
				continue
			}
			if !c.current.has(p.handle) && need(p) {
				if err := c.makeReady(ctx, p, check); err != nil {
					return nil, err
				}
			}
			p.version.ok = p.version.err == nil
			again = again || !p.version.ok
		}
		if !again {
			return list, nil
		}
	}
}

// makeReady loads what a row of the list needs, and checks it if asked to. A failure becomes
// the version's error.
func (c *Catalog) makeReady(ctx context.Context, p *row, check bool) error {
	_, err := p.handle.get(ctx)
	if err == nil && check {
		err = selfCheck(ctx, p.resolvers)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		p.version.fail(p.file, time.Now(), err, mayPass(err))
	}
	return nil
}

// selfCheck runs all resolvers of a module on an empty directory, where nothing should make
// them fail.
func selfCheck(ctx context.Context, resolvers []resolve.Resolver) (err error) {
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
