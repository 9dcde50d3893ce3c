package host

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"waymark/internal/await"
)

// hints are paths that are known to have changed and that no refresh has taken yet.
type hints struct {
	wake await.Wake // holds a token while there are paths

	mu      sync.Mutex // guards pending
	pending scope
}

// unchecked are the roots of which only the parts near events were checked since their last
// full check. Events say where to look first; they don't prove that nothing else has changed.
type unchecked struct {
	wake await.Wake // holds a token when the first root is added

	mu     sync.Mutex // guards what follows
	owners map[string]bool
	last   time.Time // when a root was last added or noted again
}

// note records whether a root was just checked wholly.
func (u *unchecked) note(owner string, wholly bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if wholly {
		delete(u.owners, owner)
		return
	}
	if u.owners == nil {
		u.owners = map[string]bool{}
	}
	u.owners[owner] = true
	u.last = time.Now()
	u.wake.Set()
}

// waiting returns the roots, and the time since the last note.
func (u *unchecked) waiting() (owners map[string]bool, quiet time.Duration) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return maps.Clone(u.owners), time.Since(u.last)
}

// postponed are the roots in which a refresh didn't wait for a module. A separate refresh
// runs these modules, and ends as soon as another refresh is wanted.
type postponed struct {
	wake await.Wake // holds a token when there is a root, or when runs may continue

	mu     sync.Mutex // guards what follows
	owners map[string]bool
	others int                     // refreshes that are wanted or running
	cancel context.CancelCauseFunc // cancels the postponed refresh; nil if none runs
}

// errYields ends a refresh of postponed modules.
var errYields = errors.New("something else is to be looked at first")

// note records whether modules were postponed in a root.
func (p *postponed) note(owner string, is bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !is {
		delete(p.owners, owner)
		return
	}
	if p.owners == nil {
		p.owners = map[string]bool{}
	}
	p.owners[owner] = true
	p.tell()
}

// tell wakes runPostponed. The caller holds mu.
func (p *postponed) tell() {
	p.wake.Set()
}

// yield cancels the postponed refresh, and prevents another until done is called.
func (p *postponed) yield() (done func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.others++
	if p.cancel != nil {
		p.cancel(errYields)
	}
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.others--; p.others == 0 && len(p.owners) > 0 {
			p.tell()
		}
	}
}

// begin returns the roots to run and the context for it. ok is false if there are none or
// another refresh is active.
func (p *postponed) begin(ctx context.Context) (_ context.Context, owners map[string]bool, end func(), ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.others > 0 || len(p.owners) == 0 {
		return nil, nil, nil, false
	}
	ctx, cancel := context.WithCancelCause(ctx)
	p.cancel = cancel
	return ctx, maps.Clone(p.owners), func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.cancel = nil
		cancel(nil)
	}, true
}
