// Package process runs programs under test and observes them from outside: their output,
// how they end, and the resources that they use. An [Owned] process belongs to a test, which
// stops it while something around it hangs ([FullPipe], [Deaf] and [FIFO]), requires that it
// ends in time, and kills what is left of it.
//
// # Concurrency
//
// All methods may be called from any goroutine, but each process has one owner that starts
// and ends it.
//
// # Limits
//
// CPU time, memory and descriptors of other processes are read from Linux's /proc;
// elsewhere that is an error.
package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"sync"
	"syscall"
	"time"

	"waymark/internal/await"
)

// Process is a program that runs, or has run.
type Process struct {
	// Started is the time just before the process was started.
	Started time.Time

	cmd    *exec.Cmd
	output *output
	done   chan struct{} // closed when it has ended
}

// Start starts a command of the caller's, who has set its environment, directory
// and context. What it prints is kept, unless the command has something else to
// print to.
func Start(cmd *exec.Cmd) (*Process, error) {
	p := &Process{cmd: cmd, output: &output{}, done: make(chan struct{})}
	if cmd.Stdout == nil {
		cmd.Stdout = p.output
	}
	if cmd.Stderr == nil {
		cmd.Stderr = p.output
	}
	if cmd.WaitDelay == 0 {
		// A grandchild that keeps the pipe open is no reason to wait for ever. On a
		// machine that stands still the last words may take their time, though.
		cmd.WaitDelay = time.Minute
	}
	p.Started = time.Now()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(p.done)
		_ = cmd.Wait() // ProcessState has it
	}()
	return p, nil
}

// PID is the process's id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Output is what it has printed so far.
func (p *Process) Output() string { return p.output.text() }

// Done is closed when it has ended. State says how then.
func (p *Process) Done() <-chan struct{} { return p.done }

// State is how the process has ended; nil before.
func (p *Process) State() *os.ProcessState {
	select {
	case <-p.done:
		return p.cmd.ProcessState
	default:
		return nil
	}
}

// Await waits until what it has printed matches.
func (p *Process) Await(ctx context.Context, pattern *regexp.Regexp) error {
	for ended := false; ; {
		more := p.output.changed.Changed()
		text := p.output.text()
		switch {
		case pattern.MatchString(text):
			return nil
		case ended:
			return fmt.Errorf("%s has ended (%s) without printing %q:\n%s", p.cmd.Path, p.cmd.ProcessState, pattern, text)
		}
		select {
		case <-more:
		case <-p.done:
			ended = true // look once more
		case <-ctx.Done():
			return fmt.Errorf("%s doesn't print %q: %w\n%s", p.cmd.Path, pattern, ctx.Err(), text)
		}
	}
}

// Signal sends a signal.
func (p *Process) Signal(s syscall.Signal) error { return p.cmd.Process.Signal(s) }

// Freeze stops the process where it is, until it gets SIGCONT, and waits until
// it stands still: the signal alone has not reached all its threads yet.
func (p *Process) Freeze(ctx context.Context) error {
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	for {
		frozen, err := p.frozen()
		if err != nil || frozen {
			return err
		}
		if err := Pause(ctx, time.Millisecond); err != nil {
			return fmt.Errorf("%s doesn't stand still: %w", p.cmd.Path, err)
		}
	}
}

// Kill ends the process by force and waits for it. It may be called again, and
// after the process has ended.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// Stop asks the process to end, waits until it has, and returns how long that
// took. Ending with anything but code 0 is an error.
func (p *Process) Stop(ctx context.Context) (time.Duration, error) {
	start := time.Now()
	if err := p.Signal(syscall.SIGTERM); err != nil {
		return 0, errors.Join(err, p.Wait(ctx))
	}
	err := p.Wait(ctx)
	return time.Since(start), err
}

// Wait waits until the process has ended. Ending with anything but code 0 is an
// error.
func (p *Process) Wait(ctx context.Context) error {
	select {
	case <-p.done:
	case <-ctx.Done():
		return fmt.Errorf("%s doesn't end: %w\n%s", p.cmd.Path, ctx.Err(), p.Output())
	}
	if state := p.cmd.ProcessState; !state.Success() {
		return fmt.Errorf("%s has ended with %s:\n%s", p.cmd.Path, state, p.Output())
	}
	return nil
}

// Pause waits, for what takes its time and can't be seen from outside.
func Pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// output collects what a process prints.
type output struct {
	changed await.Signal // buf has grown

	mu  sync.Mutex // guards buf
	buf bytes.Buffer
}

// maxOutput is enough for any log worth reading; what is more is dropped, from
// the front.
const maxOutput = 4 << 20

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	defer o.changed.Notify()
	o.mu.Lock()
	defer o.mu.Unlock()
	if over := o.buf.Len() + len(p) - maxOutput; over > 0 {
		o.buf.Next(over)
	}
	return o.buf.Write(p)
}

func (o *output) text() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}
