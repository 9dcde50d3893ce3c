package resolve

import (
	"fmt"
	"slices"
	"time"

	"waymark/host/sandbox"
	"waymark/host/vfs"
	"waymark/internal/await"
)

// breaker counts the failures of one resolver in one root since its last success. A new
// version of the module starts from zero, because its digest is part of the key.
type breaker struct {
	failures int
	until    time.Time // when it may be tried again; zero while it isn't quarantined
	wait     time.Duration
	last     error
	steady   *steadyFailure // nil before the first failure
}

// steadyFailure is what is reported of consecutive failures. Their errors can differ although
// nothing else does: by times and numbers in them, or by which limit is met first.
type steadyFailure struct {
	err error // of the first failure, and reported since
	// trace is what the last failure had observed, without unrepeatable observations. While
	// it holds, there is no news.
	trace []vfs.Dep
}

// next returns what to report after one more failure. A run that has looked at something is
// better informed than one that failed earlier.
func (f *steadyFailure) next(root *vfs.Root, o *Outcome, err error) *steadyFailure {
	next := &steadyFailure{err, slices.DeleteFunc(slices.Clone(o.Trace), func(d vfs.Dep) bool { return d.Unstable })}
	if f == nil || len(f.trace) == 0 && len(next.trace) > 0 || !root.Check(o.Filter, f.trace).Fresh {
		return next
	}
	next.err = f.err
	if len(next.trace) == 0 {
		next.trace = f.trace
	}
	return next
}

const (
	// maxFailures is how many consecutive failures lead to quarantine: enough for a machine's
	// bad moment, few enough that a broken resolver costs little.
	maxFailures = 3
	// The first quarantine is short, because most authors are about to fix what they have
	// just broken. Each following one is twice as long.
	firstQuarantine   = 30 * time.Second
	longestQuarantine = time.Hour
)

// quarantinedError says that a resolver wasn't run. Its text doesn't change while the
// quarantine lasts.
type quarantinedError struct {
	failures int
	wait     time.Duration
	last     error
}

func (e *quarantinedError) Error() string {
	return fmt.Sprintf("quarantined for %s after %d failures: %v", e.wait, e.failures, e.last)
}

func (e *quarantinedError) Unwrap() error { return e.last }

// quarantined reports whether a resolver must not be run now, and records the reason in the
// outcome.
func (e *Engine) quarantined(at *entry, o *Outcome) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	b := &at.breaker
	if !e.opts.Now().Before(b.until) {
		return false
	}
	o.Quarantined, o.Err, o.Failure = true, &quarantinedError{b.failures, b.wait, b.last}, b.steady.err
	return true
}

// failed counts a failure and records it in its outcome, whose trace is that of the run. The
// caller holds at.turn.
func (e *Engine) failed(at *entry, root *vfs.Root, o *Outcome, err error) {
	e.mu.Lock()
	steady := at.breaker.steady
	e.mu.Unlock()
	steady = steady.next(root, o, err)
	o.Err, o.Failure = err, steady.err
	e.mu.Lock()
	defer e.mu.Unlock()
	b := &at.breaker
	b.failures++
	b.last, b.steady = err, steady
	if b.failures >= maxFailures {
		if sandbox.Busy(err) {
			b.wait = 0 // no longer than the first: the machine is to blame
		}
		b.wait = await.After(b.wait, firstQuarantine, longestQuarantine)
		b.until = e.opts.Now().Add(b.wait)
	}
}

func (e *Engine) succeeded(at *entry) {
	e.mu.Lock()
	defer e.mu.Unlock()
	at.breaker = breaker{}
}

// Retry ends all quarantines: the next Resolve runs everything that isn't fresh.
func (e *Engine) Retry() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, at := range e.entries {
		at.breaker = breaker{}
	}
	clear(e.usage)
}
