package server

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"waymark/hub/store"
	"waymark/internal/await"
)

const (
	// pageSize is the number of events that are read at once.
	pageSize = 256
	// maxCached and maxKept limit the cached events, which save streams that are up to date
	// from querying the store individually.
	maxCached = 1024
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
	moved await.Signal

	mu    sync.Mutex // guards the fields below
	ready chan struct{}
	// kept are the last events, in the order in which they came: all those that can be
	// seen and are above base. The last one's number is at.count.
	kept []*event
	size int
	base store.Cursor
	at   position
}

// event is one that all streams share, with its encoding.
type event struct {
	store.Event
	once sync.Once
	name string
	data []byte
}

// newEvents makes events that aren't encoded yet.
func newEvents(list []store.Event) []*event {
	events := make([]*event, len(list))
	for i := range list {
		events[i] = &event{Event: list[i]}
	}
	return events
}

// encoded returns the event's name and its JSON with a line break.
func (e *event) encoded() (name string, data []byte) {
	e.once.Do(func() {
		var what any
		e.name, what = present(&e.Event)
		e.data = encode(what)
	})
	return e.name, e.data
}

// position is the feed's position.
type position struct {
	// through is where readers can go on: nothing can appear below any more.
	through store.Cursor
	// count is the number of events that came so far, and their last one's.
	count int64
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

// since returns the events that came after the number count. complete is false if they
// aren't all cached, or this number was of an earlier start.
func (f *feed) since(before position) (events []*event, at position, complete bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	first := f.at.count - int64(len(f.kept))
	if before.epoch != f.at.epoch || before.count < first {
		return nil, f.position(), false
	}
	// elements don't change, so the slice may be shared
	return f.kept[before.count-first : len(f.kept) : len(f.kept)], f.position(), true
}

// above returns the events above a cursor of a reader. complete is false if they aren't all
// cached, so that the store must be queried.
func (f *feed) above(after store.Cursor) (events []*event, at position, complete bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if after.Epoch != f.base.Epoch || after.Compare(f.base) < 0 {
		return nil, f.position(), false
	}
	for i := range f.kept {
		if f.kept[i].At.Compare(after) > 0 {
			events = append(events, f.kept[i])
		}
	}
	return events, f.position(), true
}

// awaitAgent waits until something has happened to the agent since the position. It may
// also return early.
func (f *feed) awaitAgent(ctx context.Context, since position, agentID string) error {
	for at := since; ; {
		events, now, complete := f.since(at)
		if !complete {
			return nil
		}
		for _, e := range events {
			if e.RemovedAgent == agentID || e.Change != nil && e.Change.AgentID == agentID {
				return nil
			}
		}
		at = now
		select {
		case <-at.moved:
		case <-ctx.Done():
			return ctx.Err()
		case <-f.ctx.Done():
			return f.ctx.Err()
		}
	}
}

func (f *feed) run() {
	for at, started := (store.Cursor{}), false; f.ctx.Err() == nil; {
		err := f.turn(&at, &started)
		if err != nil && !f.pause(err) {
			return
		}
	}
}

// turn reads what has happened since a cursor, and then waits for more.
func (f *feed) turn(at *store.Cursor, started *bool) error {
	if !*started {
		newest, err := f.store.Newest(f.ctx)
		if err != nil {
			return err
		}
		f.reset(newest, true)
		*at, *started = newest, true
	}
	page, err := f.store.Events(f.ctx, *at, pageSize)
	switch {
	case err != nil:
		return err
	case page.Lost: // the database was set back, or this hub was suspended for long
		f.reset(page.Through, false)
	default:
		f.append(newEvents(page.List), page.Through)
	}
	*at = page.Through
	if !page.Last {
		return nil
	}
	return f.store.Wait(f.ctx, *at)
}

// pause waits a moment after an error, and reports whether to continue.
func (f *feed) pause(err error) bool {
	if f.ctx.Err() != nil || errors.Is(err, store.ErrClosed) {
		return false
	}
	f.log.Warn("events not read", slog.Any("error", err), slog.Duration("again_in", retryFeed))
	return await.Sleep(f.ctx, retryFeed) == nil
}

func (f *feed) append(events []*event, through store.Cursor) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(events) == 0 && through.Compare(f.at.through) == 0 {
		return
	}
	f.kept = append(f.kept, events...)
	for i := range events {
		f.size += weigh(&events[i].Event)
	}
	drop := 0
	for drop < len(f.kept) && (len(f.kept)-drop > maxCached || f.size > maxKept) {
		f.size -= weigh(&f.kept[drop].Event)
		if at := f.kept[drop].At; at.Compare(f.base) > 0 {
			f.base = at
		}
		drop++
	}
	if drop > 0 { // copy, because streams may read the old slice
		f.kept = append([]*event(nil), f.kept[drop:]...)
	}
	f.at.count += int64(len(events))
	f.move(through)
}

// reset restarts the feed at a cursor.
func (f *feed) reset(newest store.Cursor, first bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.kept, f.size, f.base = nil, 0, newest
	f.at.epoch++
	f.move(newest)
	if first {
		close(f.ready)
	}
}

func (f *feed) move(through store.Cursor) {
	f.at.through = through
	f.moved.Notify()
}

// weigh returns the approximate memory of an event with its encoding, in bytes.
func weigh(e *store.Event) int {
	n := 800
	if e.Change != nil {
		for _, id := range e.Change.Touched {
			n += 16 + 2*len(id)
		}
	}
	return n
}
