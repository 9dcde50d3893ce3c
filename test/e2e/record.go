package e2e

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"waymark/hub/store"
	"waymark/internal/await"
)

// Record is a store that notes what is stored. It is embedded so that
// everything but Push goes its usual way.
type Record struct {
	store.Store

	changed await.Signal // list has grown

	mu   sync.Mutex // guards list
	list []Stored
}

// Stored is one push that was accepted.
type Stored struct {
	// At is the time when it had been stored.
	At         time.Time
	AgentID    string
	Generation int64
	Revision   int64
	// Push is what came, with the payloads that had come before. It is shared, and not to
	// be changed.
	Push store.Push
	// First says that it is the first one of its session.
	First bool
}

// Push implements store.Store.
func (r *Record) Push(ctx context.Context, agentID string, generation int64, push store.Push) (store.PushResult, error) {
	result, err := r.Store.Push(ctx, agentID, generation, push)
	if err != nil || !result.Accepted {
		return result, err
	}
	ctx = context.WithoutCancel(ctx) // what is stored is noted, whatever became of who sent it
	s := Stored{At: time.Now(), AgentID: agentID, Generation: generation, Revision: result.Revision, Push: push}
	list := slices.Clone(push.Snapshot.Resources)
	for i := range push.Bodies {
		if list[i].Payload != nil {
			continue
		}
		if list[i].Payload, err = r.ResourceBody(ctx, store.Query{AgentID: agentID, Revision: result.Revision}, list[i].ID()); err != nil {
			return result, err
		}
	}
	s.Push.Snapshot.Resources = list
	defer r.changed.Notify()
	r.mu.Lock()
	defer r.mu.Unlock()
	s.First = !slices.ContainsFunc(r.list, func(before Stored) bool { return before.AgentID == agentID && before.Generation == generation })
	r.list = append(r.list, s)
	return result, nil
}

// All returns the pushes so far, in the order in which they were stored, and a
// channel that is closed when there is another.
func (r *Record) All() ([]Stored, <-chan struct{}) {
	more := r.changed.Changed()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.list[:len(r.list):len(r.list)], more
}

// Await returns the first push after the first n that fulfills a condition, and
// how many there were up to it.
func (r *Record) Await(ctx context.Context, n int, ok func(*Stored) bool) (Stored, int, error) {
	for {
		list, more := r.All()
		for ; n < len(list); n++ {
			if ok(&list[n]) {
				return list[n], n + 1, nil
			}
		}
		select {
		case <-more:
		case <-ctx.Done():
			return Stored{}, n, fmt.Errorf("no such push among %d: %w", n, ctx.Err())
		}
	}
}
