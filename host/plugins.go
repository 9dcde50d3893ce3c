package host

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path"
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
	module    *handle   // nil when it isn't used
	refused   []*handle // were opened and then not used; to be closed
	resolvers []resolve.Resolver
}

// Load finds out what the built-in module and every *.wasm in the plugin
// directories can do. A module that was loaded by an earlier process, and
// hasn't changed, isn't loaded again before it is needed. What can't be used
// is reported in Plugins and logged; the error is the context's, that the Host
// is closed, or that of Options.Builtin. A refresh waits for it.
func (h *Host) Load(ctx context.Context) error {
	ctx, leave, err := h.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	return h.loadPlugins(ctx)
}

// loadPlugins does the work of Load; the caller holds the turn. Modules that
// are the same as before stay as they are.
func (h *Host) loadPlugins(ctx context.Context) error {
	h.mu.Lock()
	before := h.plugins
	h.mu.Unlock()
	var list []*plugin
	if h.opts.Builtin != nil {
		p, err := h.loadBuiltin(ctx, before)
		if err != nil {
			return err
		}
		list = append(list, p)
	}
	for _, dir := range h.opts.PluginDirs {
		list = append(list, h.loadDir(ctx, dir, list, before)...)
	}
	if ctx.Err() != nil {
		closePlugins(list, before)
		return context.Cause(ctx)
	}
	for _, p := range list {
		if p.state.State != snapshot.PluginReady {
			h.log.Warn("plugin not used", slog.String("path", p.state.Path), slog.String("name", p.state.Name),
				slog.String("state", string(p.state.State)), slog.String("error", p.state.Error))
		}
	}
	h.mu.Lock()
	h.plugins = list
	h.mu.Unlock()
	closePlugins(before, list)
	for _, p := range list {
		closePlugins([]*plugin{{refused: p.refused}}, list)
		p.refused = nil
	}
	return nil
}

func (h *Host) loadBuiltin(ctx context.Context, before []*plugin) (*plugin, error) {
	file := moduleFile{path: BuiltinPath, digest: h.builtinDigest, read: h.opts.Builtin, native: h.opts.BuiltinNative}
	if file.digest == "" {
		wasm, err := h.opts.Builtin()
		if err != nil {
			return nil, err
		}
		file.digest = digestOf(wasm)
		h.builtinDigest = file.digest
	}
	p := h.open(ctx, file, h.opts.Limits, before)
	if p.module == nil {
		return p, nil
	}
	for _, info := range p.module.desc.Resolvers {
		info.Reads = renamed(info.Reads, h.opts.BuiltinNames[info.Name])
		if !slices.Contains(h.opts.DisableBuiltin, info.Name) {
			p.resolvers = append(p.resolvers, resolve.Resolver{
				Module: p.module.name(), Info: info, Config: h.opts.BuiltinConfig[info.Name],
			})
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

// loadDir loads the modules of one plugin directory, in order of names.
func (h *Host) loadDir(ctx context.Context, dir string, others, before []*plugin) []*plugin {
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
		list = append(list, h.loadDropIn(ctx, newModuleFile(path, wasm), slices.Concat(others, list), before))
	}
	return list
}

// loadDropIn applies the operator's entry for a module, if there is one, and
// refuses a name that is taken.
func (h *Host) loadDropIn(ctx context.Context, file moduleFile, others, before []*plugin) *plugin {
	p := h.open(ctx, file, h.opts.Limits, before)
	if p.module == nil {
		return p
	}
	for _, o := range others {
		if o.module != nil && o.state.Name == p.state.Name {
			p.refuse(snapshot.PluginRejected, fmt.Sprintf("the name %q is taken by %s: rename the module or remove one file", p.state.Name, o.state.Path))
			return p
		}
	}
	entry, position := h.entry(p.state.Name)
	if entry.SHA256 != "" && !strings.EqualFold(entry.SHA256, p.state.Digest) {
		p.refuse(snapshot.PluginNeedsApproval, "the file is not the one that the configuration pins: check it and put its digest "+p.state.Digest+" there")
		return p
	}
	if own := entry.limits(h.opts.Limits); own != h.opts.Limits {
		// Limits are fixed when a module is loaded, and its name isn't known
		// before.
		refused := append(p.refused, p.module)
		p = h.open(ctx, file, own, before)
		p.refused = append(p.refused, refused...)
		if p.module == nil {
			return p
		}
	}
	rank := cmp.Or(max(entry.Rank, 0), DefaultRank)
	rank = rank*maxPlugins + min(position, maxPlugins-1) // equal ranks in order of the configuration
	for _, info := range p.module.desc.Resolvers {
		p.resolvers = append(p.resolvers, resolve.Resolver{
			Module: p.module.name(), Info: info, Config: entry.Config[info.Name],
			Narrow: entry.Reads, GrantSecrets: entry.GrantSecrets, Rank: rank, DropIn: true,
			Limits: entry.FileLimits,
		})
	}
	return p
}

// limits are those of an entry, the others from all.
func (e *PluginOptions) limits(all sandbox.Limits) sandbox.Limits {
	own := e.Limits
	return sandbox.Limits{
		Time: cmp.Or(own.Time, all.Time), Fuel: cmp.Or(own.Fuel, all.Fuel), Memory: cmp.Or(own.Memory, all.Memory),
		Response: cmp.Or(own.Response, all.Response), Logs: cmp.Or(own.Logs, all.Logs),
	}
}

// moduleFile is a module by its digest. Its bytes are read when it is loaded,
// since a memo may make that unnecessary.
type moduleFile struct {
	path, digest string
	read         func() ([]byte, error)
	native       func() io.Reader // its native code; nil when there is none
}

// newModuleFile is a dropped-in module whose file holds wasm now.
func newModuleFile(path string, wasm []byte) moduleFile {
	digest := digestOf(wasm)
	return moduleFile{path: path, digest: digest, read: func() ([]byte, error) {
		wasm, err := readModule(path)
		if err == nil && digestOf(wasm) != digest {
			err = errors.New("the file has changed since it was looked at: restart the agent, or reload its configuration")
		}
		return wasm, err
	}}
}

func digestOf(wasm []byte) string {
	sum := sha256.Sum256(wasm)
	return hex.EncodeToString(sum[:])
}

// open makes a plugin of a module file: the one it was before, one whose
// description is remembered, or one that is loaded now.
func (h *Host) open(ctx context.Context, file moduleFile, limits sandbox.Limits, before []*plugin) *plugin {
	digest := file.digest
	p := &plugin{state: snapshot.Plugin{Path: file.path, Digest: digest, State: snapshot.PluginRejected, Resolvers: []string{}}}
	if p.module = sameModule(before, file.path, digest, limits); p.module == nil {
		p.module = newHandle(h.closing, digest, limits, h.loader(file, limits))
		if p.module.desc = h.blobs.description(digest); p.module.desc == nil {
			m, err := p.module.get(ctx)
			if err != nil {
				p.refuse(snapshot.PluginRejected, err.Error())
				p.state.Digest = ""
				return p
			}
			p.module.desc = m.Description()
		}
	}
	desc := p.module.desc
	p.state.Name, p.state.Version, p.state.State = desc.Name, desc.Version, snapshot.PluginReady
	for _, r := range desc.Resolvers {
		p.state.Resolvers = append(p.state.Resolvers, r.Name)
	}
	return p
}

// loader returns what compiles and describes a module.
func (h *Host) loader(file moduleFile, limits sandbox.Limits) func(context.Context) (*sandbox.Module, error) {
	return func(ctx context.Context) (*sandbox.Module, error) {
		slow := time.AfterFunc(slowLoad, func() {
			h.progress("compiling " + file.path + " for the first time, this takes a few seconds …")
		})
		defer slow.Stop()
		wasm, err := file.read()
		if err != nil {
			return nil, err
		}
		var native io.Reader
		if file.native != nil {
			native = file.native()
		}
		m, err := h.sandbox.LoadNative(ctx, wasm, native, limits)
		if err != nil {
			return nil, err
		}
		if err := h.blobs.keepDescription(m.Digest(), m.Description()); err != nil {
			h.log.Debug("description not kept", slog.Any("error", err))
		}
		return m, nil
	}
}

// sameModule finds the handle of a module that is as it was before.
func sameModule(before []*plugin, path, digest string, limits sandbox.Limits) *handle {
	for _, p := range before {
		if p.module != nil && p.state.Path == path && p.module.digest == digest && p.module.limits == limits {
			return p.module
		}
	}
	return nil
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

// refuse takes a module out of use. Its handle may be that of the list before:
// who replaces that list closes what isn't used any more.
func (p *plugin) refuse(state snapshot.PluginState, reason string) {
	p.refused = append(p.refused, p.module)
	p.module, p.resolvers = nil, nil
	p.state.State, p.state.Error = state, reason
}

func rejected(path string, err error) *plugin {
	return &plugin{state: snapshot.Plugin{Path: path, State: snapshot.PluginRejected, Error: err.Error(), Resolvers: []string{}}}
}

// closePlugins closes the modules of a list, but for those that another list
// uses.
func closePlugins(list, keep []*plugin) {
	for _, p := range list {
		handles := p.refused
		if p.module != nil {
			handles = append(handles, p.module)
		}
		for _, m := range handles {
			if !slices.ContainsFunc(keep, func(k *plugin) bool { return k.module == m }) {
				m.close()
			}
		}
		p.refused = nil
	}
}
