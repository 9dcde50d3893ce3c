package toolchain

import "syscall"

// group starts a process in a group of its own, which can be ended as one. The
// kernel ends it when this process is killed.
func group() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
