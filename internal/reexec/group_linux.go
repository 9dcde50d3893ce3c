package reexec

import "syscall"

// ownGroup puts a child into a process group of its own, and has the kernel end it with the
// thread that started it, because a stopped child doesn't notice the end of its standard
// input.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
