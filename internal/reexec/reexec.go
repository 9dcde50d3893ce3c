// Package reexec starts this program again as a child that does one thing, such as compiling
// an untrusted module. One binary then suffices, and the child is of the same version.
//
// A program names its roles once, in the first call of main:
//
//	program := reexec.Main(sandbox.CompileRole())
//
// In a child that call runs the role and doesn't return. Code that starts children takes the
// Program, which proves that the call was made: without it a child would run the whole
// program again, and start children of its own.
//
// # Guarantees
//
//   - A child is the running version, even if its file has been replaced since.
//   - It has no environment and only its role's arguments. It is in a process group of its
//     own, so that it doesn't get the terminal's Ctrl-C, and is killed with the whole group
//     when its context ends.
//   - On Linux the kernel ends it with the thread that started it. Lock the goroutine to its
//     thread from before Start until Wait has returned; otherwise the end of an idle thread
//     ends the child.
//
// # Limits
//
// The child calls Confine and WatchMemory itself. They keep an accident from affecting the
// machine; they are no sandbox.
//
// # Concurrency
//
// Main is called once, before anything else. A Program may be used by any number of
// goroutines.
package reexec

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
)

// prefix makes a role an argument that no command has.
const prefix = "waymark:"

// Role is one thing that a program does as a child.
type Role struct {
	// Name identifies the role. It is visible in process lists.
	Name string
	// Main runs the role with the arguments given to Command, and returns the exit code.
	// Nothing else of the program has run.
	Main func(args []string) int
}

// Program is a program with the roles that it has named. A nil Program has none.
type Program struct{ roles []string }

// Main is the first call of main, and of TestMain in tests that start children. In a child it
// runs the role and exits.
func Main(roles ...Role) *Program {
	p := &Program{}
	for _, role := range roles {
		if len(os.Args) > 1 && os.Args[1] == prefix+role.Name {
			os.Exit(role.Main(os.Args[2:]))
		}
		p.roles = append(p.roles, role.Name)
	}
	return p
}

// Has reports whether the program can be started in this role.
func (p *Program) Has(role string) bool { return p != nil && slices.Contains(p.roles, role) }

// Command returns the program as a child in one of its roles, ready to be started: without
// input, output and environment, in the root directory. When ctx ends it is killed with its
// group. It fails if there is no such role, or if the program can't find itself.
func (p *Program) Command(ctx context.Context, role string, args ...string) (*exec.Cmd, error) {
	if !p.Has(role) {
		return nil, fmt.Errorf("this program can't start itself as %q: its main doesn't call reexec.Main with that role", role)
	}
	path, err := Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, path, append([]string{prefix + role}, args...)...) //nolint:gosec // this very program
	cmd.Dir, cmd.Env = "/", []string{}
	cmd.SysProcAttr = ownGroup()
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return cmd, nil
}

// Executable returns a path of the running program that works even if its file has been
// replaced or removed.
func Executable() (string, error) {
	const self = "/proc/self/exe"
	if runtime.GOOS == "linux" {
		if _, err := os.Stat(self); err == nil {
			return self, nil
		}
	}
	path, err := os.Executable()
	return filepath.Clean(path), err
}

// CommandLine returns the command for one of the program's roles, for callers that don't
// start it as a child that ends with this process.
func (p *Program) CommandLine(role string) ([]string, error) {
	if !p.Has(role) {
		return nil, fmt.Errorf("this program can't start itself as %q: its main doesn't call reexec.Main with that role", role)
	}
	path, err := Executable()
	if err != nil {
		return nil, err
	}
	return []string{path, prefix + role}, nil
}
