package conform

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"waymark/abi"
	"waymark/cmd/harness/internal/extism"
	"waymark/host"
	"waymark/host/plugin"
	"waymark/host/resolve"
	"waymark/host/sandbox"
	"waymark/host/vfs"
	"waymark/snapshot"
)

// Options says what to check. File is needed.
type Options struct {
	// File is the module.
	File string
	// Host is the engine's configuration: caches, compiler, limits, caps, the
	// operator's entry for the module. What modules and roots it names is not
	// used. Only limits the check to some resolvers.
	Host host.Options
	// Dir, if set, is where the workspaces are made, and stay; it must be
	// empty or not exist. Else they are removed in the end.
	Dir string
	// Extism runs the module in the Extism SDK as it is; nil skips that.
	Extism Runner
}

// Runner is what a extism.Child does.
type Runner interface {
	Run(ctx context.Context, job extism.Job) ([]extism.Answer, error)
}

// checker is one check.
type checker struct {
	opts   Options
	dir    string // of the workspaces
	wasm   []byte // the module, as it was loaded
	state  snapshot.Plugin
	desc   *abi.Description
	module *sandbox.Module
	sample sample
	// base holds what each resolver made of the sample.
	base map[string]*resolve.Outcome
	// dead are the resolvers that exceeded their deadline.
	dead    []string
	checked map[string]bool // rules
	found   []Finding
	made    int          // how many workspaces
	seen    []*workspace // those that resolvers have looked at
	runs    int
}

// Check checks a module. Errors are the caller's or the system's: no such
// file, no room for workspaces, the context's.
func Check(ctx context.Context, opts Options) (_ *Report, err error) {
	c := &checker{opts: opts, checked: map[string]bool{}, base: map[string]*resolve.Outcome{}}
	if err := c.room(); err != nil {
		return nil, err
	}
	if opts.Dir == "" {
		defer func() {
			unseal(c.dir)
			err = errors.Join(err, os.RemoveAll(c.dir))
		}()
	}
	ok, err := c.admitted(ctx)
	if c.module != nil {
		defer func() { err = errors.Join(err, c.module.Close()) }()
	}
	if err != nil || !ok {
		return c.report(), err
	}
	c.describe()
	for _, phase := range []func(context.Context) error{
		c.basics, c.requests, c.again, c.hostile, c.roots, c.edits, c.extism,
	} {
		if len(c.alive()) == 0 {
			break
		}
		if err := phase(ctx); err != nil {
			return nil, err
		}
	}
	return c.report(), nil
}

// room makes the directory for the workspaces. Its path has no links, because
// outcomes name their roots without them.
func (c *checker) room() error {
	dir, err := c.newDir()
	if err == nil {
		dir, err = filepath.Abs(dir)
	}
	if err == nil {
		c.dir, err = filepath.EvalSymlinks(dir)
	}
	return err
}

// newDir makes a new directory, or the one that was named.
func (c *checker) newDir() (string, error) {
	dir := c.opts.Dir
	if dir == "" {
		return os.MkdirTemp("", "waymark-check-")
	}
	if err := makeDir(dir); err != nil {
		return "", err
	}
	entries, err := os.ReadDir(dir)
	if err == nil && len(entries) > 0 {
		err = fmt.Errorf("%s is not empty: name a directory that is, or doesn't exist", dir)
	}
	return dir, err
}

// hostOptions are those of the engine, for those resolvers that still run.
func (c *checker) hostOptions() host.Options {
	o := c.opts.Host
	o.PluginFiles, o.PluginDirs = []string{c.opts.File}, nil
	o.Builtin, o.BuiltinDigest, o.BuiltinNative, o.Roots, o.Push, o.MemoDir = nil, nil, nil, nil, nil, ""
	o.Only, o.NoMemo = c.alive(), true
	return o
}

// names are the resolvers that are checked.
func (c *checker) names() []string {
	names := []string{}
	if c.desc == nil {
		return names
	}
	for _, r := range c.desc.Resolvers {
		if only := c.opts.Host.Only; len(only) == 0 || slices.Contains(only, r.Name) {
			names = append(names, r.Name)
		}
	}
	return names
}

// alive are those of them that are still run.
func (c *checker) alive() []string {
	return slices.DeleteFunc(c.names(), func(n string) bool { return slices.Contains(c.dead, n) })
}

// resolvers are the descriptions of those that are checked.
func (c *checker) resolvers() []abi.Resolver {
	names := c.names()
	return slices.DeleteFunc(slices.Clone(c.desc.Resolvers), func(r abi.Resolver) bool { return !slices.Contains(names, r.Name) })
}

// entry is the operator's word on the module.
func (c *checker) entry() plugin.Entry {
	for _, e := range c.opts.Host.Plugins {
		if e.Name == c.state.Name {
			return e
		}
	}
	return plugin.Entry{}
}

// limits are those that the engine holds the module's runs to.
func (c *checker) limits() (sandbox.Limits, vfs.Limits) {
	own, all := c.entry(), c.opts.Host
	return own.Limits.Or(all.Limits), own.FileLimits.Or(all.FileLimits)
}
