package sandbox

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// TestGivesWay: where there is one processor, others have a turn after every slice of a
// resolver, which is short. What initializes and describes has whole ones: what is left of
// the last is in images, which are the same whoever made them.
func TestGivesWay(t *testing.T) {
	for _, test := range []struct {
		processors int
		resolves   bool
		want       int64 // fuel of a slice
	}{{1, true, sliceShort}, {1, false, slice}, {2, true, slice}, {2, false, slice}} {
		turns, granted := turnsIn(t, test.processors, test.resolves, 100)
		if granted != 100*test.want {
			t.Errorf("%+v: %d of fuel in 100 slices", test, granted)
		}
		if test.processors == 1 && turns < 50 {
			t.Errorf("%+v: %d turns of others while a guest had 100 slices", test, turns)
		}
	}
}

// turnsIn counts how often another goroutine has its turn while a guest gets so many
// slices, and their fuel.
func turnsIn(t *testing.T, processors int, resolves bool, slices int) (turns, granted int64) {
	t.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
	var count atomic.Int64
	var over atomic.Bool
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for !over.Load() {
			count.Add(1)
			runtime.Gosched()
		}
	}()
	g := newGovernor(t.Context(), Limits{Time: time.Minute}, 0)
	if resolves {
		g.resolves()
	}
	before := count.Load()
	for range slices {
		granted += g.tick()
	}
	turns = count.Load() - before
	over.Store(true)
	<-ended
	return turns, granted
}

// TestLimitedFuelIsTheSameEverywhere: how much a run with limited fuel may use doesn't
// depend on the number of processors.
func TestLimitedFuelIsTheSameEverywhere(t *testing.T) {
	const most = slice + slice/2
	used := map[int]int64{}
	for _, processors := range []int{1, 2} {
		func() {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
			g := newGovernor(t.Context(), Limits{Time: time.Minute, Fuel: most}, 0)
			g.resolves()
			defer func() {
				if recover() == nil {
					t.Error("the fuel has no end")
				}
				used[processors] = g.granted
			}()
			for range 100 {
				g.tick()
			}
		}()
	}
	if used[1] != 2*slice || used[2] != 2*slice { // what is asked for last is given whole
		t.Errorf("%d are granted with one processor, %d with two, want %d", used[1], used[2], 2*slice)
	}
}
