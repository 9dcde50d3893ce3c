//go:build !linux

package pgtest

import "syscall"

// dieWithParent has no counterpart outside Linux.
func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }

// children aren't known outside Linux; a server's end themselves when it is
// gone.
func children(int) []int { return nil }
