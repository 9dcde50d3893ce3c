package host

import (
	"context"
	"sync"

	"waymark/abi"
	"waymark/host/resolve"
	"waymark/host/sandbox"
)

// handle is a module that is loaded when it is first needed, or before, in the
// background. As long as memos answer, a start needs no module at all.
type handle struct {
	digest string
	limits sandbox.Limits
	desc   *abi.Description // set before it is used
	load   func(context.Context) (*sandbox.Module, error)

	life context.Context //nolint:containedctx // ends with the handle, not with who asks first
	end  context.CancelFunc

	mu     sync.Mutex    // guards done
	done   chan struct{} // closed when module and err are set; nil before the load
	module *sandbox.Module
	err    error
}

func newHandle(life context.Context, digest string, limits sandbox.Limits, load func(context.Context) (*sandbox.Module, error)) *handle {
	h := &handle{digest: digest, limits: limits, load: load}
	h.life, h.end = context.WithCancel(life)
	return h
}

// name is what resolvers know of their module.
func (h *handle) name() resolve.Module {
	return resolve.Module{Name: h.desc.Name, Version: h.desc.Version, Digest: h.digest, Get: h.get}
}

// start begins to load, unless somebody has. The returned channel is closed
// when that is over.
func (h *handle) start() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.done == nil {
		h.done = make(chan struct{})
		go func() { // close waits for it
			defer close(h.done)
			h.module, h.err = h.load(h.life)
		}()
	}
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

// close frees the module, after the load if one is going on. Nobody may call
// get afterwards.
func (h *handle) close() {
	h.end()
	h.mu.Lock()
	done := h.done
	h.mu.Unlock()
	if done == nil {
		return
	}
	<-done
	if h.module != nil {
		_ = h.module.Close()
	}
}
