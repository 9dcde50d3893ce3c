package vfs

import (
	"errors"
	"io"
	"io/fs"
	"syscall"
)

// File is an open file or directory of a Run. It holds no descriptor, so any number may be
// open. It belongs to the Run's goroutine.
type File struct {
	run    *Run
	answer *answer
	unit   *newUnit // in which it was opened; nil outside units
	offset int64
	closed bool
}

// Entry is a visible entry of a directory.
type Entry struct {
	Name string
	// Type holds the type bits; a link is a link.
	Type fs.FileMode
	// Ino is derived from the path without following the entry.
	Ino uint64
}

// Name returns the cleaned path by which the file was opened.
func (f *File) Name() string { return f.answer.asked }

// IsDir reports whether this is a directory.
func (f *File) IsDir() bool { return f.answer.info.IsDir() }

// Stat returns what Run.Stat returned for it.
func (f *File) Stat() (Info, error) {
	if err := f.usable("stat"); err != nil {
		return Info{}, err
	}
	if n := f.answer.node; n != nil {
		n.seen = wholly
	}
	return f.answer.info, nil
}

// Read implements io.Reader.
func (f *File) Read(p []byte) (int, error) {
	n, err := f.ReadAt(p, f.offset)
	f.offset += int64(n)
	if n > 0 && errors.Is(err, io.EOF) {
		err = nil // next time
	}
	return n, err
}

// ReadAt implements io.ReaderAt. It serves the kept part of the file from memory. Later bytes
// are read from the same unchanged file, or fail with ErrChanged.
func (f *File) ReadAt(p []byte, off int64) (int, error) {
	if err := f.usable("read"); err != nil {
		return 0, err
	}
	if f.IsDir() {
		return 0, f.fail("read", failure{errno: syscall.EISDIR})
	}
	if off < 0 {
		return 0, f.fail("read", failure{errno: syscall.EINVAL, detail: "negative offset"})
	}
	n, err := f.readAt(p, off)
	node := f.answer.node
	if err != nil {
		node.seen = wholly // the guest knows where it ends, too
	} else {
		node.seen = seenBoth(node.seen, off+max(int64(n), 1)) // an empty read reveals that the file goes on
	}
	return n, err
}

// readAt is ReadAt of a regular file at a non-negative offset.
func (f *File) readAt(p []byte, off int64) (int, error) {
	node := f.answer.node
	if off >= node.id.Size {
		return 0, io.EOF
	}
	n := 0
	if off < int64(len(node.data)) {
		n = copy(p, node.data[off:])
	}
	var errno failure
	for n < len(p) && off+int64(n) < node.id.Size && errno.errno == 0 {
		var m int
		m, errno = f.run.readTail(node, p[n:], off+int64(n))
		n += m
	}
	switch {
	case f.run.over != nil:
		return n, f.run.over
	case errno.errno != 0:
		return n, f.fail("read", errno)
	case n < len(p):
		return n, io.EOF
	}
	return n, nil
}

// maxRange bounds one ReadRange, so that a sparse terabyte isn't allocated. A guest continues
// where the read ended.
const maxRange = 4 << 20

// ReadRange answers a guest's fs_read: at most length bytes of a file from an offset, and
// fewer at its end.
func ReadRange(open func() (*File, error), offset, length int64) ([]byte, error) {
	if offset < 0 || length < 0 {
		return nil, syscall.EINVAL
	}
	f, err := open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	if f.IsDir() {
		return nil, syscall.EISDIR
	}
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	buf := make([]byte, min(length, max(info.Size-offset, 0), maxRange))
	n, err := f.ReadAt(buf, offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return buf[:n], nil
}

// ReadDir returns all visible entries in byte order, without "." and "..". The slice is
// shared; don't modify it.
func (f *File) ReadDir() ([]Entry, error) {
	if err := f.usable("readdir"); err != nil {
		return nil, err
	}
	if !f.IsDir() {
		return nil, f.fail("readdir", failure{errno: syscall.ENOTDIR})
	}
	if f.answer.list == nil {
		f.answer.list = f.run.list(f.answer)
	}
	switch l := f.answer.list; {
	case f.run.over != nil:
		return nil, f.run.over
	case l.failed.errno != 0:
		return nil, f.fail("readdir", l.failed)
	default:
		return l.entries, nil
	}
}

// Close makes all later calls return EBADF.
func (f *File) Close() error {
	f.closed = true
	return nil
}

func (f *File) usable(v verb) error {
	if f.closed || f.run.closed {
		return f.fail(v, failure{errno: syscall.EBADF, detail: "the file is closed or the run has ended"})
	}
	if f.run.over != nil {
		return f.run.over
	}
	if u := f.run.units.open; u != nil && u != f.unit {
		u.foreign = true
	}
	return nil
}

func (f *File) fail(v verb, why failure) error { return why.error(v, f.answer.asked) }
