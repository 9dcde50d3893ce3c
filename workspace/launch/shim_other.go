//go:build !linux

package launch

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// Supported says that it isn't.
func Supported() (abi int, err error) {
	return 0, fmt.Errorf("%w: that takes Linux, and this is %s", ErrUnsupported, runtime.GOOS)
}

// ScopeSignals says that it can't.
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

// HoldsSignals reports that nothing can.
func HoldsSignals() bool { return false }

func closeRange() error { return errors.ErrUnsupported }

func niceness() (int, error) { return unix.Getpriority(unix.PRIO_PROCESS, 0) }

func setOOMScore(int) error { return nil }

// endGroup does nothing: what a program leaves behind lives on.
func endGroup(int) {}
