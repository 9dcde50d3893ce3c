package resolve

import (
	"context"
	"errors"
	"fmt"

	"waymark/abi"
	"waymark/host/sandbox"
	"waymark/host/vfs"
)

// one answers for one (resolver, root): from the memo when it is fresh, else by
// running the resolver, else with what is left of its last good answer.
func (e *Engine) one(ctx context.Context, r *Resolver, root Root) Outcome {
	o := Outcome{Resolver: r.ID(), Root: root.FS.Path()}
	k := keyOf(r, root)
	last := e.recall(k)
	if last != nil {
		f := root.FS.Check(last.filter, last.trace)
		if f.Fresh {
			e.remember(k, last.renewed(f.Deps))
			last.fill(&o)
			o.Reused = true
			return o
		}
		o.Changed = f.Changed
	}
	if o.Err = e.quarantined(k); o.Err != nil {
		o.Quarantined = true
		e.fallBack(r, root, last, &o)
		return o
	}
	filter, err := e.filter(last, r, root)
	var m *memo
	if err == nil {
		m, err = e.run(ctx, r, root, filter, &o)
	}
	switch {
	case err == nil:
		e.succeeded(k)
		e.remember(k, m)
		m.fill(&o)
	case ctx.Err() != nil:
		o.Err = err
	default:
		o.Err = e.failed(k, err)
		e.fallBack(r, root, last, &o)
	}
	return o
}

// filter compiles what a resolver may see, or takes it over from its memo.
func (e *Engine) filter(m *memo, r *Resolver, root Root) (*vfs.Filter, error) {
	if m != nil {
		return m.filter, nil
	}
	return viewOf(r, root).Compile()
}

// run runs a resolver. One that crashed, or gave no proper answer, gets a
// second try on a fresh instance: it may have been the machine's fault.
func (e *Engine) run(ctx context.Context, r *Resolver, root Root, filter *vfs.Filter, o *Outcome) (*memo, error) {
	m, err := e.try(ctx, r, root, filter, o)
	again := errors.Is(err, sandbox.ErrCrashed) || errors.Is(err, sandbox.ErrAnswer)
	if !again || ctx.Err() != nil {
		return m, err
	}
	m, err2 := e.try(ctx, r, root, filter, o)
	switch {
	case err2 == nil:
		m.warnings = append(m.warnings, "it failed at first, and not at a second try: "+err.Error())
		return m, nil
	case err.Error() == err2.Error():
		return nil, fmt.Errorf("%w (twice)", err)
	}
	return nil, fmt.Errorf("%w; at a second try: %w", err, err2)
}

// try runs a resolver once and makes a memo of the result.
func (e *Engine) try(ctx context.Context, r *Resolver, root Root, filter *vfs.Filter, o *Outcome) (*memo, error) {
	run := root.FS.Begin(filter, e.limits(r))
	defer func() { _ = run.Close() }()
	res, err := r.Module.Resolve(ctx, e.request(r, root), run)
	o.Logs, o.Duration, o.Fuel = res.Logs, res.Duration, res.Fuel
	if err != nil {
		o.Denied = deniedTo(r, run)
		return nil, err
	}
	rows := rowReader{resolver: r, by: r.by(), root: root, run: run, maxInline: e.opts.MaxResourceBytes}
	candidates := rows.read(res.Response)
	// A limit that only the host's own reading exceeded ends the run as well:
	// what was read until then is not the whole answer.
	if err := run.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", r.ID(), err)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if n := run.HiddenNames(); n > 0 {
		rows.warn(plural(n, "name is", "names are") + " not valid UTF-8 and not shown to the resolver")
	}
	return &memo{
		filter: filter, trace: run.Trace(), rows: res.Response.Resources, candidates: candidates,
		warnings: rows.warnings, denied: deniedTo(r, run),
	}, nil
}

// fallBack fills an outcome with the last good rows. Their files are opened
// anew: what is gone is dropped, what has changed is read again, and what the
// resolver said of a text that has changed since is not repeated.
func (e *Engine) fallBack(r *Resolver, root Root, last *memo, o *Outcome) {
	if last == nil {
		return
	}
	run := root.FS.Begin(last.filter, e.limits(r))
	defer func() { _ = run.Close() }()
	rows := rowReader{resolver: r, by: r.by(), root: root, run: run, maxInline: e.opts.MaxResourceBytes}
	kept := make([]abi.Resource, 0, len(last.rows))
	for _, row := range last.rows {
		// An inline text was made of files that may be gone or other now.
		if row.Content == nil || row.Content.Inline == nil {
			kept = append(kept, row)
		}
	}
	before := make(map[string]string, len(last.candidates))
	for i := range last.candidates {
		before[last.candidates[i].ID()] = last.candidates[i].ContentHash.String()
	}
	o.Candidates = rows.read(&abi.Response{Resources: kept})
	for i := range o.Candidates {
		c := &o.Candidates[i]
		c.Stale = true
		if c.ContentHash.String() != before[c.ID()] {
			c.Description, c.Attributes = "", nil
		}
	}
	o.Warnings = rows.warnings
}
