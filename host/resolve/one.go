package resolve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"waymark/abi"
	"waymark/host/sandbox"
	"waymark/host/vfs"
	"waymark/internal/text"
)

// resolveOne returns the outcome for one (resolver, root): from a fresh memo; else by running
// the resolver, unless that is postponed; else from its last good answer.
func (e *Engine) resolveOne(ctx context.Context, r *Resolver, root Root, w *waiting) (o Outcome) {
	o = Outcome{Resolver: r.ID(), Root: root.FS.Path(), View: viewOf(r, root, false), showable: showable(r)}
	defer func() { o.Failure = cmp.Or(o.Failure, o.Err) }()
	if r.Off {
		o.Reused, o.Shape = true, offShape
		return o
	}
	k := e.keyOf(r, root)
	at := e.entryOf(k)
	if at.turn.Acquire(ctx, 1) != nil {
		o.Err = context.Cause(ctx)
		return o
	}
	defer at.turn.Release(1)
	last := e.recall(k, at)
	bundle := last != nil && last.Bundle
	if bundle {
		o.View = viewOf(r, root, true)
	}
	if o.Err = e.compile(&o, last); o.Err != nil {
		return o
	}
	if last != nil && e.fresh(k, at, r, root, last, &o) {
		return o
	}
	if last == nil && e.borrow(k, at, r, root, &o) {
		return o
	}
	if e.quarantined(at, &o) || e.rests(r, &o) {
		e.fallBack(k, r, root, last, &o)
		return o
	}
	running, end, ok := w.begin(ctx, e.took(r, root))
	if !ok {
		e.postpone(at, &o)
		e.fallBack(k, r, root, last, &o)
		return o
	}
	defer end()
	m, err := e.run(running, r, root, &o)
	if err == nil && m.Bundle != bundle { // a manifest was added or removed
		o.View, o.units = viewOf(r, root, m.Bundle), nil
		if o.Filter, err = e.filters.of(&o.View); err == nil {
			m, err = e.run(running, r, root, &o)
		}
	}
	e.ran(at, r, &o, running.Err() != nil)
	switch {
	case err == nil:
		e.succeeded(at)
		if last != nil && samePlaces(last, m) {
			m.shape = last.shape
		}
		e.remember(k, at, r, m, true)
		e.share(k, r, root, m)
		m.fill(&o, at, r, root)
	case ctx.Err() != nil:
		o.Err = err
	case running.Err() != nil:
		e.postpone(at, &o)
		e.fallBack(k, r, root, last, &o)
	default:
		e.failed(at, root.FS, &o, err)
		e.fallBack(k, r, root, last, &o)
	}
	return o
}

// postpone marks an outcome as postponed. A resolver whose last run failed still counts as
// failing.
func (e *Engine) postpone(at *entry, o *Outcome) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if o.Postponed = true; at.breaker.steady != nil {
		o.Err, o.Failure = at.breaker.last, at.breaker.steady.err
	}
}

// ran records how long a resolver ran. One that was cut off takes longer than that.
func (e *Engine) ran(at *entry, r *Resolver, o *Outcome, cut bool) {
	e.mu.Lock()
	at.took = o.Duration
	if cut {
		at.took = max(at.took, cutOff)
	}
	e.mu.Unlock()
	e.spend(r, o.Duration)
}

// cutOff is the assumed duration of a run that was cut off, until it is known.
const cutOff = time.Minute

// offShape is the Shape of outcomes of resolvers that are off.
var offShape = new(Shape)

// compile sets the filter, and reuses that of the last memo if possible.
func (e *Engine) compile(o *Outcome, last *memo) (err error) {
	if last != nil && last.filter != nil {
		o.Filter = last.filter
		return nil
	}
	o.Filter, err = e.filters.of(&o.View)
	return err
}

// fresh rechecks a memo and answers from it if it holds.
func (e *Engine) fresh(k key, at *entry, r *Resolver, root Root, last *memo, o *Outcome) bool {
	var f vfs.Freshness
	if root.Near != nil {
		f = root.FS.CheckUnitsNear(o.Filter, last.units, root.Near)
	} else {
		f = root.FS.CheckUnits(o.Filter, last.units)
	}
	m := *last
	m.filter, m.units = o.Filter, f.Units
	if len(f.Rewritten) > 0 {
		o.Rewritten, f.Changed = true, f.Rewritten[0].Path
		f.Fresh = e.rewrite(r, root, &m, f.Rewritten)
	}
	o.Changed = changedFor(r, f.Changed)
	if !f.Fresh {
		o.Rewritten, o.units = false, f.Units
		return false
	}
	e.remember(k, at, r, &m, o.Rewritten)
	m.fill(o, at, r, root)
	o.Reused = true
	return true
}

// run runs a resolver. After a crash or an invalid answer it tries once more on a fresh
// instance, because the machine may have been at fault.
func (e *Engine) run(ctx context.Context, r *Resolver, root Root, o *Outcome) (*memo, error) {
	m, err := e.try(ctx, r, root, o)
	again := errors.Is(err, sandbox.ErrCrashed) || errors.Is(err, sandbox.ErrAnswer)
	if !again || ctx.Err() != nil {
		return m, err
	}
	o.units = nil // the remembered units may have caused the failure
	m, err2 := e.try(ctx, r, root, o)
	switch {
	case err2 == nil:
		m.Warnings = append(m.Warnings, "it failed at first, and not at a second try: "+err.Error())
		return m, nil
	case err.Error() == err2.Error():
		return nil, fmt.Errorf("%w (twice)", err)
	}
	return nil, fmt.Errorf("%w; at a second try: %w", err, err2)
}

// try runs a resolver once and makes a memo of the result.
func (e *Engine) try(ctx context.Context, r *Resolver, root Root, o *Outcome) (*memo, error) {
	module, err := r.Module.Get(ctx)
	if err != nil {
		return nil, err
	}
	run := root.FS.Begin(o.Filter, e.limits(r))
	defer func() { _ = run.Close() }()
	run.Recall(o.units)
	defer func() { o.Used = run.Usage() }()
	res, err := module.Resolve(ctx, e.request(r, root), run)
	o.Logs, o.Output, o.Duration, o.Fuel = res.Logs, res.Output, res.Duration, res.Fuel
	o.LogsDropped, o.Memory = res.LogsDropped, res.PeakMemory
	if err != nil {
		o.Denied, o.Trace = deniedTo(r, run), run.Trace()
		return nil, err
	}
	rows := rowReader{resolver: r, by: r.by(), root: root, run: run, home: e.opts.Home, maxInline: e.opts.MaxResourceBytes, maxRows: e.maxRows()}
	candidates, plain := rows.read(res.Response, res.Rows)
	// A limit that only the host's own reading exceeded ends the run as well: what was read
	// before isn't the whole answer.
	if err := run.Err(); err != nil {
		o.Trace = run.Trace()
		return nil, fmt.Errorf("%s: %w", r.ID(), err)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if n := run.HiddenNames(); n > 0 {
		rows.warn(text.Count(n, "name is", "names are") + " not valid UTF-8 and not shown to the resolver")
	}
	units := unitsOf(r, run)
	return &memo{filter: o.Filter, units: units, shape: new(Shape), keptMemo: keptMemo{
		Trace: units.Trace(), Rows: res.Response.Resources, Candidates: candidates, Uncounted: res.Rows - len(res.Response.Resources),
		Warnings: rows.warnings, Denied: deniedTo(r, run), Logs: res.Logs, Plain: plain, Bundle: isBundle(r, run.Trace()),
	}}, nil
}

// unitsOf returns what a run leaves for the next. For a resolver that reads MCP
// configurations it is the trace alone, because a unit's value could hold a token.
func unitsOf(r *Resolver, run *vfs.Run) *vfs.Units {
	if withholds(r) {
		return vfs.NoUnits(run.Trace())
	}
	return run.Units()
}

// fallBack fills an outcome with the last good rows. It reopens their files: it drops those
// that are gone, rereads those that have changed, and omits what the resolver said of a text
// that has changed since. A version that has never succeeded has the rows of the one before.
func (e *Engine) fallBack(k key, r *Resolver, root Root, last *memo, o *Outcome) {
	if last == nil {
		e.mu.Lock()
		last = e.good[k.lineage(r)]
		e.mu.Unlock()
	}
	if last == nil {
		return
	}
	run := root.FS.Begin(o.Filter, e.limits(r))
	defer func() { _ = run.Close() }()
	rows := rowReader{resolver: r, by: r.by(), root: root, run: run, home: e.opts.Home, maxInline: e.opts.MaxResourceBytes, maxRows: e.maxRows()}
	// An inline text was made from files that may have changed or gone.
	full := last.Rows[:min(len(last.Rows), rows.maxRows)]
	kept := slices.DeleteFunc(slices.Clone(full), func(row abi.Resource) bool { return row.Content != nil && row.Content.Inline != nil })
	rows.maxRows = len(kept)
	kept = append(kept, last.Rows[len(full):]...)
	before := make(map[string]string, len(last.Candidates))
	for i := range last.Candidates {
		before[last.Candidates[i].ID()] = last.Candidates[i].ContentHash.String()
	}
	o.Candidates, _ = rows.read(&abi.Response{Resources: kept}, len(kept))
	o.Uncounted = last.Uncounted
	for i := range o.Candidates {
		c := &o.Candidates[i]
		c.Stale = true
		if c.ContentHash.String() != before[c.ID()] {
			c.Description, c.Attributes, c.Findings = "", nil, nil
		}
	}
	r.complete(o.Candidates, root)
	o.Warnings = rows.warnings
	o.Trace = append(o.Trace[:len(o.Trace):len(o.Trace)], run.Trace()...)
	if o.Quarantined || o.Rests || o.Postponed {
		// Nothing was run: the next answer will depend on what the last good one looked at.
		o.Trace = append(o.Trace, last.Trace...)
	}
}
