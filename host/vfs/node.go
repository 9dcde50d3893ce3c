package vfs

import (
	"crypto/sha256"
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"

	"waymark/internal/beneath"
)

// maxReads is how often a file is read before it counts as unreadable: once, and three more
// times if it keeps changing.
const maxReads = 4

// node is a file that was read: what the guest sees, what is hashed and what is pushed.
type node struct {
	path string // link-free
	id   Identity
	// data is the beginning of the file, as far as it is kept.
	data []byte
	// sum is the hash of the whole file, valid if whole is set. Call Run.waitHashes before
	// reading it.
	sum   [sha256.Size]byte
	whole bool
	young bool
	// failed says why the file couldn't be read.
	failed failure
	// unstable says that the file has changed since a guest saw it.
	unstable bool

	// used says that it is the content of a resource.
	used bool
	// seen is how many bytes from its beginning a guest can have seen; see unitFile.
	seen int64
	// hashed says that sum was requested; large is what was decided then.
	hashed, large bool
	// file is the form that units share; nil until one needs it.
	file *unitFile
	// slot is scratch: the node's index among the files of unit slotOf.
	slot, slotOf int
}

func (n *node) toDep() Dep {
	d := Dep{Kind: DepRead, Path: n.path, Unstable: n.unstable || n.failed.errno != 0}
	if d.Unstable {
		return d
	}
	d.ID, d.Size, d.Young = n.id, n.id.Size, n.young
	if n.whole {
		d.Hash = n.sum[:]
	}
	return d
}

// open opens a path that a guest or the host asked for. It reads a file at once, unless the
// path may only be a directory.
func (r *Run) open(a *answer, file bool) (f failure) {
	o := opened{fd: -1}
	a.path, f = r.follow(a.asked, true, DepStat, func(path string) (at string, errno syscall.Errno) {
		if r.nodes[path] != nil {
			return path, 0
		}
		return o.open(&r.walker, path)
	})
	if f.errno != 0 {
		return f
	}
	if o.fd >= 0 {
		if beneath.TypeOf(&o.st) == fs.ModeDir {
			r.walker.KeepDir(a.path, o.fd)
		} else {
			defer unix.Close(o.fd)
		}
	}
	if r.nodes[a.path] == nil {
		a.info = infoOf(a.path, &o.st)
		switch {
		case a.info.Type != 0 || !file:
			r.record(Dep{Kind: DepStat, Path: a.path, Type: a.info.Type, Size: -1})
			if a.info.Type != 0 && !a.info.IsDir() && file {
				return failure{errno: syscall.EIO, reason: ReasonNotRegular, at: a.path}
			}
			return failure{}
		case o.closed != 0:
			r.recordFailure(DepRead, a.path, o.closed)
			return failure{errno: o.closed, at: a.path}
		}
		r.nodes[a.path] = r.load(a.path, o.fd, &o.st)
	}
	if !file { // read by another name, and not visible by this one
		r.record(Dep{Kind: DepStat, Path: a.path, Size: -1})
		a.info = Info{Ino: inoOf(a.path)}
		return failure{}
	}
	a.node = r.nodes[a.path]
	if r.units.open != nil {
		r.opened = append(r.opened, a.node)
	}
	a.info = Info{Size: a.node.id.Size, Ino: inoOf(a.path)}
	return a.node.failed
}

// opened is what is at a link-free path, opened if possible.
type opened struct {
	fd     int // -1 if it can't be opened
	st     unix.Stat_t
	closed syscall.Errno // why not
}

// open tries to open a path, and describes what it can't open. For anything but a regular
// file the type is the whole answer: permissions of a directory don't show before it is
// listed, and those of a FIFO never do, so a trace need not hold them.
func (o *opened) open(w *beneath.Walker, path string) (at string, errno syscall.Errno) {
	o.fd, at, o.closed = w.Open(path)
	switch {
	case o.closed == 0:
		if err := unix.Fstat(o.fd, &o.st); err != nil {
			_ = unix.Close(o.fd)
			o.fd, o.closed = -1, beneath.ErrnoOf(err)
			return at, o.closed
		}
		return at, 0
	case beneath.MaybeLink(o.closed) || o.closed == unix.ENOENT:
		return at, o.closed
	}
	if at, errno = w.Stat(path, &o.st); errno == 0 && beneath.TypeOf(&o.st) == fs.ModeSymlink {
		errno = unix.ELOOP // it wasn't one a moment ago
	}
	return at, errno
}

// load reads a regular file as far as it is kept, and has it hashed.
func (r *Run) load(path string, fd int, st *unix.Stat_t) *node {
	n := &node{path: path}
	if st.Nlink > 1 {
		r.sawSettings = r.sawSettings || r.filter.mcpOnly // it isn't known by which name
		if n.failed = r.hardLinked(path, st); n.failed.errno != 0 {
			return n
		}
	}
	for range maxReads {
		n.id = identityOf(st)
		n.young = n.id.young(r.root.now())
		size := min(n.id.Size, r.limits.KeepBytes)
		if !r.chargeLoad(path, size) {
			n.failed = failure{errno: syscall.EIO, reason: ReasonLimit}
			return n
		}
		// Read a byte of an empty file, too: files under /proc only claim to be empty.
		buf := make([]byte, max(size, 1))
		got, errno := preadFull(fd, buf, 0)
		if errno == 0 {
			errno = beneath.ErrnoOf(unix.Fstat(fd, st))
		}
		if errno != 0 {
			n.failed = failure{errno: errno, at: path}
			return n
		}
		if int64(got) == size && identityOf(st) == n.id {
			n.data = buf[:got]
			r.addParents(path)
			if size == n.id.Size {
				r.hash(n)
			}
			return n
		}
	}
	n.failed = failure{errno: syscall.EIO, reason: ReasonChanged, at: path}
	return n
}

// batchBytes is how much is hashed at once: some 100 µs of work, ten times what waking the
// hashing goroutine takes.
const batchBytes = 128 << 10

// hash computes the file's hash in the background, because everybody waits for the resolver
// to continue. If the hasher is busy, it is computed here.
func (r *Run) hash(n *node) {
	n.whole = true
	r.batch = append(r.batch, n)
	if r.batched += len(n.data); r.batched < batchBytes {
		return
	}
	if r.hashes == nil {
		r.hashes = make(chan []*node, 4)
		r.hasher.Go(func() {
			for batch := range r.hashes {
				hashBatch(batch)
				r.hashing.Done()
			}
		})
	}
	r.hashing.Add(1)
	select {
	case r.hashes <- r.batch:
	default:
		hashBatch(r.batch)
		r.hashing.Done()
	}
	r.batch, r.batched = nil, 0
}

func hashBatch(batch []*node) {
	for _, n := range batch {
		n.sum = sha256.Sum256(n.data)
	}
}

// waitHashes waits for all hashes.
func (r *Run) waitHashes() {
	hashBatch(r.batch)
	r.batch, r.batched = nil, 0
	r.hashing.Wait()
}

// preadFull reads until buf is full or the file ends.
func preadFull(fd int, buf []byte, off int64) (n int, errno syscall.Errno) {
	for n < len(buf) {
		m, err := beneath.Retry(func() (int, error) { return unix.Pread(fd, buf[n:], off+int64(n)) })
		if err != nil {
			return n, beneath.ErrnoOf(err)
		}
		if m <= 0 {
			break
		}
		n += m
	}
	return n, 0
}

// tailReader is a run's single descriptor for reading past the kept part of a file.
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

// readTail reads from the file that n was read from, if it is unchanged.
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
	// The identity was also the same before the first read, so all bytes are of this version.
	if f := r.same(n, r.tail.fd); f.errno != 0 || got < len(p) {
		n.unstable = true
		return 0, changed(n)
	}
	return got, failure{}
}

// reopen opens the file of n again, if it is unchanged.
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
