package host

import (
	"context"
	"log/slog"
	"path"
	"slices"

	"waymark/host/resolve"
	"waymark/snapshot"
)

// loadBuiltin makes the row of the built-in module; none if there is none.
func (h *Host) loadBuiltin(ctx context.Context, opts *Options) (*plugin, error) {
	if opts.Builtin == nil {
		return nil, nil //nolint:nilnil // there is none
	}
	if h.builtinDigest == "" {
		wasm, err := opts.Builtin()
		if err != nil {
			return nil, err
		}
		h.builtinDigest = digestOf(wasm)
		if reason := opts.Running.Quarantined(h.builtinDigest); reason != "" {
			// Without it an agent is none. Its code is ours, so this is a fault to
			// be told.
			h.log.Error("the built-in resolvers are used all the same", slog.String("reason", reason))
		}
	}
	p := &plugin{state: stateOf(BuiltinPath, &version{}), version: &version{digest: h.builtinDigest}}
	hd := h.builtinHandle(opts)
	if hd.desc == nil {
		m, err := hd.get(ctx)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			p.state.State, p.state.Error = snapshot.PluginRejected, err.Error()
			return p, nil //nolint:nilerr // it is in the row
		}
		hd.desc = m.Description()
	}
	p.version.desc = hd.desc
	p.state, p.module = stateOf(BuiltinPath, p.version), hd
	for _, info := range hd.desc.Resolvers {
		info.Reads = renamed(info.Reads, opts.BuiltinNames[info.Name])
		if !slices.Contains(opts.DisableBuiltin, info.Name) {
			p.resolvers = append(p.resolvers, resolve.Resolver{Module: hd.name(), Info: info, Config: opts.BuiltinConfig[info.Name]})
		}
	}
	return p, nil
}

// renamed puts other names of files into patterns.
func renamed(patterns []string, names map[string]string) []string {
	if len(names) == 0 {
		return patterns
	}
	patterns = slices.Clone(patterns)
	for i, p := range patterns {
		dir, file := path.Split(p)
		if name, ok := names[file]; ok {
			patterns[i] = dir + resolve.LiteralPattern(name)
		}
	}
	return patterns
}
