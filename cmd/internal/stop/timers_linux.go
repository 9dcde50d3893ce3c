package stop

import (
	"os"
	"os/signal"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// timerSpec is the kernel's struct itimerspec.
type timerSpec struct {
	everySec, everyNsec int64
	sec, nsec           int64
}

// signalEvent is the kernel's struct sigevent.
type signalEvent struct {
	value  uint64
	signo  int32
	notify int32
	_      [48]byte
}

// The handler in handler_linux_amd64.s uses these. They belong to the process,
// as its signals do.
var (
	killTimer  int32         = -1          // ends the process some time after the first signal
	killSpec                 = timerSpec{} //
	bites      uint32                      // expiries of the watchdog since the last beat
	unattached Words                       //
	words      = &unattached               // what is left behind
)

// cpuTimer is the watchdog; -1 while there is none.
var cpuTimer int32 = -1

// guard makes the timers, and puts the handler before those of the Go runtime,
// which must have been set already. It reports whether the
// handler arms the first timer by itself now.
func guard() bool {
	setKillAfter(killAfter)
	signo, handled := endSignal()
	var err error
	if killTimer, err = newTimer(unix.CLOCK_MONOTONIC, signo, CauseLate); err != nil {
		return false // out of resources: goroutines have to do what they can
	}
	if cpuTimer, err = newTimer(unix.CLOCK_PROCESS_CPUTIME_ID, signo, CauseStuck); err != nil {
		return false
	}
	return handled && handle() == nil
}

// newTimer makes a timer that sends a signal with a cause as its value.
func newTimer(clock int32, signo unix.Signal, cause Cause) (int32, error) {
	event := signalEvent{value: uint64(cause), signo: int32(signo)} //nolint:gosec // below 65
	var id int32
	_, _, errno := unix.Syscall(unix.SYS_TIMER_CREATE, uintptr(clock), uintptr(unsafe.Pointer(&event)), uintptr(unsafe.Pointer(&id))) //nolint:gosec // the kernel's interface
	if errno != 0 {
		return -1, errno
	}
	return id, nil
}

// timerAfter is for a timer that expires after a time, and then again and again.
func timerAfter(d, every time.Duration) *timerSpec {
	return &timerSpec{int64(every / time.Second), int64(every % time.Second), int64(d / time.Second), int64(d % time.Second)}
}

func arm(id int32, spec *timerSpec) {
	if id >= 0 {
		_, _, _ = unix.Syscall6(unix.SYS_TIMER_SETTIME, uintptr(id), 0, uintptr(unsafe.Pointer(spec)), 0, 0, 0) //nolint:gosec // the kernel's interface
	}
}

// setKillAfter says how long after the first signal the process is killed.
func setKillAfter(d time.Duration) {
	// The handler may run in between; either part is as good as the other.
	atomic.StoreInt64(&killSpec.nsec, int64(d%time.Second))
	atomic.StoreInt64(&killSpec.sec, int64(d/time.Second))
}

// armKill is what the handler does where there is none.
func armKill() { arm(killTimer, &killSpec) }

// putOff lets the watchdog bite when the process has used so much more
// processor time.
func putOff(d time.Duration) {
	atomic.StoreUint32(&bites, 0)
	arm(cpuTimer, timerAfter(d, biteAgain/Haste))
}

// beatSignal is what the timer of beats sends. Nothing else here uses it.
const beatSignal = unix.SIGVTALRM

// whenWorked sends whenever the process has used so much more processor time. It is
// nil when there is no timer for that.
func whenWorked(d time.Duration) <-chan os.Signal {
	worked := make(chan os.Signal, 1)
	signal.Notify(worked, beatSignal) // before there is one, which would end the process
	id, err := newTimer(unix.CLOCK_PROCESS_CPUTIME_ID, beatSignal, 0)
	if err != nil {
		return nil
	}
	arm(id, timerAfter(d, d))
	return worked
}

func setWords(w *Words) { atomic.StorePointer(wordsAt(), unsafe.Pointer(w)) } //nolint:gosec // a pointer that the handler reads

func wordsAt() *unsafe.Pointer { return (*unsafe.Pointer)(unsafe.Pointer(&words)) } //nolint:gosec // as above

// recordForced does what the handler does, for an end by a goroutine.
func recordForced() {
	w := (*Words)(atomic.LoadPointer(wordsAt()))
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &now) == nil {
		w[3], w[4] = uint64(now.Sec), uint64(now.Nsec) //nolint:gosec // never negative
	}
	atomic.StoreUint32((*uint32)(unsafe.Pointer(&w[0])), uint32(CauseForced)) //nolint:gosec // as the handler does
}
