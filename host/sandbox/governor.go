package sandbox

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"time"

	"waymark/internal/reexec"
)

const (
	// slice is the fuel that a guest gets at a time: 0.2 to 1.6 ms of work,
	// 40 ms for one that misses every cache. The deadline is checked once per
	// slice. A garbage collection elsewhere waits for at most a slice, since it
	// can't stop the world before the guest comes to the host. A tick costs
	// 0.2 µs.
	slice = 2_000_000
	// sliceShort is a slice of a resolver's run where there is one processor: others have
	// a turn after each, and a collection takes as many turns as the heap has spans.
	// Initializing and describing have whole slices everywhere, since an image holds what
	// is left of the last; and so has a run with limited fuel, so that one which is
	// stopped on one machine is stopped on all.
	sliceShort = slice / 8

	// What host calls do for a guest, in the currency of its own instructions:
	// a byte that is copied or hashed, an entry of a listing, a path that is
	// looked at, a file that is opened.
	fuelPerByte  = 3
	fuelPerFront = 200 // a byte of front matter
	fuelPerRune  = 60  // of text that is cleaned
	fuelPerEntry = 2_000
	fuelPerLook  = 10_000
	fuelPerOpen  = 50_000
	fuelPerWork  = 25 // of vfs.Run.OnWork

	// checkEvery is the fuel of host calls after which the deadline is checked:
	// 50 µs of work.
	checkEvery = 50_000

	// yieldEvery is how often a guest gives way to others where there are several
	// processors. That costs as much as opening a file: another thread is woken, and finds
	// nothing to do. Where there is one, nobody is woken, and everybody waits for it.
	yieldEvery = time.Millisecond
)

// governor bounds one call of a guest: by its deadline, by fuel, and by the
// context of whoever waits. The metered guest asks it for every slice of fuel,
// and every host function that does work for the guest checks in with it. It
// ends the run by a panic, which wazero hands back as the call's error.
//
// Only the goroutine that runs the guest uses it.
type governor struct {
	ctx      context.Context
	time     time.Duration
	deadline time.Time
	used     time.Duration // processor time of the process when the call began
	yielded  time.Time     // when others had their turn
	alone    bool          // there is one processor
	maxFuel  int64         // 0 means no limit
	slice    int64         // what is granted at a time

	granted   int64 // fuel that the guest has been given, what a call before left included
	charged   int64 // fuel used by host calls
	unchecked int64 // of it, since the deadline was last checked
	left      int64 // of what was granted, as the guest last reported

	returned int // how many metered functions have returned
	verdict  *RunError
}

// newGovernor begins a call. A guest keeps what it didn't use of its last
// slice: left says how much that is.
func newGovernor(ctx context.Context, limits Limits, left int64) *governor {
	now := time.Now()
	return &governor{
		ctx: ctx, time: limits.Time, deadline: now.Add(limits.Time), used: reexec.ProcessorTime(), yielded: now,
		alone: runtime.GOMAXPROCS(0) == 1, maxFuel: limits.Fuel, slice: slice, granted: left,
	}
}

// resolves says that the call is a resolver's run.
func (g *governor) resolves() {
	if g.alone && g.maxFuel == 0 {
		g.slice = sliceShort
	}
}

// tick grants the next slice, or ends the run.
func (g *governor) tick() int64 {
	g.check()
	if g.maxFuel > 0 && g.granted+g.charged >= g.maxFuel {
		g.stop(&RunError{Kind: ErrLimit, Detail: fmt.Sprintf("fuel = %d is used up", g.maxFuel)})
	}
	g.granted += g.slice
	return g.slice
}

// charge takes fuel for what a host call does, and checks when it has become
// much.
func (g *governor) charge(fuel int64) {
	g.charged += max(fuel, 0)
	if g.unchecked += max(fuel, 0); g.unchecked >= checkEvery {
		g.check()
	}
}

// check ends the run when its time is over. It yields, because native code
// can't be preempted: with one processor, others would wait for the whole run.
func (g *governor) check() {
	g.unchecked = 0
	now := time.Now()
	if g.alone || now.Sub(g.yielded) >= yieldEvery {
		runtime.Gosched()
		now = time.Now()
		g.yielded = now
	}
	switch {
	case g.ctx.Err() != nil:
		g.stop(&RunError{Kind: ErrCanceled, Detail: g.ctx.Err().Error()})
	case now.After(g.deadline):
		g.stop(g.late())
	}
}

// late is the verdict on a call whose time is over. The deadline is the clock's, since
// somebody waits; but where the whole process was given less than half a processor since
// the call began, the guest need not be to blame.
func (g *governor) late() *RunError {
	verdict := &RunError{Kind: ErrDeadline, Detail: "stopped after " + g.time.String()}
	if used := reexec.ProcessorTime() - g.used; used < g.time/2 {
		verdict.Busy = true
		verdict.Detail += fmt.Sprintf(", in which this machine, which is busy, gave the whole process %s of processor time", used.Round(time.Millisecond))
	}
	return verdict
}

// stop ends the run. The verdict is kept here as well: what wazero makes of a
// panic is for people.
func (g *governor) stop(verdict *RunError) {
	g.verdict = cmp.Or(g.verdict, verdict)
	panic(g.verdict)
}

// done records that a metered function has returned, and what is left of the
// fuel that was granted.
func (g *governor) done(left int64) {
	g.left = left
	g.returned++
}

// fuel is what the call has used. It is exact when the guest returned, and up
// to a slice too much when it was stopped.
func (g *governor) fuel() int64 { return g.granted - g.left + g.charged }
