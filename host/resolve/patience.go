package resolve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"waymark/internal/await"
)

// Patience is how long Resolve waits for dropped-in modules, which may be slow. Those that
// haven't answered by then are postponed. The built-in module runs before them, and to its
// end.
type Patience struct {
	// For is how long to wait for all of them together. 0 waits until all have answered.
	For time.Duration
	// Slow also runs those that are known to take longer, and waits for what has begun.
	Slow bool
}

// errPostponed ends a run that nobody waits for any longer.
var errPostponed = errors.New("postponed: it takes too long to be waited for")

// waiting is a Patience in progress; nil waits for all.
type waiting struct {
	Patience
	until time.Time
}

// ResolveWithin is Resolve for callers that don't wait for everything. Postponed resolvers
// have their last candidates, marked stale, as after a failure.
func (e *Engine) ResolveWithin(ctx context.Context, p Patience, resolvers []Resolver, roots []Root) ([]Outcome, error) {
	if p.For <= 0 {
		return e.Resolve(ctx, resolvers, roots)
	}
	outcomes := make([]Outcome, len(roots)*len(resolvers))
	type job struct {
		at   int
		r    *Resolver
		root Root
		took time.Duration
	}
	var quick, others []job
	for i, root := range roots {
		for j := range resolvers {
			one := job{at: i*len(resolvers) + j, r: root.resolver(resolvers, j), root: root}
			if !one.r.DropIn {
				quick = append(quick, one)
				continue
			}
			one.took = e.took(one.r, root)
			others = append(others, one)
		}
	}
	run := func(jobs []job, parallel int, w *waiting) {
		var g errgroup.Group
		g.SetLimit(parallel)
		for _, one := range jobs {
			g.Go(func() error {
				if ctx.Err() == nil { // otherwise the context's error is the answer
					outcomes[one.at] = e.resolveOne(ctx, one.r, one.root, w)
				}
				return nil
			})
		}
		_ = g.Wait() // the goroutines return nil
	}
	run(quick, e.opts.Parallel, nil)
	slices.SortStableFunc(others, func(a, b job) int { return cmp.Compare(a.took, b.took) })
	parallel := e.opts.Parallel
	if p.Slow { // the other processors are for urgent work
		parallel = max(1, parallel/2)
	}
	run(others, parallel, &waiting{p, time.Now().Add(p.For)})
	return outcomes, ctx.Err()
}

// took returns how long a resolver's last run in a root took, 0 if unknown.
func (e *Engine) took(r *Resolver, root Root) time.Duration {
	if r.Off {
		return 0
	}
	at := e.entryOf(e.keyOf(r, root))
	e.mu.Lock()
	defer e.mu.Unlock()
	return at.took
}

// begin returns the context of a run; ok is false if the run is postponed.
func (w *waiting) begin(ctx context.Context, took time.Duration) (_ context.Context, end func(), ok bool) {
	if w == nil {
		return ctx, func() {}, true
	}
	left := time.Until(w.until)
	if left <= 0 || !w.Slow && took > left {
		return nil, nil, false
	}
	if w.Slow {
		return ctx, func() {}, true
	}
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(left, func() { cancel(errPostponed) })
	return ctx, func() { timer.Stop(); cancel(nil) }, true
}

const (
	// timeShare is Options.TimeShare, a quarter of a processor. A module that has run for
	// longer within timeWindow rests, for as long as a failing resolver.
	timeShare  = 30 * time.Second
	timeWindow = 2 * time.Minute
)

// usage is how long a module has run lately.
type usage struct {
	since time.Time
	spent time.Duration
	until time.Time // end of its rest; zero while it doesn't rest
	wait  time.Duration
}

// greedyError says that a module rests. Its text doesn't change while it does.
type greedyError struct{ share, wait time.Duration }

func (e *greedyError) Error() string {
	return fmt.Sprintf("its module has run for more than %s in %s, and rests for %s: make it quicker, or let it read less", e.share, timeWindow, e.wait)
}

// errGreedy is the Failure that stands for a greedyError.
var errGreedy = errors.New("its module runs for too long, again and again, and rests meanwhile: make it quicker, or let it read less")

// spend counts a run of a dropped-in module.
func (e *Engine) spend(r *Resolver, d time.Duration) {
	if !r.DropIn {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	u := e.usage[r.Module.Digest]
	if u == nil {
		maps.DeleteFunc(e.usage, func(_ string, u *usage) bool { return e.opts.Now().Sub(u.since) > longestQuarantine })
		u = &usage{}
		e.usage[r.Module.Digest] = u
	}
	now := e.opts.Now()
	if now.Sub(u.since) > timeWindow {
		if u.spent <= e.opts.TimeShare && now.Sub(u.until) > timeWindow {
			u.wait = 0
		}
		u.since, u.spent = now, 0
	}
	if u.spent += d; u.spent > e.opts.TimeShare {
		u.wait = await.After(u.wait, firstQuarantine, longestQuarantine)
		u.until, u.since, u.spent = now.Add(u.wait), now, 0
	}
}

// rests reports whether a module has run for too long, and records that in the outcome.
func (e *Engine) rests(r *Resolver, o *Outcome) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	u := e.usage[r.Module.Digest]
	if u == nil || !r.DropIn || !e.opts.Now().Before(u.until) {
		return false
	}
	o.Rests, o.Err, o.Failure = true, &greedyError{e.opts.TimeShare, u.wait}, errGreedy
	return true
}
