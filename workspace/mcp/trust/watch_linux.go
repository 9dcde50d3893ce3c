package trust

import (
	"encoding/binary"
	"errors"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// Events of a file, whatever its name, and of names in a directory. IN_CLOSE_WRITE also
	// reports writes through a mapping.
	fileEvents = unix.IN_MODIFY | unix.IN_CLOSE_WRITE | unix.IN_MOVE_SELF | unix.IN_DELETE_SELF | unix.IN_DONT_FOLLOW
	dirEvents  = unix.IN_CREATE | unix.IN_DELETE | unix.IN_MOVE | unix.IN_MOVE_SELF | unix.IN_DELETE_SELF | unix.IN_ONLYDIR
	selfEvents = unix.IN_MODIFY | unix.IN_CLOSE_WRITE | unix.IN_MOVE_SELF | unix.IN_DELETE_SELF | unix.IN_IGNORED | unix.IN_UNMOUNT
)

// maxLeases limits the leases of a process.
const maxLeases = 1000

var leased atomic.Int64

// events receives changes from the kernel, by inotify and by signals for leases.
type events struct {
	file *os.File
	fd   int
	// ended says that leases wouldn't be released any more.
	ended atomic.Bool

	reading sync.Mutex // guards reading the file, which never blocks

	mu       sync.Mutex // guards the fields below
	watchers map[uint32]map[*Watch]*place
	of       map[*Watch][]uint32
}

// place is what a Watch watches with a watch descriptor.
type place struct {
	path  string
	names map[string]bool // nil for a file
}

// listen begins to receive changes from the kernel.
func listen() (e *events, stop func(), err error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, nil, os.NewSyscallError("inotify_init1", err)
	}
	e = &events{file: os.NewFile(uintptr(fd), "inotify"), fd: fd, watchers: map[uint32]map[*Watch]*place{}, of: map[*Watch][]uint32{}}
	breaks := make(chan os.Signal, 1)
	signal.Notify(breaks, unix.SIGIO) // before there is a lease
	var taking sync.WaitGroup
	taking.Go(func() {
		for range breaks {
			e.each((*Watch).broken)
		}
	})
	taking.Go(func() {
		if raw, err := e.file.SyscallConn(); err == nil {
			_ = raw.Read(func(uintptr) bool {
				e.take()
				return e.ended.Load()
			})
		}
	})
	return e, func() {
		e.ended.Store(true)
		_ = e.file.SetReadDeadline(time.Unix(1, 0))
		e.each((*Watch).Release)
		signal.Stop(breaks)
		close(breaks)
		taking.Wait()
	}, nil
}

// each does something with all that watch.
func (e *events) each(do func(*Watch)) {
	e.mu.Lock()
	all := slices.Collect(maps.Keys(e.of))
	e.mu.Unlock()
	for _, w := range all {
		do(w)
	}
}

// add has a Watch told of its files, and of names in directories. It reports whether it is
// told of all of them.
func (e *events) add(w *Watch, dirs map[string]map[string]bool) (whole bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	whole, e.of[w] = true, nil
	one := func(path string, mask uint32, names map[string]bool) {
		n, err := unix.InotifyAddWatch(e.fd, path, mask)
		if err != nil {
			// Where there is no directory, the one above tells when there is.
			whole = whole && names != nil && (errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR))
			return
		}
		wd := uint32(n) //nolint:gosec // it counts from 1
		if e.watchers[wd] == nil {
			e.watchers[wd] = map[*Watch]*place{}
		}
		if p := e.watchers[wd][w]; p != nil { // a link leads there, too
			maps.Copy(p.names, names)
			return
		}
		e.watchers[wd][w] = &place{path, names}
		e.of[w] = append(e.of[w], wd)
	}
	for _, dir := range slices.Sorted(maps.Keys(dirs)) { // from above
		one(dir, dirEvents, dirs[dir])
	}
	for _, f := range w.of.files {
		one(f.path, fileEvents, nil)
	}
	return whole
}

func (e *events) remove(w *Watch) {
	if e == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, wd := range e.of[w] {
		delete(e.watchers[wd], w)
		if len(e.watchers[wd]) == 0 {
			delete(e.watchers, wd)
			_, _ = unix.InotifyRmWatch(e.fd, wd) // it may be gone
		}
	}
	delete(e.of, w)
}

// take hands on all that there is to tell.
func (e *events) take() {
	if e == nil {
		return
	}
	e.reading.Lock()
	defer e.reading.Unlock()
	var buf [16 << 10]byte
	for {
		n, err := unix.Read(e.fd, buf[:])
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n <= 0 {
			return
		}
		for at := 0; at+unix.SizeofInotifyEvent <= n; {
			word := func(i int) uint32 { return binary.NativeEndian.Uint32(buf[at+i:]) }
			wd, mask, length := word(0), word(4), int(word(12))
			at += unix.SizeofInotifyEvent
			e.event(wd, mask, strings.TrimRight(string(buf[at:at+length]), "\x00"))
			at += length
		}
	}
}

func (e *events) event(wd, mask uint32, name string) {
	e.mu.Lock()
	told := map[*Watch]string{}
	for w, p := range e.watchers[wd] {
		switch {
		case p.names[name] && name != "":
			told[w] = filepath.Join(p.path, name)
		case name == "" && mask&selfEvents != 0:
			told[w] = p.path
		}
	}
	if mask&unix.IN_Q_OVERFLOW != 0 {
		for w := range e.of {
			told[w] = "more than could be told"
		}
	}
	e.mu.Unlock()
	for w, what := range told {
		w.tell(what)
	}
}

// lease takes a lease of a file.
func (e *events) lease(f watched) (lease, error) {
	if leased.Add(1) > maxLeases || e.ended.Load() {
		leased.Add(-1)
		return lease{}, errors.New("as many files are held as may be")
	}
	fd, err := unix.Open(f.path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err == nil {
		l := lease{f.path, os.NewFile(uintptr(fd), f.path)}
		var st unix.Stat_t
		if _, err = unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_RDLCK); err == nil {
			err = unix.Fstat(fd, &st)
		}
		switch {
		case err == nil && identityOf(&st) == f.id:
			return l, nil
		case err == nil:
			err = ErrChanged
		case errors.Is(err, unix.EAGAIN):
			err = ErrOpen
		}
		_ = l.file.Close()
	}
	leased.Add(-1)
	return lease{}, err
}

// release gives it back.
func (l lease) release() {
	_ = l.file.Close()
	leased.Add(-1)
}

// wanted reports whether somebody waits for it.
func (l lease) wanted() bool {
	var kind int
	raw, err := l.file.SyscallConn()
	if err == nil {
		err = raw.Control(func(fd uintptr) { kind, err = unix.FcntlInt(fd, unix.F_GETLEASE, 0) })
	}
	return err != nil || kind != unix.F_RDLCK
}
