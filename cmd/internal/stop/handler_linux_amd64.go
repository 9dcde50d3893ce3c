package stop

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// sigaction is the kernel's struct of that name.
type sigaction struct {
	handler, flags, restorer uintptr
	mask                     uint64
}

// The handler, in assembly, needs these.
var (
	signals       uint32    //nolint:unused // that asked the process to end
	runtimeHandle uintptr   //nolint:unused // the Go runtime's handler
	defaultAction sigaction //nolint:unused // what the kernel does by itself
)

// onStopSignal and onTimer return the addresses of the handlers.
func onStopSignal() uintptr
func onTimer() uintptr

// endSignal is what the timers send: SIGXCPU, which nothing else here uses, is
// handled by onTimer, which records the cause and kills.
func endSignal() (unix.Signal, bool) { return unix.SIGXCPU, true }

// handle puts the handlers before those of the Go runtime. All that differs is
// the address: flags, mask and the way back stay the runtime's.
func handle() error {
	for _, h := range []struct {
		signal  unix.Signal
		address uintptr
	}{{unix.SIGXCPU, onTimer()}, {unix.SIGTERM, onStopSignal()}, {unix.SIGINT, onStopSignal()}} {
		var action sigaction
		if err := rtSigaction(h.signal, nil, &action); err != nil {
			return err
		}
		if action.handler <= 1 { // ignored from the start, as after nohup
			continue
		}
		runtimeHandle, action.handler = action.handler, h.address
		if err := rtSigaction(h.signal, &action, nil); err != nil {
			return err
		}
	}
	return nil
}

func rtSigaction(signal unix.Signal, next, last *sigaction) error {
	//nolint:gosec // the kernel's interface
	_, _, errno := unix.Syscall6(unix.SYS_RT_SIGACTION, uintptr(signal), uintptr(unsafe.Pointer(next)), uintptr(unsafe.Pointer(last)), signalSetSize, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// signalSetSize is the size of the mask in a sigaction, in bytes.
const signalSetSize = 8
