package host

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"

	"waymark/host/plugin"
	"waymark/host/push"
	"waymark/host/resolve"
	"waymark/host/watch"
	"waymark/internal/await"
	"waymark/snapshot"
)

// Host is the engine. Make one with New; see the package comment for its life.
//
// The holder of turn owns the fields in owned. All other fields are immutable or safe for
// concurrent use.
type Host struct {
	opts      Options // as given to New
	log       *slog.Logger
	life      context.Context //nolint:containedctx // the Host's own
	end       context.CancelCauseFunc
	closeOnce sync.Once

	catalog   *plugin.Catalog
	memos     *memoStore // nil keeps nothing
	published snapshot.Publisher
	hold      gate // holds back the first snapshot
	peer      replaceable[*push.Pusher]

	pending
	noticing
	told

	turn *await.Turn
	owned

	// asking serializes looks on behalf of clients, each of which needs resolvers of its own.
	asking *await.Turn
}

// pending is the work to be done. It is safe for concurrent use.
type pending struct {
	flights   flights
	hints     hints
	unchecked unchecked
	postponed postponed
	unsaved   await.Wake // holds a token while there are memos to save
}

// noticing is how changes are noticed.
type noticing struct {
	watching replaceable[watch.Options]
	watcher  replaceable[*watch.Watcher] // nil while nothing is watched
}

// told is the result of the last refresh.
type told struct {
	report atomic.Pointer[Report]   // nil before the first
	looked atomic.Pointer[lookedAt] // the roots it looked at
}

// owned holds the fields that belong to the holder of Host.turn.
type owned struct {
	config    engineConfig
	engine    *resolve.Engine
	plugins   *plugin.List // the list whose resolvers produced the outcomes in slots
	slots     []*rootSlot
	named     int               // number of slot names given out
	logged    map[string]string // last logged message, per resolver and root
	assembler snapshot.Assembler
}

// Load finds out what the built-in module and every module file can do; see plugin.Catalog.
// Refreshes wait for it; SetRoots and Reconfigure don't.
func (h *Host) Load(ctx context.Context) error { return h.catalog.Load(ctx) }

// Ready releases the first snapshot if Options.Hold holds it back.
func (h *Host) Ready() { h.hold.open() }

// Current returns the newest snapshot, never nil. Version 0 means that there is none yet.
func (h *Host) Current() *snapshot.Snapshot { return h.published.Current() }

// Wait waits for a snapshot with a version above after, and returns it.
func (h *Host) Wait(ctx context.Context, after uint64) (*snapshot.Snapshot, error) {
	return h.published.Wait(ctx, after)
}

// Accepted waits until the peer has stored the given version or a newer one.
func (h *Host) Accepted(ctx context.Context, version uint64) error {
	pusher, _ := h.peer.get()
	if pusher == nil {
		return errors.New("nothing is pushed: there is no peer")
	}
	return pusher.Accepted(ctx, version)
}

// Settle waits until every module is loaded and has spare instances. Run does so after the
// first refresh; call it for measurements without Run.
func (h *Host) Settle(ctx context.Context) { h.catalog.Settle(ctx) }
