package host

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"waymark/host/resolve"
	"waymark/host/sandbox"
	"waymark/host/snapshot"
)

// DefaultRank is the rank of a plugin that isn't given one.
const DefaultRank = 100

// BuiltinPath stands in Plugin.Path for the embedded module.
const BuiltinPath = "builtin"

const (
	// maxPlugins bounds how many entries are kept apart within one rank.
	maxPlugins = 1 << 10
	// slowLoad is when loading is worth a progress line.
	slowLoad = 300 * time.Millisecond
)

// plugin is one module file with what became of it.
type plugin struct {
	state     snapshot.Plugin
	module    *sandbox.Module // nil unless it is loaded
	resolvers []resolve.Resolver
}

// Load loads the built-in module and every *.wasm in the plugin directories.
// What can't be used is reported in Plugins and logged; the error is the
// context's, or that the Host is closed. Call it once. A refresh waits for it.
func (h *Host) Load(ctx context.Context) error {
	ctx, leave, err := h.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	var loaded []*plugin
	if h.opts.Builtin != nil {
		var native io.Reader
		if h.opts.BuiltinNative != nil {
			native = h.opts.BuiltinNative()
		}
		p := h.loadModule(ctx, BuiltinPath, h.opts.Builtin, native)
		if p.module != nil {
			p.resolvers = h.builtinResolvers(p)
		}
		loaded = append(loaded, p)
	}
	for _, dir := range h.opts.PluginDirs {
		loaded = append(loaded, h.loadDir(ctx, dir, loaded)...)
	}
	if ctx.Err() != nil {
		closePlugins(loaded)
		return context.Cause(ctx)
	}
	for _, p := range loaded {
		if p.state.State != snapshot.PluginReady {
			h.log.Warn("plugin not used", slog.String("path", p.state.Path), slog.String("name", p.state.Name),
				slog.String("state", string(p.state.State)), slog.String("error", p.state.Error))
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.plugins = loaded
	return nil
}

// loadModule compiles and describes one module.
func (h *Host) loadModule(ctx context.Context, path string, wasm []byte, native io.Reader) *plugin {
	p := &plugin{state: snapshot.Plugin{Path: path, State: snapshot.PluginRejected, Resolvers: []string{}}}
	slow := time.AfterFunc(slowLoad, func() {
		h.opts.Progress("compiling " + path + " for the first time, this takes a few seconds …")
	})
	defer slow.Stop()
	m, err := h.sandbox.LoadNative(ctx, wasm, native, h.opts.Limits)
	if err != nil {
		p.state.Error = err.Error()
		return p
	}
	desc := m.Description()
	p.state.Name, p.state.Version, p.state.Digest = desc.Name, desc.Version, m.Digest()
	for _, r := range desc.Resolvers {
		p.state.Resolvers = append(p.state.Resolvers, r.Name)
	}
	p.module, p.state.State = m, snapshot.PluginReady
	return p
}

func (h *Host) builtinResolvers(p *plugin) []resolve.Resolver {
	var list []resolve.Resolver
	for _, info := range p.module.Description().Resolvers {
		if slices.Contains(h.opts.DisableBuiltin, info.Name) {
			continue
		}
		list = append(list, resolve.Resolver{Module: p.module, Info: info, Config: h.opts.BuiltinConfig[info.Name]})
	}
	return list
}

// loadDir loads the modules of one plugin directory, in order of names.
func (h *Host) loadDir(ctx context.Context, dir string, before []*plugin) []*plugin {
	files, err := moduleFiles(dir)
	if err != nil {
		return []*plugin{rejected(dir, err)}
	}
	var list []*plugin
	for _, path := range files {
		wasm, err := readModule(path)
		if err != nil {
			list = append(list, rejected(path, err))
			continue
		}
		p := h.loadModule(ctx, path, wasm, nil)
		if p.module != nil {
			h.admitDropIn(ctx, p, wasm, slices.Concat(before, list))
		}
		list = append(list, p)
	}
	return list
}

// admitDropIn applies the operator's entry for a module, if there is one, and
// refuses a name that is taken.
func (h *Host) admitDropIn(ctx context.Context, p *plugin, wasm []byte, others []*plugin) {
	for _, o := range others {
		if o.module != nil && o.state.Name == p.state.Name {
			p.refuse(snapshot.PluginRejected, fmt.Sprintf("the name %q is taken by %s: rename the module or remove one file", p.state.Name, o.state.Path))
			return
		}
	}
	entry, position := h.entry(p.state.Name)
	if entry.SHA256 != "" && !strings.EqualFold(entry.SHA256, p.state.Digest) {
		p.refuse(snapshot.PluginNeedsApproval, "the file is not the one that the configuration pins: check it and put its digest "+p.state.Digest+" there")
		return
	}
	if entry.Limits != (sandbox.Limits{}) {
		h.reload(ctx, p, wasm, entry.Limits)
		if p.module == nil {
			return
		}
	}
	if entry.Rank <= 0 {
		entry.Rank = DefaultRank
	}
	rank := entry.Rank*maxPlugins + min(position, maxPlugins-1) // equal ranks in order of the configuration
	for _, info := range p.module.Description().Resolvers {
		p.resolvers = append(p.resolvers, resolve.Resolver{
			Module: p.module, Info: info, Config: entry.Config[info.Name],
			Narrow: entry.Reads, GrantSecrets: entry.GrantSecrets, Rank: rank, DropIn: true,
			Limits: entry.FileLimits,
		})
	}
}

// reload loads a module again under its own limits: they are fixed when a
// module is loaded, and its name isn't known before.
func (h *Host) reload(ctx context.Context, p *plugin, wasm []byte, own sandbox.Limits) {
	_ = p.module.Close()
	p.module = nil
	all := h.opts.Limits
	m, err := h.sandbox.Load(ctx, wasm, sandbox.Limits{
		Time: cmp.Or(own.Time, all.Time), Fuel: cmp.Or(own.Fuel, all.Fuel), Memory: cmp.Or(own.Memory, all.Memory),
		Response: cmp.Or(own.Response, all.Response), Logs: cmp.Or(own.Logs, all.Logs),
	})
	if err != nil {
		p.state.State, p.state.Error = snapshot.PluginRejected, err.Error()
		return
	}
	p.module = m
}

// entry finds the operator's entry of a module and its place in the
// configuration; modules without one come after all others.
func (h *Host) entry(name string) (PluginOptions, int) {
	for i, e := range h.opts.Plugins {
		if e.Name == name {
			return e, i
		}
	}
	return PluginOptions{}, len(h.opts.Plugins)
}

func (p *plugin) refuse(state snapshot.PluginState, reason string) {
	_ = p.module.Close()
	p.module, p.resolvers = nil, nil
	p.state.State, p.state.Error = state, reason
}

func rejected(path string, err error) *plugin {
	return &plugin{state: snapshot.Plugin{Path: path, State: snapshot.PluginRejected, Error: err.Error(), Resolvers: []string{}}}
}

func closePlugins(list []*plugin) {
	for _, p := range list {
		if p.module != nil {
			_ = p.module.Close()
		}
	}
}
