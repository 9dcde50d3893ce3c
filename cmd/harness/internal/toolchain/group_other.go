//go:build !linux

package toolchain

import "syscall"

// group starts a process in a group of its own, which can be ended as one.
func group() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
