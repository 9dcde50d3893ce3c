//go:build linux && !amd64

package stop

import "golang.org/x/sys/unix"

// endSignal is what the timers send: without a handler it is what kills.
func endSignal() (unix.Signal, bool) { return unix.SIGKILL, false }

func handle() error { return unix.ENOSYS }
