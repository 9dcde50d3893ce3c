package codecache

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// ChildArg is the only argument of a child.
const ChildArg = "waymark:compile"

// Child compiles modules in processes of their own. To have one proves that
// MaybeRun was called, without which a child would be something else.
type Child struct{ _ [0]func() }

// MaybeRun is to be the first call in main (and in TestMain). In a child it
// compiles one module and never returns; in any other process it returns what
// Options.Child needs.
func MaybeRun(rewrite Rewriter) *Child {
	if len(os.Args) == 2 && os.Args[1] == ChildArg {
		os.Exit(runChild(rewrite))
	}
	return &Child{}
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
	// textMax bounds what is kept of a child's words.
	textMax = 4 << 10
	// killDelay is how long the pipes of a child that has ended may stay open.
	// They end with it; but what it said last is still to be read, by a process
	// that may stand still for a moment.
	killDelay = 30 * time.Second
)

// compile has a child fill the scratch directory.
func (*Child) compile(ctx context.Context, s *scratch, wasm []byte, recipe Recipe, limits Limits) (_, _ []byte, err error) {
	path, err := Executable()
	if err != nil {
		return nil, nil, err
	}
	header, err := json.Marshal(job{recipe, limits, int64(len(wasm))})
	if err != nil {
		return nil, nil, err
	}
	timed, cancel := context.WithTimeout(ctx, limits.Time)
	defer cancel()
	cmd := exec.CommandContext(timed, path, ChildArg) //nolint:gosec // this very binary
	cmd.Dir, cmd.Env, cmd.WaitDelay = s.path, []string{}, killDelay
	// A group of its own makes it possible to nice all its threads, and keeps
	// the terminal's Ctrl-C from it: it ends with its standard input.
	cmd.SysProcAttr = ownGroup()
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	stdout, stderr := &head{max: textMax}, &head{max: textMax}
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
		return nil, nil, explain(ctx, timed, limits, err, stdout.buf.Bytes(), stderr.buf.String())
	}
	rewritten, err := s.read(packWasm, partMax)
	if err != nil {
		return nil, nil, err
	}
	meta, err := s.read(packMeta, metaMax)
	return rewritten, meta, err
}

// head keeps the beginning of what is written to it.
type head struct {
	buf bytes.Buffer
	max int
}

func (h *head) Write(p []byte) (int, error) {
	h.buf.Write(p[:min(len(p), h.max-h.buf.Len())])
	return len(p), nil
}
