package sandbox

import (
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"waymark/host/sandbox/codecache"
	"waymark/internal/reexec"
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

// TestLate: a call whose time is over is stopped, and the machine is to blame where it gave
// the process less than half a processor.
func TestLate(t *testing.T) {
	g := newGovernor(t.Context(), Limits{Time: time.Hour}, 0)
	for _, tt := range []struct {
		used time.Duration // since the call began
		busy bool
	}{{0, true}, {29 * time.Minute, true}, {40 * time.Minute, false}, {3 * time.Hour, false}} {
		g.used = reexec.ProcessorTime() - tt.used
		verdict := g.late()
		text := verdict.Error()
		if !errors.Is(verdict, ErrDeadline) || verdict.Busy != tt.busy || !strings.Contains(text, "stopped after 1h0m0s") || strings.Contains(text, "busy") != tt.busy {
			t.Errorf("after %s of processor time: %+v", tt.used, verdict)
		}
		var reject *RejectError
		if err := undescribed(verdict); !errors.As(err, &reject) || !errors.Is(err, ErrDeadline) || strings.Contains(reject.Hint, "try again") != tt.busy {
			t.Errorf("describe, after %s: %v", tt.used, err)
		}
	}
}

// TestWaits: the deadline of a call that may wait is postponed as often as it may, while the
// machine gives it too little; and not where it has used its time.
func TestWaits(t *testing.T) {
	for _, busy := range []bool{true, false} {
		g := newGovernor(t.Context(), Limits{Time: time.Hour}, 0)
		g.again = 2
		checks := 0
		func() {
			defer func() { _ = recover() }()
			for g.verdict == nil {
				g.deadline = time.Now().Add(-time.Second)
				if !busy {
					g.used = reexec.ProcessorTime() - time.Hour
				}
				g.check()
				checks++
			}
		}()
		if want := map[bool]int{true: 2, false: 0}[busy]; checks != want || g.verdict == nil || g.verdict.Busy != busy {
			t.Errorf("busy %v: postponed %d times, want %d; %+v", busy, checks, want, g.verdict)
		}
	}
}

// TestBusyIsNoRejection: nobody's module is refused for what a busy machine didn't do.
func TestBusyIsNoRejection(t *testing.T) {
	if err := asReject(&codecache.BusyError{}); errors.Is(err, ErrRejected) {
		t.Error(err)
	}
	if err := asReject(&codecache.LimitError{What: "processor time"}); !errors.Is(err, ErrRejected) || errors.Is(err, ErrDeadline) {
		t.Error(err)
	}
}
