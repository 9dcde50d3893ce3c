package stop

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	// Bound is the time from the first signal to the end of the process.
	Bound = 5 * time.Second
	// forceAfter is how much of it a program has to end in good order. The kernel's
	// timer comes after killAfter, when ending by force didn't work either.
	forceAfter, killAfter = 4 * time.Second, 4700 * time.Millisecond

	// beatEvery is how much processor time lies between two beats, which put the
	// watchdog off: a process that rests isn't woken up for them. It is time on the
	// clock where the system has no timer for the other.
	beatEvery = time.Second
	// The watchdog bites when the process has used biteAfter of processor time
	// since the last beat, and biteAfterEach more for each processor, all of which
	// may be busy between a beat's signal and the goroutine that it wakes.
	biteAfter, biteAfterEach = 3 * time.Second, 2 * time.Second
	// It bites three times, biteAgain apart, before it kills: a clock that jumps, as
	// after a pause of a virtual machine, makes it bite once.
	biteAgain = time.Second
)

// Haste divides these times, all of which a test that has the watchdog bite uses up.
// Set it before Main.
var Haste time.Duration = 1

// Words are what a process that is ended by force leaves behind. They can be in
// memory that outlives it, such as a mapped file. The first is a Cause in the
// lower half of the word; two pairs follow, seconds and nanoseconds of
// processor time that the process had used at the first signal, and at its end.
type Words [5]uint64

// Cause is why a process ended by force.
type Cause uint32

// The causes. 0 is none: the process was ended from outside, or crashed.
const (
	// CauseStuck: it used processor time, and no goroutine ran.
	CauseStuck Cause = 1
	// CauseLate: a signal asked it to end, and no goroutine ran that could have
	// done so in time.
	CauseLate Cause = 2
	// CauseAgain: a second signal came.
	CauseAgain Cause = 3
	// CauseForced: a signal asked it to end, and something in it didn't.
	CauseForced Cause = 4
)

// Main runs a program and ends the process with the code that it returns. The
// context ends with the first SIGINT or SIGTERM. Call it once, from main.
func Main(run func(ctx context.Context) int) {
	ctx, cancel := context.WithCancel(context.Background())
	s := &stopper{}
	s.within.Store(int64(forceAfter))
	ctx = context.WithValue(ctx, key{}, s)
	signals := make(chan os.Signal, 2) // the second may come before the first is seen
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	s.guarded = guard()
	putOff(untilBite()) // the goroutine that does it from now on may never run
	go s.beats()
	go s.obey(signals, cancel)
	code := run(ctx)
	cancel()
	os.Exit(code)
}

// key is the context key of the stopper.
type key struct{}

// stopper is what Main has set up.
type stopper struct {
	within  atomic.Int64 // the time for coming to an end, in nanoseconds
	guarded bool         // the handler arms the first timer, without a goroutine
	beat    atomic.Pointer[func()]
}

func stopperOf(ctx context.Context) *stopper {
	s, _ := ctx.Value(key{}).(*stopper)
	return s
}

// Allow gives the program more time to come to an end in good order, or less;
// Bound comes to it in any case. It holds for signals that come later. Outside
// of Main it does nothing.
func Allow(ctx context.Context, d time.Duration) {
	if s := stopperOf(ctx); s != nil {
		s.within.Store(int64(d))
		setKillAfter(d + killAfter - forceAfter)
	}
}

// Attach has words written to when the process ends by force, and beat called
// about each second that the process works, for as long as goroutines run. Outside
// of Main it does nothing.
func Attach(ctx context.Context, words *Words, beat func()) {
	if s := stopperOf(ctx); s != nil {
		s.beat.Store(&beat)
		setWords(words)
	}
}

// obey waits for the signals.
func (s *stopper) obey(signals <-chan os.Signal, cancel context.CancelFunc) {
	first := <-signals
	came := time.Now()
	if !s.guarded {
		armKill()
	}
	cancel()
	late := time.NewTimer(time.Duration(s.within.Load()))
	select {
	case <-late.C:
		s.force(first, time.Since(came))
	case again := <-signals:
		die(again)
	}
}

// messageTime is how long writing the last message may take: standard error may
// be what hangs.
const messageTime = 200 * time.Millisecond

// force ends the process.
func (s *stopper) force(first os.Signal, since time.Duration) {
	recordForced()
	written := make(chan struct{})
	go func() { // nobody waits for it: the process ends
		defer close(written)
		_, _ = fmt.Fprintf(os.Stderr, "%s: ended by force: %s came %s ago, and something doesn't come to its end\n",
			filepath.Base(os.Args[0]), first, since.Round(10*time.Millisecond))
	}()
	select {
	case <-written:
	case <-time.After(messageTime):
	}
	os.Exit(1)
}

// die ends the process as the signal would have without us, at once: whoever
// sends a second one doesn't want to wait for what is under way.
func die(again os.Signal) {
	signal.Reset(again)
	if number, ok := again.(syscall.Signal); ok {
		_ = syscall.Kill(os.Getpid(), number)
	}
}

// untilBite is the processor time from a beat until the watchdog bites.
func untilBite() time.Duration {
	return (biteAfter + time.Duration(runtime.GOMAXPROCS(0))*biteAfterEach) / Haste
}

// beats puts off the watchdog, for as long as the process lives.
func (s *stopper) beats() {
	worked := whenWorked(beatEvery / Haste)
	var tick <-chan time.Time
	if worked == nil {
		tick = time.NewTicker(beatEvery).C
	}
	for {
		putOff(untilBite())
		if beat := s.beat.Load(); beat != nil {
			(*beat)()
		}
		select {
		case <-worked:
		case <-tick:
		}
	}
}
