package toolchain

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// job is one build.
type job struct {
	dir     string // of the source, absolute
	output  string // what a toolchain has to write
	target  string // where that goes when it is done
	temp    string // a directory for it, and for what is made on the way
	stderr  io.Writer
	offline bool
}

// newJob makes a directory next to the target, so that renaming from there is
// one step.
func newJob(dir string, opts Options) (*job, error) {
	j := &job{target: opts.Output, stderr: opts.Stderr, offline: opts.Offline}
	var err error
	if j.dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	if j.target == "" {
		j.target, err = Output(dir)
	} else {
		j.target, err = filepath.Abs(j.target)
	}
	if err != nil {
		return nil, err
	}
	// A dot hides it from the go command and from plugin directories.
	if j.temp, err = os.MkdirTemp(filepath.Dir(j.target), ".building-*"); err != nil {
		return nil, fmt.Errorf("no place for the module: %w", err)
	}
	j.output = filepath.Join(j.temp, "module.wasm")
	return j, nil
}

func (j *job) clean() { _ = os.RemoveAll(j.temp) }

// finish puts the output in its place.
func (j *job) finish() error {
	// gosec: a module is no secret, and others may have to load it.
	if err := os.Chmod(j.output, 0o644); err != nil { //nolint:gosec // see above
		return fmt.Errorf("the toolchain wrote no module: %w", err)
	}
	return os.Rename(j.output, j.target)
}

// run runs a tool in the source directory; env comes on top of this process's
// environment.
func (j *job) run(ctx context.Context, env []string, tool string, args ...string) error {
	cmd := exec.CommandContext(ctx, tool, args...) //nolint:gosec // the toolchains are chosen here
	cmd.Dir = j.dir
	cmd.Env = append(os.Environ(), env...)
	// A tool ends with all that it has started, and with this process.
	cmd.SysProcAttr = group()
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	// It may leave a child behind all the same that holds its standard error open.
	cmd.WaitDelay = waitDelay
	var text bytes.Buffer
	var out io.Writer = &text
	if j.stderr != nil {
		out = io.MultiWriter(j.stderr, &text)
	}
	cmd.Stdout, cmd.Stderr = out, out // one writer: exec then writes from one goroutine
	runtime.LockOSThread()            // the kernel ends it with the thread that started it
	defer runtime.UnlockOSThread()
	err := cmd.Run()
	if err == nil {
		return nil
	}
	return &ToolError{Tool: filepath.Base(tool), Text: strings.TrimSpace(text.String()), Err: err, shown: j.stderr != nil}
}

// findTool finds a tool in PATH. One in the current directory doesn't count.
func findTool(tool string) (path string, ok bool) {
	path, err := exec.LookPath(tool)
	return path, err == nil
}
