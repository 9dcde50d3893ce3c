package host

import (
	"context"
	"errors"
	"sync"
	"time"

	"waymark/abi"
	"waymark/host/resolve"
	"waymark/host/sandbox"
)

// slowLoad is when loading is worth a progress line.
const slowLoad = 300 * time.Millisecond

// handle is a module that is loaded when it is first needed, or before, in the
// background. As long as memos answer, a start needs no module at all.
type handle struct {
	path   string // of the file that it is loaded from
	digest string
	limits sandbox.Limits
	desc   *abi.Description // set before it is used
	load   func(context.Context) (*sandbox.Module, error)

	life context.Context //nolint:containedctx // ends with the handle, not with who asks first
	end  context.CancelFunc

	mu     sync.Mutex    // guards done and closed
	done   chan struct{} // closed when module and err are set; nil before the load
	closed bool
	module *sandbox.Module
	err    error
}

func newHandle(life context.Context, path, digest string, limits sandbox.Limits, load func(context.Context) (*sandbox.Module, error)) *handle {
	h := &handle{path: path, digest: digest, limits: limits, load: load}
	h.life, h.end = context.WithCancel(life)
	return h
}

// name is what resolvers know of their module.
func (h *handle) name() resolve.Module {
	return resolve.Module{Name: h.desc.Name, Version: h.desc.Version, Digest: h.digest, Get: h.get}
}

// errUnloaded says that a module was taken out of use.
var errUnloaded = errors.New("the module is no longer used")

// start begins to load, unless somebody has. The returned channel is closed
// when that is over.
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
		h.module, h.err = h.load(h.life)
		h.load = nil // it holds the file's bytes
	}()
	return h.done
}

// get returns the module and waits until it is loaded.
func (h *handle) get(ctx context.Context) (*sandbox.Module, error) {
	select {
	case <-h.start():
		return h.module, h.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// loaded reports whether it has been tried to load the module, and failed
// whether in vain.
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

// close frees the module, after the load if one is going on. Whoever calls get
// afterwards gets a module that answers nothing any more, or an error.
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
	if h.module != nil {
		_ = h.module.Close()
	}
}
