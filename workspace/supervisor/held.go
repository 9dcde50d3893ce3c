package supervisor

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sync/semaphore"

	"waymark/agentapi"
	"waymark/internal/await"
)

// held is a process with its output. Its record is known from the beginning; the channels
// signal when the rest is.
type held struct {
	dir    string
	limits Limits
	spool  *spool
	logger *slog.Logger

	// ready is closed when the start has succeeded or failed. From then on failed, child
	// and ends are set and don't change. done is closed when the process has ended and all
	// of its output is in the spool, or when it couldn't be started.
	ready, done chan struct{}
	failed      error
	reaper      *reaper
	child       *child
	ends        *stdio

	// terminate makes run end the process.
	terminate await.Wake
	// writing is held while writing to the standard input.
	writing *semaphore.Weighted
	// reading is closed when no process can write to the output any more.
	reading chan struct{}

	mu sync.Mutex // guards the fields below
	record
	inputClosed bool
	left        []proc // that were of its session when it ended
}

func newHeld(rec record, dir string, limits Limits, b *budget, r *reaper, logger *slog.Logger) *held {
	return &held{
		dir: dir, limits: limits, logger: logger, reaper: r, record: rec,
		spool: &spool{dir: dir, limits: limits, budget: b},
		ready: make(chan struct{}), done: make(chan struct{}), terminate: await.NewWake(),
		writing: semaphore.NewWeighted(1), reading: make(chan struct{}),
	}
}

// begin starts the process. It writes the journal before and after that, so that a later
// supervisor knows every start that may have happened.
func (h *held) begin(spec *Spec) error {
	if err := os.Mkdir(h.dir, 0o700); err != nil {
		return err
	}
	if err := h.save(); err != nil {
		return err
	}
	c, ends, err := startHeld(h.reaper, spec)
	if err != nil {
		return err
	}
	h.child, h.ends = c, ends
	p, err := readProc(c.pid)
	h.mu.Lock()
	h.PID = c.pid
	if err == nil { // even if it has ended, it hasn't been reaped yet
		h.Start = p.start
	}
	h.mu.Unlock()
	if err := h.save(); err != nil {
		h.logger.Warn("the journal can't be written", slog.Any("error", err))
	}
	return nil
}

func (h *held) save() error {
	h.mu.Lock()
	rec := h.record
	h.mu.Unlock()
	return rec.save(h.dir)
}

// run collects the output and the exit code. It ends the process after its timeout or on
// request. It returns when everything is done.
func (h *held) run(timeout time.Duration) {
	go h.copyOutput()
	var over, kill <-chan time.Time
	if timeout > 0 {
		timer := time.NewTimer(timeout)
		defer timer.Stop()
		over = timer.C
	}
	terminate := func() {
		if err := h.reaper.signal(h.child, syscall.SIGTERM); err == nil && kill == nil {
			kill = time.After(h.limits.Grace)
		}
	}
	for {
		select {
		case <-over:
			h.mu.Lock()
			h.TimedOut = timeout
			h.mu.Unlock()
			terminate()
		case <-h.terminate:
			terminate()
		case <-kill:
			_ = h.reaper.signal(h.child, syscall.SIGKILL)
		case e := <-h.child.exit:
			h.finish(e)
			return
		}
	}
}

// finish waits for the rest of the output, but at most WaitDelay, because a child process
// may keep it open for years. Later output is kept, too.
func (h *held) finish(e exit) {
	h.closeInput()
	wait := time.NewTimer(h.limits.WaitDelay)
	defer wait.Stop()
	select {
	case <-h.reading:
	case <-wait.C:
	}
	left := h.leaves()
	h.end(func() {
		h.left = left
		length, _ := h.spool.size()
		h.Exited, h.Code = &e.at, &e.code
		h.Usage = &agentapi.ProcessUsage{
			UserMS: toMS(e.usage.Utime), SystemMS: toMS(e.usage.Stime), MaxRSS: maxRSS(&e.usage),
			WallMS: e.at.Sub(h.Started).Milliseconds(), OutputLen: length,
		}
	})
	<-h.reading
	h.spool.seal()
	h.ends.close()
}

// leaves returns the processes that are left of one that has ended: those of its session, and
// those that have left it and write to its output.
func (h *held) leaves() []proc {
	output := ""
	select {
	case <-h.reading:
	default:
		output = openAs(h.ends.output)
	}
	return slices.DeleteFunc(procs(), func(p proc) bool {
		mine := p.session == h.child.pid || output != "" && writesTo(p.pid, output)
		return !mine || p.zombie || p.pid == os.Getpid()
	})
}

func toMS(t syscall.Timeval) int64 { return time.Duration(t.Nano()).Milliseconds() }

// end records the exit after the output is complete, but for that of processes that it has
// left.
func (h *held) end(set func()) {
	select {
	case <-h.reading:
		h.spool.seal()
	default:
	}
	h.mu.Lock()
	set()
	h.mu.Unlock()
	if err := h.save(); err != nil {
		h.logger.Warn("the journal can't be written", slog.Any("error", err))
	}
	close(h.done)
}

// buffers are used while output is copied, so that an idle process needs none.
var buffers = sync.Pool{New: func() any { b := make([]byte, 64<<10); return &b }}

// copyOutput copies the output into the spool until no process can write to it any more.
func (h *held) copyOutput() {
	defer close(h.reading)
	defer h.spool.closeFile()
	raw, err := h.ends.output.SyscallConn()
	for err == nil {
		var n int
		var data *[]byte
		readErr := raw.Read(func(fd uintptr) bool {
			data = buffers.Get().(*[]byte)
			for {
				n, err = syscall.Read(int(fd), *data)
				if !errors.Is(err, syscall.EINTR) {
					break
				}
			}
			if errors.Is(err, syscall.EAGAIN) {
				buffers.Put(data)
				return false
			}
			return true
		})
		switch {
		case readErr != nil:
			return
		case n <= 0 || err != nil: // the end; a terminal signals it with EIO
			buffers.Put(data)
			return
		}
		h.spool.write((*data)[:n])
		buffers.Put(data)
	}
}

func (h *held) closeInput() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.inputClosed && h.ends.input != nil && !h.ends.tty {
		_ = h.ends.input.Close()
	}
	h.inputClosed = true
}

// endOfInput is the character that ends the input of a terminal.
const endOfInput = 4

// writeInput writes all of data, unless ctx ends before the process has read it.
func (h *held) writeInput(ctx context.Context, data []byte, end bool) error {
	if h.writing.Acquire(ctx, 1) != nil {
		return context.Cause(ctx)
	}
	defer h.writing.Release(1)
	h.mu.Lock()
	closed := h.inputClosed
	h.mu.Unlock()
	switch {
	case h.over():
		return ErrExited
	case closed || h.ends == nil || h.ends.input == nil:
		return ErrNoStdin
	}
	if end && h.ends.tty {
		data = append(data, endOfInput)
	}
	_ = h.ends.input.SetWriteDeadline(time.Time{})
	interrupted := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		_ = h.ends.input.SetWriteDeadline(time.Unix(1, 0))
		close(interrupted)
	})
	_, err := h.ends.input.Write(data)
	if !stop() {
		<-interrupted
	}
	switch {
	case err == nil:
	case errors.Is(err, os.ErrDeadlineExceeded):
		return context.Cause(ctx)
	case errors.Is(err, fs.ErrClosed), errors.Is(err, syscall.EPIPE), errors.Is(err, syscall.EIO), errors.Is(err, io.ErrClosedPipe):
		return ErrNoStdin
	default:
		return err
	}
	if end && !h.ends.tty {
		h.closeInput()
	}
	return nil
}

func (h *held) resize(size agentapi.TerminalSize) error {
	switch {
	case h.over():
		return ErrExited
	case h.ends == nil || !h.ends.tty:
		return ErrNoTerminal
	}
	err := pty.Setsize(h.ends.output, &pty.Winsize{Rows: size.Rows, Cols: size.Cols})
	if errors.Is(err, fs.ErrClosed) {
		return ErrExited
	}
	return err
}

// over reports whether the process has ended.
func (h *held) over() bool {
	select {
	case <-h.done:
		return true
	default:
		return false
	}
}

func (h *held) signal(s syscall.Signal) error {
	switch {
	case h.child == nil:
		return ErrExited
	case !h.over():
		return h.reaper.signal(h.child, s)
	}
	err := ErrExited
	for _, p := range h.remaining() {
		if signalProc(p, s) == nil {
			err = nil
		}
	}
	return err
}

// remaining returns what is left of the session of a process that has ended.
func (h *held) remaining() []proc {
	h.mu.Lock()
	left := h.left
	h.mu.Unlock()
	if len(left) == 0 {
		return nil
	}
	return stillThere(left)
}

func (h *held) askToEnd() { h.terminate.Set() }

// ended returns when the process ended; zero while it runs.
func (h *held) ended() time.Time {
	if !h.over() {
		return time.Time{}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.Exited == nil { // the process is lost
		return h.Started
	}
	return *h.Exited
}

func (h *held) info() Info {
	over := h.over()
	length, _ := h.spool.size()
	left := h.remaining()
	h.mu.Lock()
	defer h.mu.Unlock()
	info := Info{
		Process: agentapi.Process{
			ID: h.ID, Command: h.Command, WorkDir: h.Dir, Background: h.Background, Running: !over,
			StartedAtUnix: h.Started.Unix(),
		},
		Chat: h.Chat, Fence: h.Fence, Started: h.Started, Length: length, PID: h.PID,
	}
	if info.Chat != [16]byte{} {
		info.ChatID = h.Chat.String()
	}
	if !over {
		return info
	}
	info.ExitCode, info.Lost, info.Usage, info.TimedOutMS = h.Code, h.Lost, h.Usage, h.TimedOut.Milliseconds()
	for _, p := range left {
		info.Left = append(info.Left, agentapi.LeftProcess{PID: p.pid, Command: commandOf(p.pid)})
	}
	if h.Exited != nil {
		at := h.Exited.Unix()
		info.ExitedAtUnix = &at
	}
	return info
}
