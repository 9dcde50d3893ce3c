package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"waymark/host/plugin/approvals"
	"waymark/host/resolve"
	"waymark/host/sandbox"
	"waymark/snapshot"
)

// DefaultRank is the rank of a plugin that isn't given one.
const DefaultRank = 100

// BuiltinPath stands in Plugin.Path for the embedded module.
const BuiltinPath = "builtin"

// maxPlugins bounds how many entries are kept apart within one rank.
const maxPlugins = 1 << 10

// plugin is one row of the list of modules: one that is used, or why one isn't.
// It doesn't change once it is in the list.
type plugin struct {
	state snapshot.Plugin // as it is while its resolvers don't fail
	// note tells of a newer version of the file, which isn't used, or not yet;
	// noteState is shown in place of ready.
	note      string
	noteState snapshot.PluginState

	module    *handle // nil when nothing of it is used
	resolvers []resolve.Resolver
	file      *pluginFile // nil for the built-in module
	version   *version    // that is used, or would be
	waits     *approvals.Pending
}

// Load finds out what the built-in module and every module file can do. A
// module that was loaded by an earlier process, and hasn't changed, isn't loaded
// again before it is needed. What can't be used is reported in Plugins and
// logged; the error is the context's, that the Host is closed, or that of
// Options.Builtin. A refresh waits for it. Other roots and a reload don't: Load
// goes on after them with what is left to do.
func (h *Host) Load(ctx context.Context) error {
	for {
		err := h.load(ctx)
		if !errors.Is(err, errHurry) {
			return err
		}
		h.pluginHurry.wait(ctx)
		h.hurry.wait(ctx)
	}
}

func (h *Host) load(ctx context.Context) error {
	ctx, leave, err := h.enterPlugins(ctx)
	if err != nil {
		return err
	}
	defer leave()
	ctx, end := h.pluginHurry.begin(ctx)
	defer end()
	ctx, leaveTurn, err := h.enter(ctx)
	if err != nil {
		return err
	}
	defer leaveTurn()
	ctx, endTurn := h.hurry.begin(ctx)
	defer endTurn()
	defer h.sweep()
	lazy := func(v *version) bool { return v.remembered }
	list, err := h.stock(ctx, &h.opts, lazy)
	if err != nil {
		return err
	}
	h.replacePlugins(list)
	h.stocked = true
	return nil
}

// stock looks at everything anew, at once, and puts the list together. Modules
// that are the same as before stay as they are; lazy tells which need not be
// loaded. The caller holds the plugins.
func (h *Host) stock(ctx context.Context, opts *Options, lazy func(*version) bool) ([]*plugin, error) {
	builtin, err := h.loadBuiltin(ctx, opts)
	if err != nil {
		return nil, err
	}
	h.builtin = builtin
	v := h.shelf.survey(opts, time.Now(), true)
	for _, f := range v.due {
		f.take(v.now, true)
		h.recognize(f.newest)
	}
	h.forgetGone(v)
	if err := h.describeAll(ctx, opts); err != nil {
		return nil, err
	}
	return h.arrangeReady(ctx, opts, func(p *plugin) bool { return !lazy(p.version) }, false)
}

// stateOf is what is shown of a version in a file.
func stateOf(path string, v *version) snapshot.Plugin {
	p := snapshot.Plugin{Path: path, Digest: v.digest, State: snapshot.PluginReady, Resolvers: []string{}}
	if v.desc == nil {
		p.Digest = ""
		return p
	}
	p.Name, p.Version = v.desc.Name, v.desc.Version
	for _, r := range v.desc.Resolvers {
		p.Resolvers = append(p.Resolvers, r.Name)
	}
	return p
}

// limits are those of an entry, the others from all.
func (e *PluginOptions) limits(all sandbox.Limits) sandbox.Limits {
	return e.Limits.Or(all)
}

// entry finds the operator's entry of a module and its place in the
// configuration; modules without one come after all others.
func (o *Options) entry(name string) (PluginOptions, int) {
	for i, e := range o.Plugins {
		if e.Name == name {
			return e, i
		}
	}
	return PluginOptions{}, len(o.Plugins)
}

func digestOf(wasm []byte) string {
	sum := sha256.Sum256(wasm)
	return hex.EncodeToString(sum[:])
}

// rejected is the row of a place that can't be used.
func rejected(path string, err error) *plugin {
	return &plugin{state: snapshot.Plugin{Path: path, State: snapshot.PluginRejected, Error: err.Error(), Resolvers: []string{}}}
}

// isTaken says that a name is taken.
func isTaken(name, by string) string {
	return fmt.Sprintf("the name %q is taken by %s: rename the module or remove one file", name, by)
}
