package sandbox

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// TestGivesWay: where there is one processor, others have a turn after every slice, which
// is short; where there are more, once in a while.
func TestGivesWay(t *testing.T) {
	for _, processors := range []int{1, 2} {
		turns, granted := turnsIn(t, processors, 100)
		switch processors {
		case 1:
			if turns < 50 || granted != 100*sliceShort {
				t.Errorf("%d turns of others while a guest had 100 slices, %d of fuel", turns, granted)
			}
		default:
			if granted != 100*slice {
				t.Errorf("%d of fuel in 100 slices", granted)
			}
		}
	}
}

// turnsIn counts how often another goroutine has its turn while a guest gets so many
// slices, and their fuel.
func turnsIn(t *testing.T, processors, slices int) (turns, granted int64) {
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
