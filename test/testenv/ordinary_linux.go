package testenv

import (
	"errors"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// power are the capabilities with which permissions don't count.
var power = []int{unix.CAP_DAC_OVERRIDE, unix.CAP_DAC_READ_SEARCH}

// powerful reports whether this process may read and list what its permissions
// forbid.
func powerful() bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return os.Geteuid() == 0
	}
	for _, c := range power {
		if data[c/32].Effective&(1<<(c%32)) != 0 {
			return true
		}
	}
	return false
}

// canGiveUp is why giveUp would fail.
func canGiveUp() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return err
	}
	if data[0].Effective&(1<<unix.CAP_SETPCAP) == 0 {
		return errors.New("it lacks CAP_SETPCAP")
	}
	return nil
}

// giveUp begins the program anew without power: what a thread takes out of its
// bounding set the program that it executes doesn't get, not even as root. It
// returns only if that fails.
func giveUp() error {
	runtime.LockOSThread()
	for _, c := range power {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(c), 0, 0, 0); err != nil {
			return err
		}
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	return syscall.Exec(self, os.Args, os.Environ())
}
