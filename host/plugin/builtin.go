package plugin

import (
	"context"
	"fmt"
	"log/slog"
	"path"
	"slices"

	"github.com/fxamacker/cbor/v2"

	"waymark/host/resolve"
	"waymark/host/vfs"
	"waymark/internal/errtext"
	"waymark/snapshot"
)

// BuiltinPath is the snapshot.Plugin.Path of the embedded module.
const BuiltinPath = "builtin"

// loadBuiltin makes the row of the built-in module, or nil if there is no such module.
func (c *Catalog) loadBuiltin(ctx context.Context, config *Config) (*row, error) {
	if c.opts.Builtin == nil {
		return nil, nil //nolint:nilnil // there is none
	}
	if c.builtinDigest == "" {
		digest, err := c.findBuiltin()
		if err != nil {
			return nil, err
		}
		c.builtinDigest = digest
		if reason := c.opts.Running.Quarantined(c.builtinDigest); reason != "" {
			// Without the built-in module an agent finds nothing. The code is ours, so this
			// is a fault to be reported.
			c.log.Error("the built-in resolvers are used all the same", slog.String("reason", reason))
		}
	}
	p := &row{state: stateOf(BuiltinPath, &version{}), version: &version{digest: c.builtinDigest}}
	hd := c.builtinHandle(config)
	if hd.desc == nil {
		m, err := hd.get(ctx)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			p.state.State, p.state.Error = snapshot.PluginRejected, errtext.Of(err)
			return p, nil // the error is in the row
		}
		hd.desc = m.Description()
	}
	p.version.desc = hd.desc
	p.state, p.handle = stateOf(BuiltinPath, p.version), hd
	for _, info := range hd.desc.Resolvers {
		info.Reads = renamed(info.Reads, c.opts.BuiltinNames[info.Name])
		if slices.Contains(config.DisableBuiltin, info.Name) {
			continue
		}
		object, err := config.Conventions.configure(config.BuiltinConfig[info.Name], info.Kinds)
		if err != nil {
			return nil, fmt.Errorf("the configuration of %s: %w", info.Name, err)
		}
		p.resolvers = append(p.resolvers, resolve.Resolver{
			Module: hd.module(), Info: info, Config: object,
			Limits: builtinFiles(config.FileLimits), Manifests: info.Name == manifestReader, Bundles: true,
			Places: config.Conventions.places(info.Kinds), Conventions: config.Conventions.table(),
		})
	}
	return p, nil
}

// retryBuiltin tries again to load the built-in module after a failure. Its code is ours, so
// the machine is to blame, and may have been busy. Without it an agent finds nothing.
func (c *Catalog) retryBuiltin(ctx context.Context) (err error) {
	if c.builtin = c.current.builtin(); c.builtin != nil && (c.builtin.handle == nil || c.builtin.handle.failed()) {
		c.builtin, err = c.loadBuiltin(ctx, &c.config)
	}
	return err
}

// manifestReader is the resolver that finds the parts of a bundle by its manifest.
const manifestReader = "context"

// builtinName is the name under which the built-in module's digest is stored.
const builtinName = "builtin"

// keptDigest is the digest that an earlier process of the same program computed.
type keptDigest struct{ Salt, Digest string }

// findBuiltin returns the digest of the built-in module. If the module is part of the
// program, the digest is cached with what else is known of that program, because computing it
// would take longer than a start may.
func (c *Catalog) findBuiltin() (string, error) {
	if c.opts.BuiltinDigest == nil {
		wasm, err := c.opts.Builtin()
		if err != nil {
			return "", err
		}
		return digestOf(wasm), nil
	}
	keep := c.opts.Store != nil && c.opts.Salt != ""
	if keep {
		var kept keptDigest
		data, ok := c.opts.Store.Get(builtinName)
		if ok && cbor.Unmarshal(data, &kept) == nil && kept.Salt == c.opts.Salt {
			return kept.Digest, nil
		}
	}
	digest, err := c.opts.BuiltinDigest()
	if err != nil || !keep {
		return digest, err
	}
	data, err := cbor.Marshal(keptDigest{c.opts.Salt, digest})
	if err == nil {
		err = c.opts.Store.Put(builtinName, data)
	}
	if err != nil {
		c.log.Debug("digest of the built-in module not kept", slog.Any("error", err))
	}
	return digest, nil
}

// renamed replaces names of files in patterns.
func renamed(patterns []string, names map[string]string) []string {
	if len(names) == 0 {
		return patterns
	}
	patterns = slices.Clone(patterns)
	for i, p := range patterns {
		dir, file := path.Split(p)
		if name, ok := names[file]; ok {
			patterns[i] = dir + vfs.LiteralPattern(name)
		}
	}
	return patterns
}
