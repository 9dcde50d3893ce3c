package reexec

import "syscall"

// ownGroup puts a child into a process group of its own, and has the kernel end
// it with the thread that started it: a child that is stopped doesn't notice
// that its standard input has ended.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
