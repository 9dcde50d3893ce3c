// Package stoptest ends real processes while something hangs around them, and
// requires that they are gone in time.
//
// A [Process] belongs to its test, which kills what is left of it. What hangs is
// made by [FullPipe], [Deaf] and [FIFO].
package stoptest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Patience is three times what the programs promise: a machine may stand still
// for a moment. A process that hangs takes more.
const Patience = 15 * time.Second

// Process is a program under test.
type Process struct {
	t    testing.TB
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended

	mu   sync.Mutex // guards text
	text strings.Builder
}

// Start starts a command. What it prints is kept, unless the command has places
// for it.
func Start(t testing.TB, cmd *exec.Cmd) *Process {
	t.Helper()
	p := &Process{t: t, cmd: cmd, done: make(chan struct{})}
	if cmd.Stdout == nil {
		cmd.Stdout = p
	}
	if cmd.Stderr == nil {
		cmd.Stderr = p
	}
	cmd.WaitDelay = time.Second // children may hold the pipes
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.done)
		_ = cmd.Wait() // ProcessState has it
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-p.done
	})
	return p
}

// Write implements io.Writer.
func (p *Process) Write(data []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(data)
}

func (p *Process) output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

// PID is the process's id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Until waits until something is so. An end before that is an error.
func (p *Process) Until(what string, is func() bool) {
	p.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.After(8 * Patience)
	for !is() {
		select {
		case <-tick.C:
		case <-p.done:
			p.t.Fatalf("it has ended (%s) before %s:\n%s", p.cmd.ProcessState, what, p.output())
		case <-late:
			p.t.Fatalf("not %s:\n%s", what, p.output())
		}
	}
}

// Uses waits until the process has used so much processor time, as one does that
// runs a module which doesn't end.
func (p *Process) Uses(d time.Duration) {
	p.t.Helper()
	const tick = 10 * time.Millisecond // USER_HZ is 100 wherever Linux runs Go
	p.Until("it has used "+d.String(), func() bool {
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.PID()))
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if len(fields) < 13 {
			return false
		}
		user, _ := strconv.Atoi(fields[11])
		system, _ := strconv.Atoi(fields[12])
		return time.Duration(user+system)*tick > d
	})
}

// Says waits until it has printed a text.
func (p *Process) Says(text string) {
	p.t.Helper()
	p.Until("it says "+text, func() bool { return strings.Contains(p.output(), text) })
}

// Ends sends a signal and requires that the process is gone in time, in good
// order or by force. One that hadn't begun to listen ends by the signal itself.
func (p *Process) Ends(s syscall.Signal) {
	p.t.Helper()
	begun := time.Now()
	_ = p.cmd.Process.Signal(s) // it may have ended by itself
	select {
	case <-p.done:
	case <-time.After(Patience):
		p.t.Fatalf("it didn't end within %s:\n%s", Patience, p.output())
	}
	p.t.Logf("%s after %s", p.cmd.ProcessState, time.Since(begun).Round(time.Millisecond))
	status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ok && status.Signaled() && status.Signal() != s && status.Signal() != syscall.SIGKILL {
		p.t.Errorf("it ended by %s:\n%s", status.Signal(), p.output())
	}
}

// FullPipe is the end of a pipe that takes nothing more, and nobody reads.
func FullPipe(t testing.TB) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = r.Close(), w.Close() })
	if err := w.SetWriteDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = w.Write(make([]byte, 1<<10))
	}
	return w
}

// Deaf is the address of a server on TCP that accepts connections and reads
// nothing, and a channel that tells of each.
func Deaf(t testing.TB) (address string, accepted <-chan struct{}) {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	came := make(chan struct{}, 100)
	var conns []net.Conn
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err == nil {
				conns = append(conns, conn)
				came <- struct{}{}
			}
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		serving.Wait()
		for _, c := range conns {
			_ = c.Close()
		}
	})
	return l.Addr().String(), came
}

// FIFO makes a file that hangs whoever reads it, as one on a disk that doesn't
// answer. It is being read when hangs says so.
func FIFO(t testing.TB) (path string, hangs func() bool) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path, func() bool {
		f, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			return false // nobody reads
		}
		t.Cleanup(func() { _ = f.Close() })
		return true
	}
}
