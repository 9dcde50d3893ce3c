//go:build !linux

package launch

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// Supported returns an error: profiles require Linux.
func Supported() (abi int, err error) {
	return 0, fmt.Errorf("%w: that takes Linux, and this is %s", ErrUnsupported, runtime.GOOS)
}

// ScopeSignals returns an error: it requires Linux.
func ScopeSignals() error {
	_, err := Supported()
	return err
}

func confine(*Profile, bool) (*os.File, error) {
	_, err := Supported()
	return nil, err
}

func decide(listener *os.File) { _ = listener.Close() }

func hasFilter() bool { return false }

// HoldsSignals reports false.
func HoldsSignals() bool { return false }

func closeRange() error { return errors.ErrUnsupported }

func niceness() (int, error) { return unix.Getpriority(unix.PRIO_PROCESS, 0) }

func setOOMScore(int) error { return nil }

// endGroup does nothing: processes that a program leaves behind keep running.
func endGroup(int) {}
