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
	// slice is the fuel that a guest gets at a time: 0.2 to 1.6 ms of work, 40 ms for one
	// that misses every cache. The deadline is checked once per slice. A garbage collection
	// elsewhere waits for at most a slice, because it can't stop the world before the guest
	// calls the host. A tick costs 0.2 µs.
	slice = 2_000_000
	// sliceShort is the slice of a resolver's run on a machine with one processor. Other
	// goroutines run after each slice, and a collection needs as many of these pauses as the
	// heap has spans. Initializing and describing always use whole slices, because an image
	// holds what is left of the last one. So does a run with limited fuel, so that it is
	// stopped on every machine or on none.
	sliceShort = slice / 8

	// The cost of host calls, in units of the guest's own instructions: a byte that is copied
	// or hashed, an entry of a listing, a path that is looked at, a file that is opened.
	fuelPerByte  = 3
	fuelPerFront = 200 // a byte of front matter
	fuelPerRune  = 60  // of text that is cleaned
	fuelPerEntry = 2_000
	fuelPerLook  = 10_000
	fuelPerOpen  = 50_000
	fuelPerWork  = 25 // of vfs.Run.OnWork

	// checkEvery is the fuel of host calls after which the deadline is checked: 50 µs of
	// work.
	checkEvery = 50_000

	// yieldEvery is how often a guest yields on a machine with several processors. Yielding
	// costs as much as opening a file: it wakes another thread, which finds nothing to do.
	// With a single processor no thread is woken, and all others wait for this one.
	yieldEvery = time.Millisecond
)

// governor bounds one call of a guest: by its deadline, by fuel, and by the caller's context.
// The metered guest asks it for every slice of fuel, and every host function that works for
// the guest charges it. It ends the run by a panic, which wazero returns as the call's error.
//
// Only the goroutine that runs the guest uses it.
type governor struct {
	ctx      context.Context
	time     time.Duration
	deadline time.Time
	used     time.Duration // processor time of the process when the call began
	yielded  time.Time     // when others last ran
	alone    bool          // whether there is only one processor
	again    int           // how often the deadline may be postponed because the machine is busy
	maxFuel  int64         // 0 means no limit
	slice    int64         // granted at a time

	granted   int64 // fuel given to the guest, including the rest of an earlier call
	charged   int64 // fuel used by host calls
	unchecked int64 // the part of it since the last check of the deadline
	left      int64 // of granted, as last reported by the guest

	returned int // how many metered functions have returned
	verdict  *RunError
}

// newGovernor begins a call. left is what the guest didn't use of its last slice, and keeps.
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

// charge takes fuel for a host call, and checks the deadline every checkEvery.
func (g *governor) charge(fuel int64) {
	g.charged += max(fuel, 0)
	if g.unchecked += max(fuel, 0); g.unchecked >= checkEvery {
		g.check()
	}
}

// check ends the run when its time is over. It yields, because native code can't be
// preempted: with one processor, others would wait for the whole run.
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
		verdict := g.late()
		if !verdict.Busy || g.again == 0 {
			g.stop(verdict)
		}
		g.again--
		g.deadline, g.used = now.Add(g.time), reexec.ProcessorTime()
	}
}

// ownWaits is how often the deadline of the program's own module is postponed on a machine that
// gave it too little: without it nothing is found, and that it asks for fuel shows that it makes
// progress. With a tenth of a processor it may use six times its time.
const ownWaits = 60

// late returns the error for a call whose time is over. The deadline is in wall-clock time,
// because somebody is waiting. But if the whole process got less than half a processor since
// the call began, the guest may not be to blame.
func (g *governor) late() *RunError {
	verdict := &RunError{Kind: ErrDeadline, Detail: "stopped after " + g.time.String()}
	if used := reexec.ProcessorTime() - g.used; used < g.time/2 {
		verdict.Busy = true
		verdict.Detail += fmt.Sprintf(", in which this machine, which is slow or busy, gave the whole process %s of processor time", used.Round(time.Millisecond))
	}
	return verdict
}

// stop ends the run. It keeps the verdict, because what wazero makes of a panic is meant for
// people.
func (g *governor) stop(verdict *RunError) {
	g.verdict = cmp.Or(g.verdict, verdict)
	panic(g.verdict)
}

// done records that a metered function has returned, and how much of the granted fuel is
// left.
func (g *governor) done(left int64) {
	g.left = left
	g.returned++
}

// fuel returns what the call has used. It is exact if the guest returned, and up to a slice
// too high if it was stopped.
func (g *governor) fuel() int64 { return g.granted - g.left + g.charged }
