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
	"waymark/internal/notify"
	"waymark/internal/priolock"
	"waymark/snapshot"
)

// Host is the engine. Make one with New; see the package comment for its life.
//
// Whoever has the turn owns what is in owned; all else never changes or guards itself.
type Host struct {
	opts      Options // as they were given to New
	log       *slog.Logger
	life      context.Context //nolint:containedctx // the Host's own
	end       context.CancelCauseFunc
	closeOnce sync.Once

	catalog   *plugin.Catalog
	memos     *memoStore // nil keeps nothing
	published snapshot.Publisher
	hold      gate // of the first snapshot
	peer      replaceable[*push.Pusher]

	pending
	noticing
	told

	turn *priolock.Turn
	owned

	// asking is had by who looks at what a client sees: each such look has resolvers of
	// its own.
	asking *priolock.Turn
}

// pending is what is to be done; safe for all.
type pending struct {
	flights   flights
	hints     hints
	unchecked unchecked
	postponed postponed
	unsaved   notify.Wake // holds a token while there are memos to save
}

// noticing is by what changes are noticed.
type noticing struct {
	watching replaceable[watch.Options]
	watcher  replaceable[*watch.Watcher] // nil while nothing is watched
}

// told is what the last refresh has left.
type told struct {
	report atomic.Pointer[Report]   // nil before the first
	looked atomic.Pointer[lookedAt] // which roots it looked at
}

// owned is what whoever has the turn owns.
type owned struct {
	config    engineConfig
	engine    *resolve.Engine
	plugins   *plugin.List // whose resolvers the outcomes of slots are of
	slots     []*rootSlot
	named     int               // how many slots were given names
	logged    map[string]string // per resolver and root, what was last logged
	assembler snapshot.Assembler
}

// Load finds out what the built-in module and every module file can do; see
// plugin.Catalog. A refresh waits for it; other roots and a reload don't.
func (h *Host) Load(ctx context.Context) error { return h.catalog.Load(ctx) }

// Ready lets the first snapshot be made, where Options.Hold holds it back.
func (h *Host) Ready() { h.hold.open() }

// Current returns the newest snapshot, never nil; version 0 is none yet.
func (h *Host) Current() *snapshot.Snapshot { return h.published.Current() }

// Wait returns a snapshot whose version is above after, as soon as there is
// one.
func (h *Host) Wait(ctx context.Context, after uint64) (*snapshot.Snapshot, error) {
	return h.published.Wait(ctx, after)
}

// Accepted waits until the peer has stored the given version, or a newer one.
func (h *Host) Accepted(ctx context.Context, version uint64) error {
	pusher, _ := h.peer.get()
	if pusher == nil {
		return errors.New("nothing is pushed: there is no peer")
	}
	return pusher.Accepted(ctx, version)
}

// Settle waits until every module is loaded and has its spare instances ready.
// Run does so after the first refresh; it is for measurements without Run.
func (h *Host) Settle(ctx context.Context) { h.catalog.Settle(ctx) }
