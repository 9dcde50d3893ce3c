package watch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"maps"
	"os"
	"slices"
	"sync"

	"golang.org/x/sys/unix"
)

const (
	// inotifyEntries is what every directory is watched for. A path that is a link by now
	// isn't watched, because it isn't a directory. An existing watch keeps its events.
	inotifyEntries = unix.IN_CREATE | unix.IN_DELETE | unix.IN_DELETE_SELF | unix.IN_MOVED_FROM | unix.IN_MOVED_TO |
		unix.IN_MOVE_SELF | unix.IN_ATTRIB | unix.IN_ONLYDIR | unix.IN_DONT_FOLLOW | unix.IN_MASK_ADD
	// inotifyWrites is for directories with files that matter. In directories such as /tmp,
	// each write of any process would wake the agent.
	inotifyWrites = unix.IN_MODIFY | unix.IN_CLOSE_WRITE
)

// inotifyBuffer holds some hundred events; one takes 272 bytes at most.
const inotifyBuffer = 16 << 10

// inotify is a Backend over one kernel descriptor. RATIONALE.md says why it isn't fsnotify's.
//
// A watch belongs to an inode. When a directory is moved, its watch stays under the old path
// until the keeper handles the move and removes it.
type inotify struct {
	file *os.File // nonblocking, so that a reader parks in the runtime's poller
	fd   int      // of file
	// Only Read uses buf and events.
	buf    []byte
	events []Event

	mu    sync.Mutex       // guards the rest
	paths map[int32]string // by watch descriptor; the kernel doesn't reuse them
	wds   map[string]int32 // the inverse of paths
}

// System returns the real Backend: inotify.
func System() (Backend, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, os.NewSyscallError("inotify_init1", err)
	}
	return &inotify{
		file: os.NewFile(uintptr(fd), "inotify"), fd: fd, buf: make([]byte, inotifyBuffer),
		paths: map[int32]string{}, wds: map[string]int32{},
	}, nil
}

// Add implements Backend. Looking up the path may take time, so it doesn't block Read: events
// before Add returns may go unnoticed.
func (n *inotify) Add(path string, writes bool) error {
	mask := uint32(inotifyEntries)
	if writes {
		mask |= inotifyWrites
	}
	added, err := unix.InotifyAddWatch(n.fd, path, mask)
	for err == unix.EINTR {
		added, err = unix.InotifyAddWatch(n.fd, path, mask)
	}
	if err != nil {
		return err
	}
	wd := int32(added) //nolint:gosec // it is an int32 in the kernel
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, ok := n.paths[wd]; ok {
		return nil // under this path, or another path of this directory
	}
	if old, ok := n.wds[path]; ok {
		delete(n.paths, old)
		n.end(old)
	}
	n.paths[wd], n.wds[path] = path, wd
	return nil
}

// Remove implements Backend.
func (n *inotify) Remove(path string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if wd, ok := n.wds[path]; ok {
		n.forget(wd)
		n.end(wd)
	}
	return nil
}

// end removes a kernel watch. It fails only for one that has already ended.
func (n *inotify) end(wd int32) {
	_, _ = unix.InotifyRmWatch(n.fd, uint32(wd)) //nolint:gosec // the kernel takes it as it gave it
}

// forget records that a watch has ended. The caller holds mu.
func (n *inotify) forget(wd int32) {
	delete(n.wds, n.paths[wd])
	delete(n.paths, wd)
}

// WatchList implements Backend.
func (n *inotify) WatchList() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Collect(maps.Keys(n.wds))
}

// Close implements Backend.
func (n *inotify) Close() error { return n.file.Close() }

// Read implements Backend.
func (n *inotify) Read() ([]Event, error) {
	for {
		size, err := n.file.Read(n.buf)
		switch {
		case errors.Is(err, os.ErrClosed):
			return nil, io.EOF
		case err != nil:
			return nil, err
		}
		if lost := n.parse(n.buf[:size]); lost {
			return nil, ErrOverflow // makes everything be checked, including events read with it
		}
		if len(n.events) > 0 {
			return n.events, nil
		}
	}
}

// parse makes events of what was read, and reports whether some were lost.
func (n *inotify) parse(buf []byte) (lost bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.events = n.events[:0]
	for len(buf) >= unix.SizeofInotifyEvent {
		wd := int32(binary.NativeEndian.Uint32(buf)) //nolint:gosec // it is one
		mask := binary.NativeEndian.Uint32(buf[4:])
		end := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(buf[12:]))
		if end > len(buf) {
			return true // not what inotify(7) says
		}
		name, _, _ := bytes.Cut(buf[unix.SizeofInotifyEvent:end], []byte{0})
		buf = buf[end:]
		path, known := n.paths[wd]
		switch {
		case mask&unix.IN_Q_OVERFLOW != 0:
			lost = true
		case !known: // of a watch that was removed meanwhile
		case mask&unix.IN_IGNORED != 0:
			n.forget(wd) // an earlier event told why it ended
		default:
			n.events = append(n.events, Event{Path: entryPath(path, name), Op: inotifyOp(mask), File: len(name) > 0 && mask&unix.IN_ISDIR == 0})
		}
	}
	return lost
}

// entryPath returns the path of a directory's entry, or of the directory itself.
func entryPath(dir string, name []byte) string {
	switch {
	case len(name) == 0:
		return dir
	case dir == "/":
		return "/" + string(name)
	}
	return dir + "/" + string(name)
}

func inotifyOp(mask uint32) (op Op) {
	for _, p := range [...]struct {
		mask uint32
		op   Op
	}{
		{unix.IN_CREATE, OpCreate},
		{unix.IN_MOVED_TO, OpCreate | OpFinish},
		{unix.IN_MODIFY, OpWrite},
		{unix.IN_CLOSE_WRITE, OpFinish},
		{unix.IN_DELETE | unix.IN_DELETE_SELF | unix.IN_UNMOUNT, OpRemove},
		{unix.IN_MOVED_FROM | unix.IN_MOVE_SELF, OpRename},
		{unix.IN_ATTRIB, OpChmod},
	} {
		if mask&p.mask != 0 {
			op |= p.op
		}
	}
	return op
}
