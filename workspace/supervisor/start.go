package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"waymark/workspace/launch"
)

// stdio are this process's ends of a child's standard streams.
type stdio struct {
	output *os.File // standard output and standard error
	input  *os.File // nil if standard input isn't open
	tty    bool     // both are the same terminal
}

func (s *stdio) close() {
	if s.input != nil && !s.tty {
		_ = s.input.Close()
	}
	if s.output != nil {
		_ = s.output.Close()
	}
}

// startHeld starts a process that writes to a pipe or a terminal, and returns the other
// end.
func startHeld(r *reaper, spec *Spec) (*child, *stdio, error) {
	if spec.PTY != nil {
		return startTTY(r, spec)
	}
	var ends stdio
	output, w, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = w.Close() }()
	ends.output = output
	var stdin *os.File
	if spec.Stdin {
		stdin, ends.input, err = os.Pipe()
	} else {
		stdin, err = os.Open(os.DevNull)
	}
	if err != nil {
		ends.close()
		return nil, nil, err
	}
	defer func() { _ = stdin.Close() }()
	c, err := startChild(r, spec, []*os.File{stdin, w, w}, false)
	if err != nil {
		ends.close()
		return nil, nil, err
	}
	return c, &ends, nil
}

func startTTY(r *reaper, spec *Spec) (*child, *stdio, error) {
	master, slave, err := pty.Open()
	if err != nil {
		return nil, nil, fmt.Errorf("open a pseudo-terminal: %w", err)
	}
	defer func() { _ = slave.Close() }()
	if err := pty.Setsize(master, &pty.Winsize{Rows: spec.PTY.Rows, Cols: spec.PTY.Cols}); err != nil {
		_ = master.Close()
		return nil, nil, err
	}
	c, err := startChild(r, spec, []*os.File{slave, slave, slave}, true)
	if err != nil {
		_ = master.Close()
		return nil, nil, err
	}
	return c, &stdio{output: master, input: master, tty: true}, nil
}

// startChild starts a process as the leader of a new session.
func startChild(r *reaper, spec *Spec, files []*os.File, tty bool) (*child, error) {
	if spec.Profile != nil || len(spec.Limits) > 0 {
		return startByShim(r, spec, files, tty)
	}
	path, err := lookPath(spec.Argv[0], spec.Dir, spec.Env)
	if err != nil {
		return nil, err
	}
	if err := checkDir(spec.Dir); err != nil {
		return nil, err
	}
	attr := &syscall.ProcAttr{Dir: spec.Dir, Env: spec.Env, Sys: &syscall.SysProcAttr{Setsid: true, Setctty: tty}}
	for _, f := range files {
		attr.Files = append(attr.Files, f.Fd())
	}
	fork := func() (int, error) {
		return syscall.ForkExec(path, spec.Argv, attr) //nolint:gosec // what the caller wants
	}
	if spec.Nice != 0 {
		fork = nicer(spec.Nice, fork)
	}
	c, err := r.start(fork)
	if err != nil {
		return nil, &fs.PathError{Op: "start", Path: path, Err: err}
	}
	// Ignore the error: it isn't worth failing for.
	if spec.OOMScore != 0 {
		_ = setOOMScore(c.pid, spec.OOMScore)
	}
	return c, nil
}

// maxNice is the kernel's maximum.
const maxNice = 19

// nicer forks on its own thread, which has the niceness already, so that the child inherits
// it. Setting it after the fork would be too late for the first children of a fast shell.
// Where threads have no niceness of their own, it is set after the fork.
func nicer(by int, fork func() (int, error)) func() (int, error) {
	return func() (pid int, err error) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			if niceThread(by) {
				pid, err = fork()
				return
			}
			if pid, err = fork(); err == nil {
				_ = unix.Setpriority(unix.PRIO_PGRP, pid, min(niceness()+by, maxNice))
			}
		}()
		<-done
		return pid, err
	}
}

// startByShim starts a process by the shim, which applies its profile and limits. That
// takes some milliseconds longer.
func startByShim(r *reaper, spec *Spec, files []*os.File, tty bool) (*child, error) {
	for range 2 { // a process of the chat may have killed the first starter
		st := r.starters.of(spec)
		if st == nil {
			break
		}
		c, err := byShim(r, spec, files, tty, st)
		if !errors.Is(err, errStarter) {
			return c, err
		}
		r.starters.failed(st)
	}
	return byShim(r, spec, files, tty, nil)
}

// byShim runs the shim, or makes a starter run it.
func byShim(r *reaper, spec *Spec, files []*os.File, tty bool, by *starter) (*child, error) {
	_, args, err := self(launch.Role().Name)
	if err != nil {
		return nil, err
	}
	shim, err := launch.Own(args[1])
	if err != nil {
		return nil, err
	}
	// The process must outlive the call's context.
	cmd, err := shim.Command(context.Background(), &launch.Spec{
		Argv: spec.Argv, Dir: spec.Dir, Env: spec.Env, Profile: spec.Profile, Limits: spec.Limits, Nice: spec.Nice, OOMScore: spec.OOMScore, Terminal: tty, Kin: by != nil,
	})
	if err != nil {
		return nil, err
	}
	if by != nil {
		cmd.Fork = func(spec, answer *os.File) (int, error) {
			return by.fork(append(slices.Clone(files), spec, answer), tty)
		}
	}
	cmd.Cmd.Stdin, cmd.Cmd.Stdout, cmd.Cmd.Stderr = files[0], files[1], files[2]
	return r.start(func() (int, error) {
		if err := cmd.Start(); err != nil {
			return 0, err
		}
		pid := cmd.Cmd.Process.Pid
		return pid, cmd.Cmd.Process.Release() // the reaper waits for it
	})
}

// checkDir checks the directory, because the kernel's error would look as if the program
// didn't exist.
func checkDir(dir string) error {
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = &fs.PathError{Op: "chdir", Path: dir, Err: syscall.ENOTDIR}
	}
	return err
}

// lookPath finds a program as execvp would with this directory and environment, like the
// shim.
func lookPath(name, dir string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		return name, nil // starting it reports any error
	}
	list := "/usr/local/bin:/usr/bin:/bin"
	for _, v := range env {
		if path, ok := strings.CutPrefix(v, "PATH="); ok {
			list = path // the last one wins, as in a shell
		}
	}
	var denied error
	for _, place := range filepath.SplitList(list) {
		if !filepath.IsAbs(place) {
			continue // it would be in the workspace
		}
		path := filepath.Join(place, name)
		info, err := os.Stat(path)
		if err != nil || info.IsDir() {
			continue
		}
		if err := unix.Access(path, unix.X_OK); err != nil {
			denied = &fs.PathError{Op: "start", Path: path, Err: err}
			continue
		}
		return path, nil
	}
	if denied != nil {
		return "", denied
	}
	return "", fmt.Errorf("there is no program %q in PATH: %w", name, fs.ErrNotExist)
}
