package host

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"waymark/internal/notify"
)

// hints are paths of which somebody knows that they have changed, and that a
// refresh hasn't taken yet.
type hints struct {
	wake notify.Wake // holds a token while there are some

	mu      sync.Mutex // guards pending
	pending scope
}

// unchecked are the roots that were checked near events alone since everything in
// them was. Events say where to look first; that nothing has changed elsewhere isn't
// taken from them.
type unchecked struct {
	wake notify.Wake // holds a token when there is the first

	mu     sync.Mutex // guards what follows
	owners map[string]bool
	last   time.Time // when one was added, or again
}

// note says how a root was checked just now.
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

// waiting returns the roots, and for how long no one was added.
func (u *unchecked) waiting() (owners map[string]bool, quiet time.Duration) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return maps.Clone(u.owners), time.Since(u.last)
}

// postponed are the roots in which a module wasn't waited for, and who runs it: a
// refresh of its own, which ends as soon as another one is wanted.
type postponed struct {
	wake notify.Wake // holds a token when there is one, or one may go on

	mu     sync.Mutex // guards what follows
	owners map[string]bool
	others int                     // refreshes that are wanted or go on
	cancel context.CancelCauseFunc // of the one that goes on here; nil for none
}

// errYields ends a refresh of what was postponed.
var errYields = errors.New("something else is to be looked at first")

// note says whether something was postponed in a root just now.
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

// tell wakes who runs it. The caller holds mu.
func (p *postponed) tell() {
	p.wake.Set()
}

// yield ends what goes on here, and has nothing begin until done is called.
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

// begin returns what to run, and the context in which: false while there is nothing, or
// something else goes on.
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
