package snapshot

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"waymark/internal/await"
)

// Publisher gives snapshots their versions and hands the newest to readers. The zero value is
// ready, with an empty snapshot of version 0 whose discovery is pending, because nothing was
// looked for. Its methods may be called from any goroutine; don't copy it.
//
// Call Begin before a resolve looks at the first file, and Publish with its result. Results
// may arrive in any order, and only the newest counts.
type Publisher struct {
	current atomic.Pointer[Snapshot]

	// mu guards the fields below and every store to current.
	mu        sync.Mutex
	issued    Ticket
	published Ticket
	changed   await.Signal // current has been replaced
}

// Ticket is a resolve's place in the order of all resolves.
type Ticket uint64

// Content is what a snapshot says, before it has a version. The Publisher takes ownership of
// all its slices.
type Content struct {
	// Resources are those of Assemble, in order of ID.
	Resources     []Resource
	Plugins       []Plugin
	SnapshotError string
	Discovery     Discovery
}

// Begin returns a ticket that is higher than all before. Call it before looking at any file:
// a result may replace only what was begun earlier.
func (p *Publisher) Begin() Ticket {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.issued++
	return p.issued
}

// Publish makes a result the current snapshot, under the next version, and returns it with
// true. It changes nothing, and returns the current snapshot with false, if the result has no
// news, or if the same or a later ticket was already published. The very first result is
// always news, even if it is empty.
func (p *Publisher) Publish(t Ticket, content Content) (*Snapshot, bool) {
	next := p.build(content)

	p.mu.Lock()
	defer p.mu.Unlock()
	if t <= p.published || t > p.issued {
		return p.Current(), false
	}
	p.published = t
	return p.replace(next)
}

// Amend replaces the current snapshot for news that no resolve brings: a plugin failed,
// watching is degraded, an MCP server has answered. The content repeats what resolves found,
// and the caller makes sure that no result is published meanwhile. Amend uses no ticket, so
// that a resolve in progress isn't lost. Before the first Publish it does nothing, because
// there is nothing to push yet.
func (p *Publisher) Amend(content Content) (*Snapshot, bool) {
	next := p.build(content)

	p.mu.Lock()
	defer p.mu.Unlock()
	if current := p.Current(); current.Version == 0 {
		return current, false
	}
	return p.replace(next)
}

// replace makes next current if it differs. The caller holds mu.
func (p *Publisher) replace(next *Snapshot) (*Snapshot, bool) {
	current := p.Current()
	if current.Version > 0 && SameContent(current, next) {
		return current, false
	}
	next.Version = current.Version + 1
	p.current.Store(next)
	p.changed.Notify()
	return next, true
}

// Current returns the newest snapshot, never nil. It takes no lock.
func (p *Publisher) Current() *Snapshot {
	if s := p.current.Load(); s != nil {
		return s
	}
	return &Snapshot{Discovery: Discovery{Phase: PhasePending}}
}

// Wait returns the newest snapshot as soon as its version is above after; it skips versions
// in between. If ctx ends first, it returns the current snapshot and the context's cause.
func (p *Publisher) Wait(ctx context.Context, after uint64) (*Snapshot, error) {
	for {
		changed := p.changed.Changed()
		current := p.Current()
		if current.Version > after {
			return current, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return p.Current(), context.Cause(ctx)
		}
	}
}

// build makes a snapshot without a version.
func (p *Publisher) build(content Content) *Snapshot {
	resources, current := content.Resources, p.Current()
	if !sameSlice(resources, current.Resources) && !slices.IsSortedFunc(resources, byID) {
		resources = slices.Clone(resources)
		sortByID(resources)
	}
	s := &Snapshot{
		SnapshotError: content.SnapshotError,
		Discovery:     content.Discovery,
		Resources:     resources,
		Plugins:       content.Plugins,
	}
	if current.Version > 0 && sameResources(current.Resources, resources) {
		s.AggregateHash, s.PayloadBytes = current.AggregateHash, current.PayloadBytes
		return s
	}
	s.AggregateHash = Aggregate(resources)
	for i := range resources {
		s.PayloadBytes += int64(len(resources[i].Payload))
	}
	return s
}
