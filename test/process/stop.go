package process

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Timeout is three times what the programs promise: a machine may stand still
// for a moment. A process that hangs takes more.
const Timeout = 15 * time.Second

// Owned is a program under test.
type Owned struct {
	*Process
	t testing.TB
}

// StartOwned starts a command. What it prints is kept, unless the command has
// something else to print to.
func StartOwned(t testing.TB, cmd *exec.Cmd) *Owned {
	t.Helper()
	cmd.WaitDelay = time.Second // children may hold the pipes
	p, err := Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return &Owned{p, t}
}

// Until waits until something is so. An end before that is an error.
func (p *Owned) Until(what string, is func() bool) {
	p.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.After(8 * Timeout)
	for !is() {
		select {
		case <-tick.C:
		case <-p.Done():
			p.t.Fatalf("it has ended (%s) before %s:\n%s", p.State(), what, p.Output())
		case <-late:
			p.t.Fatalf("not %s:\n%s", what, p.Output())
		}
	}
}

// Uses waits until the process has used so much processor time, as one does that
// runs a module which doesn't end.
func (p *Owned) Uses(d time.Duration) {
	p.t.Helper()
	p.Until("it has used "+d.String(), func() bool {
		used, err := p.CPU()
		return err == nil && used > d
	})
}

// Prints waits until it has printed a text.
func (p *Owned) Prints(text string) {
	p.t.Helper()
	p.Until("it prints "+text, func() bool { return strings.Contains(p.Output(), text) })
}

// Ends sends a signal and requires that the process is gone in time, in good
// order or by force. One that hadn't begun to listen ends by the signal itself.
func (p *Owned) Ends(s syscall.Signal) {
	p.t.Helper()
	begun := time.Now()
	_ = p.Signal(s) // it may have ended by itself
	select {
	case <-p.Done():
	case <-time.After(Timeout):
		p.t.Fatalf("it didn't end within %s:\n%s", Timeout, p.Output())
	}
	p.t.Logf("%s after %s", p.State(), time.Since(begun).Round(time.Millisecond))
	status, ok := p.State().Sys().(syscall.WaitStatus)
	if ok && status.Signaled() && status.Signal() != s && status.Signal() != syscall.SIGKILL {
		p.t.Errorf("it ended by %s:\n%s", status.Signal(), p.Output())
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
