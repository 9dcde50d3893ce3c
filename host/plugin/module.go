package plugin

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"waymark/abi"
	"waymark/host/resolve"
	"waymark/host/sandbox"
)

// slowLoad is how long a load takes before it gets a progress line.
const slowLoad = 300 * time.Millisecond

// handle is a module that is loaded when first needed, or before, in the background. While
// memos have the answers, a start needs no module.
type handle struct {
	path   string // of the file that it is loaded from
	digest string
	limits sandbox.Limits
	desc   *abi.Description // set before it is used
	load   func(context.Context) (*sandbox.Module, error)
	// free frees the module.
	free func(*sandbox.Module)

	life context.Context //nolint:containedctx // ends with the handle, not with who asks first
	end  context.CancelFunc

	mu     sync.Mutex    // guards done and closed
	done   chan struct{} // closed once result and err are set; nil before the load
	closed bool
	result *sandbox.Module
	err    error
}

func newHandle(life context.Context, path, digest string, limits sandbox.Limits, load func(context.Context) (*sandbox.Module, error)) *handle {
	h := &handle{path: path, digest: digest, limits: limits, load: load, free: func(m *sandbox.Module) { _ = m.Close() }}
	h.life, h.end = context.WithCancel(life)
	return h
}

// module returns the module for its resolvers.
func (h *handle) module() resolve.Module {
	return resolve.Module{Name: h.desc.Name, Version: h.desc.Version, Digest: h.digest, Get: h.get}
}

// errUnloaded says that a module was taken out of use.
var errUnloaded = errors.New("the module is no longer used")

// start starts the load, unless it has begun. The returned channel is closed when it is done.
func (h *handle) start() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.done != nil {
		return h.done
	}
	h.done = make(chan struct{})
	if h.closed {
		h.err = errUnloaded
		close(h.done)
		return h.done
	}
	go func() { // close waits for it
		defer close(h.done)
		h.result, h.err = h.load(h.life)
		h.load = nil // it holds the file's bytes
	}()
	return h.done
}

// get waits for the module to load, and returns it.
func (h *handle) get(ctx context.Context) (*sandbox.Module, error) {
	select {
	case <-h.start():
		return h.result, h.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// loaded reports whether loading has ended; failed, whether it has failed.
func (h *handle) loaded() bool {
	h.mu.Lock()
	done := h.done
	h.mu.Unlock()
	select {
	case <-done: // a nil channel never is
		return true
	default:
		return false
	}
}

func (h *handle) failed() bool { return h.loaded() && h.err != nil }

// close frees the module, after waiting for a load in progress. Later calls of get return an
// error, or a module that no longer answers.
func (h *handle) close() {
	h.end()
	h.mu.Lock()
	done := h.done
	h.closed = true
	h.mu.Unlock()
	if done == nil {
		return
	}
	<-done
	if h.result != nil {
		h.free(h.result)
	}
}

// handleFor returns the handle that a version of a file uses.
func (c *Catalog) handleFor(config *Config, f *file, v *version) *handle {
	entry, _ := config.entry(v.desc.Name)
	limits := entry.Limits.Or(config.Limits)
	if v == f.used && v != f.newest {
		// The file no longer has these bytes, so other limits have to wait.
		for _, p := range c.current.rows {
			if p.version == v && p.handle != nil {
				return p.handle
			}
		}
	}
	hd := c.handleOf(f.modulePath, v.digest, limits, nil)
	hd.desc = v.desc
	return hd
}

// handleOf finds the handle of a content, or makes one. If wasm is given, the file isn't
// reread.
func (c *Catalog) handleOf(file modulePath, digest string, limits sandbox.Limits, wasm []byte) *handle {
	read := func() ([]byte, error) {
		if wasm != nil {
			return wasm, nil
		}
		now, _, err := file.read()
		if err == nil && digestOf(now) != digest {
			err = errors.New("the file has changed before the module was loaded: the new content is looked at next")
		}
		return now, err
	}
	return c.hold(func(hd *handle) bool {
		return hd.digest == digest && hd.limits == limits && !hd.failed() && (hd.loaded() || hd.path == file.path)
	}, func() *handle {
		return newHandle(c.life, file.path, digest, limits, c.loader(file.path, func(ctx context.Context) (*sandbox.Module, error) {
			wasm, err := read()
			if err != nil {
				return nil, err
			}
			return c.sandbox.Load(ctx, wasm, limits)
		}))
	})
}

// builtinHandle is handleOf for the built-in module.
func (c *Catalog) builtinHandle(config *Config) *handle {
	limits := builtinRun(config.Limits)
	hd := c.hold(func(hd *handle) bool {
		return hd.path == BuiltinPath && hd.limits == limits && !hd.failed()
	}, func() *handle {
		digest := c.builtinDigest // others may change the field
		load := func(ctx context.Context) (*sandbox.Module, error) {
			var native io.ReaderAt
			if c.opts.BuiltinNative != nil {
				native = c.opts.BuiltinNative()
			}
			return c.sandbox.LoadNative(ctx, digest, c.opts.Builtin, native, limits)
		}
		added := newHandle(c.life, BuiltinPath, digest, limits, c.loader(BuiltinPath, load))
		if shared := c.opts.Shared; shared != nil {
			key := sharedKey{digest, limits}
			added.load = c.loader(BuiltinPath, func(ctx context.Context) (*sandbox.Module, error) { return shared.take(ctx, key, load) })
			added.free = func(*sandbox.Module) { shared.leave(key) }
		}
		return added
	})
	if hd.desc == nil {
		hd.desc = c.description(c.builtinDigest)
	}
	return hd
}

// hold finds a fitting handle, or adds one, and keeps it until the caller releases c.turn.
func (c *Catalog) hold(fits func(*handle) bool, add func() *handle) *handle {
	c.mu.Lock()
	defer c.mu.Unlock()
	var found *handle
	for hd := range c.handles {
		if fits(hd) {
			found = hd
			break
		}
	}
	if found == nil {
		found = add()
	}
	if !c.held[found] {
		c.held[found] = true
		c.handles[found]++
	}
	return found
}

// releaseHeld releases the handles kept by hold. Every holder of c.turn calls it at the end.
func (c *Catalog) releaseHeld() {
	c.release(slices.Collect(maps.Keys(c.held)))
	clear(c.held)
}

// release removes one user from each handle, and closes those without users.
func (c *Catalog) release(list []*handle) {
	var unused []*handle
	c.mu.Lock()
	for _, hd := range list {
		if c.handles[hd]--; c.handles[hd] == 0 {
			delete(c.handles, hd)
			unused = append(unused, hd)
		}
	}
	c.mu.Unlock()
	for _, hd := range unused {
		hd.close()
	}
}

// loader returns a function that loads and describes a module, reports slow loads, and stores
// the description.
func (c *Catalog) loader(path string, load func(context.Context) (*sandbox.Module, error)) func(context.Context) (*sandbox.Module, error) {
	return func(ctx context.Context) (*sandbox.Module, error) {
		slow := time.AfterFunc(slowLoad, func() {
			line := "compiling " + path + " for the first time, this takes a few seconds …"
			if path == BuiltinPath && c.opts.BuiltinNative != nil { // which nearly always fits, but the machine may be busy
				line = "loading the built-in resolvers, which can take a few seconds the first time …"
			}
			c.opts.Progress(line)
		})
		defer slow.Stop()
		m, err := load(ctx)
		if err != nil {
			if mayPass(err) {
				time.AfterFunc(firstRetry, c.Check) // which replaces a failed handle
			}
			return nil, err
		}
		if err := c.keepDescription(m.Digest(), m.Description()); err != nil {
			c.log.Debug("description not kept", slog.Any("error", err))
		}
		return m, nil
	}
}
