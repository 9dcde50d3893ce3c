package supervisor

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
	"waymark/internal/await"
)

// exit is how a child ended.
type exit struct {
	code  int // 128+N for signal N
	usage syscall.Rusage
	at    time.Time
}

// child is a process that this process has started.
type child struct {
	pid  int
	exit chan exit // receives exactly one value
}

// reaper starts children and reaps them, together with orphans that the kernel assigns to
// this process. Nothing else in the process may wait for children, which rules out package
// os/exec.
type reaper struct {
	kick     await.Wake
	starters *starters // nil in a guard

	mu       sync.Mutex // guards the fields below, and keeps a pid valid while a signal is sent
	children map[int]*child
	starting int // number of children that aren't in the map yet
}

func newReaper() *reaper {
	return &reaper{kick: await.NewWake(), children: map[int]*child{}}
}

// run reaps until ctx ends.
func (r *reaper) run(ctx context.Context) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGCHLD)
	defer signal.Stop(signals)
	for {
		r.reap()
		select {
		case <-signals:
		case <-r.kick:
		case <-ctx.Done():
			return
		}
	}
}

// reap reaps all exited children. While a child is being started, an unknown pid may be
// that child's. So only known children are reaped then, one by one.
func (r *reaper) reap() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		pid := -1
		if r.starting > 0 {
			for known := range r.children {
				r.take(known)
			}
			return
		}
		if !r.take(pid) {
			return
		}
	}
}

// take reaps one child, and reports whether there was one. The caller holds mu.
func (r *reaper) take(which int) bool {
	var status syscall.WaitStatus
	var usage syscall.Rusage
	pid, err := syscall.Wait4(which, &status, syscall.WNOHANG, &usage)
	for errors.Is(err, syscall.EINTR) {
		pid, err = syscall.Wait4(which, &status, syscall.WNOHANG, &usage)
	}
	if err != nil || pid <= 0 {
		return false
	}
	if !status.Exited() && !status.Signaled() {
		return true
	}
	if c := r.children[pid]; c != nil {
		delete(r.children, pid)
		e := exit{code: status.ExitStatus(), usage: usage, at: time.Now()}
		if status.Signaled() {
			e.code = 128 + int(status.Signal())
		}
		c.exit <- e
	}
	return true
}

// start calls fork, which starts a process and returns its pid. If fork fails, it must have
// reaped the process itself.
func (r *reaper) start(fork func() (pid int, err error)) (*child, error) {
	r.mu.Lock()
	r.starting++
	r.mu.Unlock()
	pid, err := fork()
	r.mu.Lock()
	r.starting--
	var c *child
	if err == nil {
		c = &child{pid: pid, exit: make(chan exit, 1)}
		r.children[pid] = c
	}
	r.mu.Unlock()
	r.kick.Set()
	return c, err
}

// signal sends a signal to a child's group. It returns ErrExited if the child has been
// reaped, because its pid may belong to another process then.
func (r *reaper) signal(c *child, s syscall.Signal) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.children[c.pid] != c {
		return ErrExited
	}
	err := syscall.Kill(-c.pid, s)
	if errors.Is(err, syscall.ESRCH) { // it is a zombie, alone in its group
		return ErrExited
	}
	return err
}

// knows reports whether a process was started here. It waits for starts in progress,
// because they may have that pid.
func (r *reaper) knows(pid int) bool {
	for {
		r.mu.Lock()
		known, starting := r.children[pid] != nil, r.starting > 0
		r.mu.Unlock()
		if known || !starting {
			return known || r.starters.has(pid)
		}
		<-time.After(time.Millisecond)
	}
}

// any reports whether there are children that were started here.
func (r *reaper) any() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.starting > 0 || len(r.children) > 0
}
