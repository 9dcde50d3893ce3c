package host

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"waymark/host/resolve"
	"waymark/host/snapshot"
)

// Report tells what one refresh did.
type Report struct {
	Snapshot *snapshot.Snapshot
	// Changed says that the snapshot is new.
	Changed bool
	// Outcomes is in order of roots, then resolvers.
	Outcomes []resolve.Outcome
	// Notes says what was left out of the snapshot, and why.
	Notes    []snapshot.Note
	Duration time.Duration
}

// errClosed says that a Host has been closed.
var errClosed = errors.New("host closed")

// Refresh re-checks everything, runs what is stale and publishes the result if
// it differs. It is a barrier: the report contains every change that was made
// before the call.
func (h *Host) Refresh(ctx context.Context) (*Report, error) {
	ctx, leave, err := h.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	return h.refresh(ctx)
}

// enter takes the turn, and returns a context that ends with the Host too. The
// caller calls leave when it is done; Close waits for that.
func (h *Host) enter(ctx context.Context) (_ context.Context, leave func(), err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	unhook := context.AfterFunc(h.closing, func() { cancel(errClosed) })
	end := func() {
		unhook()
		cancel(nil)
	}
	select {
	case <-h.turn:
	case <-ctx.Done():
		end()
		return nil, nil, context.Cause(ctx)
	}
	leave = func() {
		h.turn <- struct{}{}
		end()
	}
	if h.closing.Err() != nil { // both were ready
		leave()
		return nil, nil, errClosed
	}
	if ctx.Err() != nil {
		leave()
		return nil, nil, context.Cause(ctx)
	}
	return ctx, leave, nil
}

// refresh does the work of Refresh; the caller holds the turn.
func (h *Host) refresh(ctx context.Context) (*Report, error) {
	start := time.Now()
	ticket := h.published.Begin()
	h.openRoots()
	roots := h.roots()
	resolvers := h.resolvers()
	h.engine.Retain(resolvers, roots)
	outcomes, err := h.engine.Resolve(ctx, resolvers, roots)
	if err != nil { // the context has ended; its cause says more
		return nil, context.Cause(ctx)
	}
	var candidates []snapshot.Candidate
	for _, o := range outcomes {
		candidates = append(candidates, o.Candidates...)
	}
	resources, notes := snapshot.Assemble(candidates, h.opts.Caps)
	h.say(outcomes)
	states := h.settle(outcomes, rootPaths(roots))
	s, changed := h.published.Publish(ticket, resources, states, "")
	return &Report{Snapshot: s, Changed: changed, Outcomes: outcomes, Notes: notes, Duration: time.Since(start)}, nil
}

func (h *Host) resolvers() []resolve.Resolver {
	h.mu.Lock()
	defer h.mu.Unlock()
	var list []resolve.Resolver
	for _, p := range h.plugins {
		list = append(list, p.resolvers...)
	}
	return list
}

// settle works the outcomes into the state of each plugin and returns them.
func (h *Host) settle(outcomes []resolve.Outcome, paths []string) []snapshot.Plugin {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.paths = paths
	for _, p := range h.plugins {
		if p.module == nil {
			continue
		}
		p.state.State, p.state.Error = snapshot.PluginReady, ""
		for _, o := range outcomes {
			if module, _, _ := strings.Cut(o.Resolver, "/"); module == p.state.Name && o.Err != nil {
				p.state.State, p.state.Error = snapshot.PluginFailing, o.Err.Error()
				if o.Quarantined {
					p.state.State = snapshot.PluginQuarantined
				}
				break
			}
		}
	}
	return pluginStates(h.plugins)
}

// say logs failures and warnings, each once until it changes: a resolver that
// fails does so at every re-check.
func (h *Host) say(outcomes []resolve.Outcome) {
	for _, o := range outcomes {
		text := strings.Join(o.Warnings, "\n")
		if o.Err != nil {
			text = o.Err.Error()
		}
		key := o.Resolver + "\x00" + o.Root
		if h.said[key] == text {
			continue
		}
		h.said[key] = text
		attrs := []any{slog.String("resolver", o.Resolver), slog.String("root", o.Root)}
		if o.Err != nil {
			h.log.Error("resolver failed", append(attrs, slog.Any("error", o.Err))...)
			continue
		}
		for _, w := range o.Warnings {
			h.log.Warn(w, attrs...)
		}
	}
}
