package vfs

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// tailReader is the one descriptor of a run for reading past what is kept of
// a file.
type tailReader struct {
	node *node
	fd   int
}

func (t *tailReader) close() {
	if t.node != nil {
		_ = unix.Close(t.fd)
		t.node, t.fd = nil, -1
	}
}

// readTail reads from the file that n was read from, if it is still exactly
// that.
func (r *Run) readTail(n *node, p []byte, off int64) (int, failure) {
	if n.unstable {
		return 0, changed(n)
	}
	if r.tail.node != n {
		r.tail.close()
		fd, f := r.reopen(n)
		if f.errno != 0 {
			return 0, f
		}
		r.tail = tailReader{node: n, fd: fd}
	}
	p = p[:min(int64(len(p)), n.id.Size-off)]
	if !r.chargeBytes(int64(len(p))) {
		return 0, failure{errno: syscall.EIO, reason: ReasonLimit}
	}
	got, errno := preadFull(r.tail.fd, p, off)
	if errno != 0 {
		n.unstable = true
		return 0, failure{errno: errno, at: n.path}
	}
	// The identity was the same before the first byte was read, so it was so
	// for all of them.
	if f := r.same(n, r.tail.fd); f.errno != 0 || got < len(p) {
		n.unstable = true
		return 0, changed(n)
	}
	return got, failure{}
}

// reopen opens the file of n again, if it is still what it was.
func (r *Run) reopen(n *node) (int, failure) {
	fd, _, errno := r.walker.Open(n.path)
	if errno != 0 {
		n.unstable = true
		return -1, changed(n)
	}
	if f := r.same(n, fd); f.errno != 0 {
		_ = unix.Close(fd)
		return -1, f
	}
	return fd, failure{}
}

func (r *Run) same(n *node, fd int) failure {
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil || identityOf(&st) != n.id {
		n.unstable = true
		return changed(n)
	}
	return failure{}
}

func changed(n *node) failure {
	return failure{errno: syscall.EIO, reason: ReasonChanged, at: n.path}
}
