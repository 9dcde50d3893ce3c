package server

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"waymark/hub/store"
	"waymark/internal/backoff"
	"waymark/internal/notify"
)

const (
	// pageSize is the number of revisions that are read at once.
	pageSize = 256
	// maxGroups and maxKept limit the cached events, which save streams that are up to date
	// from querying the store individually.
	maxGroups = 1024
	maxKept   = 4 << 20
	// retryFeed is how soon a failed query is repeated.
	retryFeed = time.Second
)

// feed follows the store for all streams and waiting requests. It starts with the first of
// them.
type feed struct {
	ctx   context.Context //nolint:containedctx // the API's life
	store store.Store
	log   *slog.Logger
	start sync.Once
	done  sync.WaitGroup
	moved notify.Signal

	mu    sync.Mutex // guards the fields below
	ready chan struct{}
	// kept are the last groups: all above base, up to at.newest.
	kept []group
	size int
	base int64
	at   position
}

// position is the feed's position.
type position struct {
	newest int64
	// epoch is the number of restarts of the feed.
	epoch int
	// moved is closed when the position has advanced.
	moved <-chan struct{}
}

func newFeed(ctx context.Context, st store.Store, log *slog.Logger) *feed {
	return &feed{ctx: ctx, store: st, log: log, ready: make(chan struct{})}
}

// wait waits for the end of a feed whose context has ended.
func (f *feed) wait() {
	f.start.Do(func() {}) // prevents a later start
	f.done.Wait()
}

// now returns the position, when there is one.
func (f *feed) now(ctx context.Context) (position, error) {
	f.start.Do(func() { f.done.Go(f.run) })
	select {
	case <-f.ready:
	case <-ctx.Done():
		return position{}, ctx.Err()
	case <-f.ctx.Done():
		return position{}, f.ctx.Err()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.position(), nil
}

// position returns the feed's position. The caller holds f.mu, so that no change between
// position and moved is missed.
func (f *feed) position() position {
	at := f.at
	at.moved = f.moved.Changed()
	return at
}

// since returns the groups above after. complete is false if they aren't all cached, so
// that the store must be queried.
func (f *feed) since(after int64) (groups []group, at position, complete bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if after < f.base {
		return nil, f.position(), false
	}
	low := len(f.kept)
	for low > 0 && f.kept[low-1].revision > after {
		low--
	}
	// elements are immutable, so the slice may be shared
	return f.kept[low:len(f.kept):len(f.kept)], f.position(), true
}

// awaitAgent waits until something has happened to the agent since the position. It may
// also return early.
func (f *feed) awaitAgent(ctx context.Context, since position, agentID string) error {
	for after := since.newest; ; {
		groups, at, complete := f.since(after)
		if !complete || at.epoch != since.epoch {
			return nil
		}
		for _, g := range groups {
			for i := range g.events {
				if e := &g.events[i]; e.RemovedAgent == agentID || e.Change != nil && e.Change.AgentID == agentID {
					return nil
				}
			}
		}
		after = at.newest
		select {
		case <-at.moved:
		case <-ctx.Done():
			return ctx.Err()
		case <-f.ctx.Done():
			return f.ctx.Err()
		}
	}
}

// beyond reports whether the database hasn't reached a revision, and its newest one. It
// doesn't use a store's Wait: if the database doesn't answer, Wait returns the last known
// revision, which may be below what another hub has sent.
func (f *feed) beyond(ctx context.Context, revision int64) (newest int64, is bool) {
	page, err := f.store.Events(ctx, revision, 1)
	return page.Newest, err == nil && revision > page.Newest
}

func (f *feed) run() {
	started := false
	for after := int64(-1); f.ctx.Err() == nil; {
		newest, err := f.store.Wait(f.ctx, after)
		switch {
		case err != nil:
		case !started || newest < after:
			f.reset(newest, !started)
			after, started = newest, true
		default:
			after, err = f.read(after)
		}
		if err != nil && !f.pause(err) {
			return
		}
	}
}

// pause waits a moment after an error, and reports whether to continue.
func (f *feed) pause(err error) bool {
	if f.ctx.Err() != nil || errors.Is(err, store.ErrClosed) {
		return false
	}
	f.log.Warn("events not read", slog.Any("error", err), slog.Duration("again_in", retryFeed))
	return backoff.Sleep(f.ctx, retryFeed) == nil
}

// read reads what has happened since after, and returns the new position.
func (f *feed) read(after int64) (int64, error) {
	page, err := f.store.Events(f.ctx, after, pageSize)
	if err != nil {
		return after, err
	}
	if page.Floor > after || page.Newest < after { // only if this hub was suspended for long
		f.reset(page.Newest, false)
		return page.Newest, nil
	}
	f.append(groupUp(page.List), page.Through)
	return page.Through, nil
}

func (f *feed) append(groups []group, through int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, g := range groups {
		f.kept = append(f.kept, g)
		f.size += g.size
	}
	drop := 0
	for drop < len(f.kept) && (len(f.kept)-drop > maxGroups || f.size > maxKept) {
		f.size -= f.kept[drop].size
		f.base = f.kept[drop].revision
		drop++
	}
	if drop > 0 { // copy, because streams may read the old slice
		f.kept = append([]group(nil), f.kept[drop:]...)
	}
	f.move(through)
}

// reset restarts the feed at a revision.
func (f *feed) reset(newest int64, first bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.kept, f.size, f.base = nil, 0, newest
	f.at.epoch++
	f.move(newest)
	if first {
		close(f.ready)
	}
}

func (f *feed) move(newest int64) {
	f.at.newest = newest
	f.moved.Notify()
}

// group has the events of a revision.
type group struct {
	revision int64
	events   []store.Event
	size     int
}

// groupUp groups events by revision.
func groupUp(list []store.Event) []group {
	var groups []group
	for i := 0; i < len(list); {
		end := i + 1
		for end < len(list) && list[end].Revision == list[i].Revision {
			end++
		}
		g := group{revision: list[i].Revision, events: list[i:end:end]}
		for j := range g.events {
			g.size += weigh(&g.events[j])
		}
		groups = append(groups, g)
		i = end
	}
	return groups
}

// weigh returns the approximate memory of an event, in bytes.
func weigh(e *store.Event) int {
	n := 300
	if e.Change != nil {
		for _, id := range e.Change.Touched {
			n += 16 + len(id)
		}
	}
	return n
}
