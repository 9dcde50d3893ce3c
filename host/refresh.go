package host

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"

	"waymark/host/resolve"
	"waymark/snapshot"
)

// Report tells what one refresh did. Don't change it: others read it too.
type Report struct {
	Snapshot *snapshot.Snapshot
	// Changed says that the snapshot is new.
	Changed bool
	// Reason is why there was a refresh: "resync", "start", ReasonPlugins, or
	// what host/watch says.
	Reason string
	// Outcomes is what is known of every root, in order of roots, then
	// resolvers.
	Outcomes []resolve.Outcome
	// Checked are those of them that this refresh looked at.
	Checked []resolve.Outcome
	// Notes says what was left out of the snapshot, and why.
	Notes    []snapshot.Note
	Duration time.Duration
}

// ErrClosed says that a Host has been closed.
var ErrClosed = errors.New("host closed")

// Refresh re-checks everything, runs what is stale and publishes the result if
// it differs. It is a barrier: the report contains every change that was made
// before the call. Callers that come while a refresh is going on share the
// next one.
func (h *Host) Refresh(ctx context.Context) (*Report, error) {
	return h.flights.join(ctx, everything("resync"))
}

// enter takes the turn, and returns a context that ends with the Host too. The
// caller calls leave when it is done; Close waits for that.
func (h *Host) enter(ctx context.Context) (context.Context, func(), error) {
	return h.take(ctx, h.turn)
}

// take takes one of the turns.
func (h *Host) take(ctx context.Context, turn chan struct{}) (_ context.Context, leave func(), err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	unhook := context.AfterFunc(h.closing, func() { cancel(ErrClosed) })
	end := func() {
		unhook()
		cancel(nil)
	}
	select {
	case <-turn:
	case <-ctx.Done():
		end()
		return nil, nil, context.Cause(ctx)
	}
	leave = func() {
		turn <- struct{}{}
		end()
	}
	if h.closing.Err() != nil { // both were ready
		leave()
		return nil, nil, ErrClosed
	}
	if ctx.Err() != nil {
		leave()
		return nil, nil, context.Cause(ctx)
	}
	return ctx, leave, nil
}

// fly is one flight's refresh, once the first snapshot isn't held back any
// more and its turn has come.
func (h *Host) fly(f *flight) (*Report, error) {
	select {
	case <-h.ready:
	case <-f.ctx.Done():
		return nil, cause(f.ctx)
	}
	for {
		report, err := h.flyOnce(f)
		if !errors.Is(err, errHurry) {
			return report, err
		}
		h.hurry.wait(f.ctx)
	}
}

// flyOnce is a try at a flight's refresh.
//
// # Errors
//
// errHurry says that it is to be made again.
func (h *Host) flyOnce(f *flight) (*Report, error) {
	ctx, leave, err := h.enter(f.ctx)
	if err != nil {
		return nil, cause(f.ctx)
	}
	defer leave()
	ctx, end := h.hurry.begin(ctx)
	defer end()
	return h.refresh(ctx, h.flights.depart(f))
}

// cause is why a context has ended; a Host that was closed says so.
func cause(ctx context.Context) error {
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return ErrClosed
}

// refresh does the work of Refresh for some roots, and takes the others as
// they were; the caller holds the turn.
func (h *Host) refresh(ctx context.Context, s scope) (*Report, error) {
	start := time.Now()
	ticket := h.published.Begin()
	h.openRoots(s)
	used, resolvers := h.used(), h.resolvers()
	if s.all {
		h.engine.Retain(resolvers, roots(used))
	}
	checked, err := h.resolve(ctx, s, used, resolvers)
	if err != nil { // the context has ended; its cause says more
		return nil, cause(ctx)
	}
	report := &Report{Reason: s.reason, Checked: checked}
	var candidates []snapshot.Candidate
	for i, u := range used {
		for _, o := range u.slot.outcomes {
			for c := range o.Candidates {
				o.Candidates[c].Root = i
			}
			candidates = append(candidates, o.Candidates...)
		}
		report.Outcomes = append(report.Outcomes, u.slot.outcomes...)
	}
	resources, notes := snapshot.Assemble(candidates, h.opts.Caps)
	report.Notes = notes
	h.say(checked)
	refused := h.refusedRoots()
	h.mu.Lock()
	h.paths, h.refused = rootPaths(used), refused
	states := pluginStates(h.plugins, report)
	h.mu.Unlock()
	report.Snapshot, report.Changed = h.published.Publish(ticket, resources, states, problems(h.watchProblem(), linkProblem(refused)))
	report.Duration = time.Since(start)
	h.log.Debug("refreshed", slog.String("reason", s.reason), slog.Int("checked", len(checked)), slog.Bool("changed", report.Changed),
		slog.Uint64("version", report.Snapshot.Version), slog.Duration("took", report.Duration))
	h.after(s, report)
	return report, nil
}

// resolve looks at the roots in scope, and at those that were never looked at,
// and keeps the outcomes in their slots.
func (h *Host) resolve(ctx context.Context, s scope, used []usedRoot, resolvers []resolve.Resolver) ([]resolve.Outcome, error) {
	todo := slices.DeleteFunc(slices.Clone(used), func(u usedRoot) bool {
		return !s.all && !s.owners[u.slot.owner] && u.slot.known
	})
	checked, err := h.engine.Resolve(ctx, resolvers, roots(todo))
	if err != nil {
		return nil, err
	}
	n := len(resolvers)
	for i, u := range todo {
		u.slot.outcomes, u.slot.known = checked[i*n:(i+1)*n:(i+1)*n], true
	}
	return checked, nil
}

func roots(used []usedRoot) []resolve.Root {
	list := make([]resolve.Root, len(used))
	for i, u := range used {
		list[i] = u.root
	}
	return list
}

// after is what follows a refresh: watches, memos, the curious.
func (h *Host) after(s scope, report *Report) {
	h.mu.Lock()
	watcher := h.watcher
	h.report, h.shown = report, report.Snapshot.Plugins
	h.mu.Unlock()
	if watcher != nil {
		for _, slot := range h.slots {
			if s.all || s.owners[slot.owner] {
				watcher.Set(slot.owner, watchOf(slot, slot.outcomes))
			}
		}
	}
	if slices.ContainsFunc(report.Checked, func(o resolve.Outcome) bool { return !o.Reused && o.Err == nil }) {
		select {
		case h.unsaved <- struct{}{}:
		default: // it is known already
		}
	}
	h.observe(report)
}

func (h *Host) resolvers() []resolve.Resolver {
	h.mu.Lock()
	defer h.mu.Unlock()
	var list []resolve.Resolver
	for _, p := range h.plugins {
		for _, r := range p.resolvers {
			if len(h.opts.Only) == 0 || slices.Contains(h.opts.Only, r.Info.Name) {
				list = append(list, r)
			}
		}
	}
	return list
}

// say logs failures and warnings, each once until it changes: a resolver that
// fails does so at every re-check. For who debugs it also tells what was run,
// and why.
func (h *Host) say(outcomes []resolve.Outcome) {
	for i := range outcomes {
		o := &outcomes[i]
		if !o.Reused {
			h.log.Debug("resolver run", slog.String("resolver", o.Resolver), slog.String("root", o.Root),
				slog.String("changed", o.Changed), slog.Duration("took", o.Duration), slog.Int64("fuel", o.Fuel))
		}
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
