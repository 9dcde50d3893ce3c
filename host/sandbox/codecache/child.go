package codecache

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"waymark/internal/reexec"
	"waymark/internal/text"
)

const roleName = "compile"

// Role is what a program does as a child that compiles one module. A program
// that gives it to reexec.Main may be Options.Program.
func Role(rewrite Rewriter) reexec.Role {
	return reexec.Role{Name: roleName, Main: func([]string) int { return runChild(rewrite) }}
}

// job is what a child reads first, on one line, before the module.
type job struct {
	Recipe Recipe
	Limits Limits
	Size   int64 // of the module, in bytes
}

// report is what a child writes when it fails.
type report struct {
	Limit string // which limit it ran into
	Stage string // "rewrite" or "compile" when the module is at fault
	Text  string
}

const (
	// maxOutput bounds what is kept of a child's standard output and error, each.
	maxOutput = 4 << 10
	// killDelay is how long the pipes of a child that has ended may stay open.
	// They end with it; but what it wrote last is still to be read, by a process
	// that may stand still for a moment.
	killDelay = 30 * time.Second
)

// compileInChild has a child fill the scratch directory.
func compileInChild(ctx context.Context, program *reexec.Program, s *scratch, wasm []byte, recipe Recipe, limits Limits) (_, _ []byte, err error) {
	header, err := json.Marshal(job{recipe, limits, int64(len(wasm))})
	if err != nil {
		return nil, nil, err
	}
	timed, cancel := context.WithTimeout(ctx, limits.Wait)
	defer cancel()
	cmd, err := program.Command(timed, roleName)
	if err != nil {
		return nil, nil, err
	}
	cmd.Dir, cmd.WaitDelay = s.path, killDelay
	stdout, stderr := &text.Head{Max: maxOutput}, &text.Head{Max: maxOutput}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	runtime.LockOSThread() // the thread that the child ends with lives at least as long
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		return nil, nil, fmt.Errorf("the process that compiles can't be started: %w", err)
	}
	sent := make(chan struct{})
	go func() { // ends when the child has read all, or is gone
		defer close(sent)
		_, _ = io.Copy(stdin, io.MultiReader(bytes.NewReader(append(header, '\n')), bytes.NewReader(wasm)))
	}()
	err = cmd.Wait() // closes stdin, too
	<-sent
	if err != nil {
		return nil, nil, explain(ctx, timed, limits, err, stdout.Bytes(), stderr.String())
	}
	rewritten, err := s.read(packWasm, partMax)
	if err != nil {
		return nil, nil, err
	}
	meta, err := s.read(packMeta, metaMax)
	return rewritten, meta, err
}

// explain says why a child failed, in one line.
func explain(ctx, timed context.Context, limits Limits, err error, stdout []byte, stderr string) error {
	var r report
	var exit *exec.ExitError
	_ = json.Unmarshal(stdout, &r)
	first, _, _ := strings.Cut(strings.TrimSpace(stderr), "\n")
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case r.Limit != "":
		return limits.exceeded(r.Limit)
	case signaled(err, syscall.SIGKILL) && used(err) >= limits.Time: // before the child noticed
		return limits.exceeded("time")
	case timed.Err() != nil:
		return &BusyError{limits.Wait, used(err)}
	// The kernel says no, or kills, before the child notices.
	case outOfMemory(stderr), signaled(err, syscall.SIGKILL):
		return limits.exceeded("memory")
	case r.Stage != "":
		return &ModuleError{r.Stage, r.Text}
	case r.Text != "":
		return fmt.Errorf("compiling in a process of its own: %s", r.Text)
	case errors.As(err, &exit) && first != "":
		return &ModuleError{"compile", "the compiler crashed: " + first}
	}
	return fmt.Errorf("compiling in a process of its own: %w", err)
}

// outOfMemory recognizes the last words of Go's runtime, with and without cgo,
// and of the race detector's. A thread that can't be made has got no stack.
func outOfMemory(stderr string) bool {
	return slices.ContainsFunc([]string{
		"out of memory", "cannot allocate memory", "failed to allocate", "failed to create new OS thread", "pthread_create failed",
	}, func(words string) bool { return strings.Contains(stderr, words) })
}

// used is the processor time of a child that has failed.
func used(err error) time.Duration {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return 0
	}
	return exit.UserTime() + exit.SystemTime()
}

func signaled(err error, sig syscall.Signal) bool {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == sig
}

// runChild is all that a child does. Its working directory is the scratch
// directory; it returns the exit code.
func runChild(rewrite Rewriter) int {
	debug.SetTraceback("none")
	var once sync.Once // only the first verdict is written
	verdict := func(r report) {
		once.Do(func() {
			r.Text = text.Line(r.Text, maxErrorText)
			_ = json.NewEncoder(os.Stdout).Encode(r)
			os.Exit(1)
		})
	}
	in := bufio.NewReaderSize(os.Stdin, 64<<10)
	j, wasm, err := readJob(in)
	if err != nil {
		verdict(report{Text: err.Error()})
	}
	go func() { // the parent keeps the pipe open for as long as it is interested
		_, _ = in.ReadByte()
		os.Exit(1)
	}()
	go reexec.WatchMemory(j.Limits.Memory, func() { verdict(report{Limit: "memory"}) })
	go reexec.WatchTime(j.Limits.Time, func() { verdict(report{Limit: "time"}) })
	if err := work(j, wasm, rewrite); err != nil {
		verdict(failure(err))
	}
	return 0
}

func readJob(in *bufio.Reader) (job, []byte, error) {
	var j job
	line, err := in.ReadSlice('\n')
	if err != nil {
		return j, nil, err
	}
	if err := json.Unmarshal(line, &j); err != nil {
		return j, nil, err
	}
	if err := reexec.Confine(reexec.Limits{Time: j.Limits.Time, Memory: j.Limits.Memory, Output: j.Limits.Output}); err != nil {
		return j, nil, err
	}
	if j.Size < 0 || j.Size > partMax {
		return j, nil, errors.New("a module of an impossible size")
	}
	wasm := make([]byte, j.Size)
	_, err = io.ReadFull(in, wasm)
	return j, wasm, err
}

func work(j job, wasm []byte, rewrite Rewriter) error {
	rewritten, meta, err := compileIn(context.Background(), workDir(), wasm, j.Recipe, rewrite, j.Limits.Workers)
	if err != nil {
		return err
	}
	if err := os.WriteFile(packMeta, meta, 0o600); err != nil {
		return err
	}
	return os.WriteFile(packWasm, rewritten, 0o600)
}

// workDir is the working directory, whatever became of its parents.
func workDir() string {
	if runtime.GOOS == "linux" {
		if _, err := os.Stat("/proc/self/cwd"); err == nil {
			return "/proc/self/cwd"
		}
	}
	return "."
}

func failure(err error) report {
	var module *ModuleError
	var file *fs.PathError
	switch {
	case errors.Is(err, unix.EFBIG):
		return report{Limit: "output"}
	case errors.Is(err, unix.ENOMEM):
		return report{Limit: "memory"}
	case errors.As(err, &module):
		return report{Stage: module.Stage, Text: module.Text}
	case errors.As(err, &file):
		return report{Text: file.Op + ": " + file.Err.Error()} // the path says nothing
	}
	return report{Text: err.Error()}
}
