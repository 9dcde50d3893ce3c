package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"waymark/hub/store"
)

// What comes at the same time may be stored together: that must not show.
var crowdTests = map[string]func(*testing.T, store.Store){
	"CrowdOneFails": testCrowdOneFails,
	"CrowdLeaves":   testCrowdLeaves,
}

// crowd is how many agents push at the same time, and rounds how often.
const crowd, crowdRounds = 12, 8

// testCrowdOneFails: pushes that are refused, in whatever way, write nothing and don't
// disturb those that come with them.
func testCrowdOneFails(t *testing.T, s store.Store) {
	generations, base := make([]int64, crowd), full(1, skill("kept", "1"))
	for i := range generations {
		generations[i] = agent(t, s, fmt.Sprint(i))
		push(t, s, fmt.Sprint(i), generations[i], base)
	}
	bad := []struct {
		push       store.Push
		generation int64 // beyond the agent's
		err        error
	}{
		{whole(100), 1, store.ErrSuperseded},
		{delta(at(50), 51, nil, skill("new", "x")), 0, store.ErrFullNeeded},
		{delta(base.Update.Name, 51, ids(skill("other", ""))), 0, store.ErrFullNeeded},
		{whole(100, skill("new", "a\x00b"), skill("new", "c")), 0, store.ErrInvalid},
		{store.Push{Snapshot: whole(100, skill("new", "longer")).Snapshot, MaxPayload: 1}, 0, store.ErrInvalid},
	}
	for version := range uint64(crowdRounds) {
		together(func(i int) {
			id := fmt.Sprint(i)
			if i%2 == 0 {
				result, err := s.Push(t.Context(), id, generations[i], whole(version+2, skill("kept", fmt.Sprint(version)), skill(id, fmt.Sprint(version))))
				if err != nil || !result.Accepted {
					t.Errorf("%s: %+v, %v", id, result, err)
				}
				return
			}
			b := bad[(i/2+int(version))%len(bad)]
			if _, err := s.Push(t.Context(), id, generations[i]+b.generation, b.push); !errors.Is(err, b.err) {
				t.Errorf("%s: %v, want %v", id, err, b.err)
			}
		})
	}
	for i := range crowd {
		id, last := fmt.Sprint(i), fmt.Sprint(crowdRounds-1)
		if i%2 == 0 {
			wantResources(t, s, id, crowdRounds+1, skill("kept", last), skill(id, last))
		} else {
			wantResources(t, s, id, 1, skill("kept", "1"))
		}
	}
}

// testCrowdLeaves has callers go in the midst of it. Theirs is stored as a whole or not
// at all, what they were told to be stored is, and those of others are.
func testCrowdLeaves(t *testing.T, s store.Store) {
	generations := make([]int64, crowd)
	for i := range generations {
		generations[i] = agent(t, s, fmt.Sprint(i))
	}
	told := make([]uint64, crowd)
	for version := uint64(1); version <= crowdRounds; version++ {
		ctx, leave := context.WithCancel(t.Context())
		together(func(i int) {
			if i == crowd-1 {
				leave()
				return
			}
			mine := ctx
			if i%2 == 0 {
				mine = t.Context()
			}
			result, err := s.Push(mine, fmt.Sprint(i), generations[i], whole(version, skill("one", fmt.Sprint(version)), skill("two", fmt.Sprint(version))))
			switch {
			case err == nil && result.Accepted:
				told[i] = version
			case err == nil || i%2 == 0 || !errors.Is(err, context.Canceled):
				t.Errorf("%d: %+v, %v", i, result, err)
			}
		})
		leave()
	}
	for i := range crowd - 1 {
		id := fmt.Sprint(i)
		got, err := s.Snapshot(t.Context(), of(id))
		if errors.Is(err, store.ErrNotFound) && told[i] == 0 {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		v := got.Snapshot.Version
		if v < told[i] || i%2 == 0 && v != crowdRounds {
			t.Errorf("%s: version %d is stored, %d was answered", id, v, told[i])
		}
		wantResources(t, s, id, v, skill("one", fmt.Sprint(v)), skill("two", fmt.Sprint(v)))
	}
}

// together calls f for each of a crowd, at the same time.
func together(f func(i int)) {
	var group sync.WaitGroup
	begin := make(chan struct{})
	for i := range crowd {
		group.Go(func() { <-begin; f(i) })
	}
	close(begin)
	group.Wait()
}
