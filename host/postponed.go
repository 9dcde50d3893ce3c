package host

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"waymark/host/resolve"
	"waymark/internal/notify"
)

// How long a refresh waits for dropped-in modules, if nobody has asked for all: at the
// start, when something has changed, and when nothing else is to be done.
const (
	patienceAtStart = 2 * time.Second
	patience        = 100 * time.Millisecond
	patienceLater   = 2 * time.Second
)

func (h *Host) patience(s scope) resolve.Patience {
	switch {
	case s.whole || h.opts.WaitForAll:
		return resolve.Patience{}
	case s.slow:
		return resolve.Patience{For: patienceLater, Slow: true}
	case h.report.Load() == nil:
		return resolve.Patience{For: patienceAtStart}
	}
	return resolve.Patience{For: patience}
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

// runPostponed runs the modules that weren't waited for, until ctx ends.
func (h *Host) runPostponed(ctx context.Context) error {
	for {
		select {
		case <-h.postponed.wake:
		case <-ctx.Done():
			return nil
		}
		run, owners, end, ok := h.postponed.begin(ctx)
		if !ok {
			continue
		}
		err := h.turn.Do(run, func(ctx context.Context) error {
			_, err := h.refresh(ctx, scope{owners: owners, reason: "postponed", slow: true})
			for owner := range owners {
				if !slices.ContainsFunc(h.used(), func(u usedRoot) bool { return u.slot.owner == owner }) {
					h.postponed.note(owner, false) // its root has gone
				}
			}
			return err
		})
		end()
		if err != nil && !errors.Is(err, errYields) {
			return ended(ctx, err)
		}
	}
}
