package resolve

import (
	"fmt"
	"time"

	"waymark/internal/backoff"
)

// breaker counts the failures of one resolver in one root since its last
// success. Another version of the module begins anew, since its digest is part
// of the key.
type breaker struct {
	failures int
	until    time.Time // when it may be tried again; zero while it isn't quarantined
	wait     time.Duration
	last     error
}

const (
	// maxFailures is how many failures in a row lead to quarantine: enough for a
	// machine's bad moment, few enough that a broken resolver costs little.
	maxFailures = 3
	// The first quarantine is short, since most authors are about to mend what
	// they have just broken; each next one is twice as long.
	firstQuarantine   = 30 * time.Second
	longestQuarantine = time.Hour
)

// quarantinedError says that a resolver wasn't run. Its text doesn't change
// while the quarantine lasts.
type quarantinedError struct {
	failures int
	wait     time.Duration
	last     error
}

func (e *quarantinedError) Error() string {
	return fmt.Sprintf("quarantined for %s after %d failures: %v", e.wait, e.failures, e.last)
}

func (e *quarantinedError) Unwrap() error { return e.last }

// quarantined returns why a resolver must not be run now, or nil.
func (e *Engine) quarantined(at *entry) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	b := &at.breaker
	if !e.opts.Now().Before(b.until) {
		return nil
	}
	return &quarantinedError{b.failures, b.wait, b.last}
}

// failed counts a failure and returns the error to show.
func (e *Engine) failed(at *entry, err error) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	b := &at.breaker
	b.failures++
	b.last = err
	if b.failures >= maxFailures {
		b.wait = backoff.After(b.wait, firstQuarantine, longestQuarantine)
		b.until = e.opts.Now().Add(b.wait)
	}
	return err
}

func (e *Engine) succeeded(at *entry) {
	e.mu.Lock()
	defer e.mu.Unlock()
	at.breaker = breaker{}
}

// Retry ends all quarantines: the next Resolve runs everything that isn't
// fresh.
func (e *Engine) Retry() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, at := range e.entries {
		at.breaker = breaker{}
	}
}
