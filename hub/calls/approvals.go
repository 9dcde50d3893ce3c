package calls

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"waymark/hub/store"
	"waymark/internal/await"
	"waymark/internal/credential"
	"waymark/wire/approval"
)

const (
	// approvalsPause is the minimum time between queries for changed approvals, because
	// each push wakes the goroutine.
	approvalsPause = 100 * time.Millisecond
	// approvalsAgain is how soon a failed query is repeated.
	approvalsAgain = time.Second
)

// approvals follows the signed approvals in the store, which other hubs and commands
// change, too, for the connected agents. It starts with the first of them.
type approvals struct {
	calls   *Calls
	ctx     context.Context //nolint:containedctx // ends with close
	cancel  context.CancelFunc
	start   sync.Once
	done    sync.WaitGroup
	changed await.Signal

	mu   sync.Mutex // guards the fields below
	read bool       // list is the result of the last query
	list []kept
}

// kept is an approval that hasn't been revoked.
type kept struct {
	signed  []byte
	claim   *approval.Claim
	expires time.Time
}

// approvalSet has the approvals for an agent at one time.
type approvalSet struct {
	signed [][]byte // ordered by id
	// until is when the first of them expires; zero means none does.
	until time.Time
}

func (s *approvalSet) equal(other *approvalSet) bool {
	return other != nil && slices.EqualFunc(s.signed, other.signed, bytes.Equal)
}

func (a *approvals) init(c *Calls) {
	a.calls = c
	a.ctx, a.cancel = context.WithCancel(context.Background())
}

// close ends following.
func (a *approvals) close() {
	a.cancel()
	a.start.Do(func() {}) // prevents a later start
	a.done.Wait()
}

// of returns the current approvals for an agent, and a channel that is closed when they may
// have changed, other than by expiry.
func (a *approvals) of(ctx context.Context, agentID string) (*approvalSet, <-chan struct{}, error) {
	a.start.Do(func() { a.done.Go(a.follow) })
	for {
		changed := a.changed.Changed()
		if set := a.now(agentID); set != nil {
			return set, changed, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		case <-a.ctx.Done():
			return nil, nil, a.ctx.Err()
		}
	}
}

// now returns nil if the store hasn't been read yet.
func (a *approvals) now(agentID string) *approvalSet {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.read {
		return nil
	}
	now, set := a.calls.opts.Now(), &approvalSet{}
	for i := range a.list {
		k := &a.list[i]
		if credential.Expired(now, k.expires) || !k.claim.For(agentID) {
			continue
		}
		set.signed = append(set.signed, k.signed)
		set.until = credential.Sooner(set.until, k.expires)
	}
	return set
}

// follow reads the approvals whenever they have changed.
func (a *approvals) follow() {
	revision := int64(-1) // of the approvals
	for a.ctx.Err() == nil {
		at, err := a.calls.opts.Store.Newest(a.ctx)
		if err == nil {
			revision, err = a.load(revision)
		}
		if err == nil {
			err = a.calls.opts.Store.Wait(a.ctx, at)
		}
		pause := approvalsPause
		if err != nil {
			if a.ctx.Err() != nil || errors.Is(err, store.ErrClosed) {
				return
			}
			pause = approvalsAgain
			a.calls.opts.Log.Warn("approvals not read", slog.Any("error", err), slog.Duration("again_in", pause))
		}
		_ = await.Sleep(a.ctx, pause) // the loop checks ctx
	}
}

// load reads the approvals unless they still have the given revision, and returns their
// revision.
func (a *approvals) load(revision int64) (int64, error) {
	list, now, err := a.calls.opts.Store.Approvals(a.ctx, revision)
	if err != nil || list == nil {
		return revision, err
	}
	var live []kept
	for i := range list {
		if !list[i].RevokedAt.IsZero() {
			continue
		}
		claim, err := approval.Inspect(list[i].Signed)
		if err != nil { // from a later version of the hub with the same database
			a.calls.opts.Log.Warn("approval left out", slog.String("approval", list[i].ID), slog.Any("error", err))
			continue
		}
		live = append(live, kept{signed: list[i].Signed, claim: claim, expires: list[i].ExpiresAt})
	}
	a.mu.Lock()
	a.read, a.list = true, live
	a.mu.Unlock()
	a.changed.Notify()
	return now, nil
}
