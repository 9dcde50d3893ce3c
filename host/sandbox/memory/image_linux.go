package memory

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// keptGap is how many bytes of zeros are kept to make one mapping of two: a
	// mapping takes 2 µs to make and to take away again, which memories that are used
	// again don't pay. An image in the program's file has these zeros there.
	keptGap = 8 << 10
	// hotGap is the same for pages that are made ready: a call takes as long as
	// three pages.
	hotGap = 8 << 10
)

// NewImage makes an image of what the memory that wazero has allocated holds. The
// error is an ErrNoImage where the system has no memory files.
func (a *Allocator) NewImage() (*Image, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.module == nil {
		return &Image{}, nil
	}
	return newImage(a.module.reserved[:a.module.size])
}

func newImage(data []byte) (*Image, error) {
	held := nonzero(data)
	var kept []Range
	for _, p := range join(held, keptGap) {
		kept = append(kept, Range{p.from, p.to})
	}
	return keep(Layout{uint64(len(data)), kept}, func(f *os.File) error {
		for _, p := range held { // the zeros in between take no memory before they are used
			if _, err := f.WriteAt(data[p.from:p.to], int64(p.from)); err != nil { //nolint:gosec // at most 4 GiB
				return err
			}
		}
		return nil
	})
}

// CopyImage makes an image of what was written down: content is that of another
// image with this layout. The error is an ErrNoImage where the system has no memory
// files.
func CopyImage(l Layout, content io.Reader) (*Image, error) {
	if err := l.check(uint64(pageSize)); err != nil { //nolint:gosec // not negative
		return nil, err
	}
	return keep(l, func(f *os.File) error {
		for _, r := range l.Parts {
			if _, err := io.CopyN(io.NewOffsetWriter(f, int64(r.From)), content, int64(r.To-r.From)); err != nil { //nolint:gosec // at most 4 GiB
				return err
			}
		}
		return nil
	})
}

// MapImage makes an image of what lies in a file, as CopyImage is given it, from a place
// on that is the beginning of a page. It is mapped from there: the file must be one that
// nobody changes who couldn't change this program as well. The image has a descriptor of
// its own.
func MapImage(l Layout, file *os.File, at int64) (*Image, error) {
	if err := l.check(uint64(pageSize)); err != nil { //nolint:gosec // not negative
		return nil, err
	}
	if at%int64(pageSize) != 0 {
		return nil, fmt.Errorf("%w: it begins at byte %d of a file", errLayout, at)
	}
	i := &Image{size: l.Size}
	for _, r := range l.Parts {
		i.kept = append(i.kept, part{pages{r.From, r.To}, at})
		at += int64(r.To - r.From) //nolint:gosec // at most 4 GiB
	}
	if len(i.kept) == 0 {
		return i, nil
	}
	conn, err := file.SyscallConn()
	if err != nil {
		return nil, err
	}
	var own int
	var failed error
	err = conn.Control(func(fd uintptr) { own, failed = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0) })
	if err = errors.Join(err, os.NewSyscallError("fcntl", failed)); err != nil {
		return nil, err
	}
	i.file = os.NewFile(uintptr(own), file.Name())
	return i, nil
}

// keep makes an image of a sealed memory file, in which everything is where it is in
// the memory.
func keep(l Layout, write func(*os.File) error) (_ *Image, err error) {
	i := &Image{size: l.Size}
	for _, r := range l.Parts {
		i.kept = append(i.kept, part{pages{r.From, r.To}, int64(r.From)}) //nolint:gosec // at most 4 GiB
	}
	if len(i.kept) == 0 {
		return i, nil
	}
	if i.file, err = memoryFile(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = i.file.Close()
		}
	}()
	if err = i.file.Truncate(int64(l.Size)); err != nil { //nolint:gosec // at most 4 GiB
		return nil, err
	}
	if err = write(i.file); err != nil {
		return nil, err
	}
	// Nobody can write or cut it from now on, also not through /proc.
	const seals = unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE
	if _, err = unix.FcntlInt(i.file.Fd(), unix.F_ADD_SEALS, seals); err != nil {
		return nil, fmt.Errorf("seal it: %w", err)
	}
	return i, nil
}

func memoryFile() (*os.File, error) {
	const name = "waymark-image"
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING|unix.MFD_NOEXEC_SEAL)
	if errors.Is(err, unix.EINVAL) { // before Linux 6.3
		fd, err = unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: memfd_create: %w", ErrNoImage, err)
	}
	return os.NewFile(uintptr(fd), name), nil
}

var pageSize = os.Getpagesize()

// nonzero lists the pages that hold something.
func nonzero(data []byte) []pages {
	zero := make([]byte, pageSize)
	var list []pages
	for at := 0; at < len(data); at += pageSize { // memories are whole pages of 64 KiB
		if !bytes.Equal(data[at:at+pageSize], zero) {
			list = append(list, pages{uint64(at), uint64(at + pageSize)}) //nolint:gosec // not negative
		}
	}
	return join(list, 0)
}

// mapAt makes a memory, of which nothing is usable yet, hold the image.
func (i *Image) mapAt(reserved []byte) error {
	if i.size == 0 {
		return nil
	}
	if err := unix.Mprotect(reserved[:i.size], unix.PROT_READ|unix.PROT_WRITE); err != nil {
		return err
	}
	if i.file == nil {
		return nil
	}
	conn, err := i.file.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = conn.Control(func(fd uintptr) { // which keeps the descriptor from being closed, and used for another file
		for _, p := range i.kept {
			at := unsafe.Pointer(&reserved[p.from]) //nolint:gosec // where p belongs
			_, failed = unix.MmapPtr(int(fd), p.at, at, uintptr(p.to-p.from),
				unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_FIXED)
			if failed != nil {
				return
			}
		}
	})
	if err = errors.Join(err, failed); err == nil {
		i.prepare(reserved)
	}
	return err
}

// prepare makes the hot pages ready, which is several times cheaper than one
// fault for each. Where that isn't possible the faults come.
func (i *Image) prepare(reserved []byte) {
	hot := i.hot.Load()
	if hot == nil {
		return
	}
	for _, p := range *hot {
		if unix.Madvise(reserved[p.from:p.to], unix.MADV_POPULATE_WRITE) != nil {
			return
		}
	}
}

// copyTo is mapAt where the system refuses to map: every page is read.
func (i *Image) copyTo(reserved []byte) error {
	if i.size == 0 {
		return nil
	}
	// What mapAt may have mapped goes away.
	at := unsafe.Pointer(&reserved[0]) //nolint:gosec // a mapping of our own
	_, err := unix.MmapPtr(-1, 0, at, uintptr(i.size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE|unix.MAP_FIXED)
	for _, p := range i.kept {
		if err != nil {
			break
		}
		_, err = i.file.ReadAt(reserved[p.from:p.to], p.at)
	}
	return err
}

// Warm learns from a memory that began with its image, and whose run is over,
// which pages the next will write. Those that this one has written, and that
// nobody did before, are added to the image's hot ones. It reports how many bytes
// were added; there are none where the system doesn't tell.
func (a *Allocator) Warm() (added uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	i, m := a.Image, a.module
	if i == nil || m == nil || i.size == 0 || len(m.reserved) == 0 {
		return 0
	}
	written, err := writtenPages(pagemap, m.reserved[:i.size])
	if err != nil {
		return 0
	}
	before := i.hot.Load()
	if before != nil {
		added = total(*before)
		written = union(*before, written)
	}
	written = join(written, hotGap)
	i.hot.Store(&written) // what another has found meanwhile may be lost, until the next run
	return total(written) - added
}

// union puts two lists together.
func union(a, b []pages) []pages {
	var out []pages
	for len(a) > 0 || len(b) > 0 {
		if len(b) == 0 || len(a) > 0 && a[0].from <= b[0].from {
			a, b = b, a
		}
		p := b[0]
		b = b[1:]
		if n := len(out); n > 0 && p.from <= out[n-1].to {
			out[n-1].to = max(out[n-1].to, p.to)
			continue
		}
		out = append(out, p)
	}
	return out
}

const (
	// pagemap has an entry for each page of this process: see the kernel's
	// Documentation/admin-guide/mm/pagemap.rst.
	pagemap = "/proc/self/pagemap"

	pagePresent = 1 << 63
	pageSwapped = 1 << 62
	pageOfFile  = 1 << 61
	entryBytes  = 8
)

// writtenPages lists the pages of a private mapping that have a copy of their
// own, as a pagemap says.
func writtenPages(pagemap string, data []byte) ([]pages, error) {
	// Not by package os, which would ask whether it can be polled.
	fd, err := unix.Open(pagemap, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	entries := make([]byte, len(data)/pageSize*entryBytes)
	first := int64(uintptr(unsafe.Pointer(&data[0]))) / int64(pageSize) //nolint:gosec // an address of user space
	for at := 0; at < len(entries); {
		n, err := unix.Pread(fd, entries[at:], first*entryBytes+int64(at))
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return nil, err
		case n <= 0:
			return nil, io.ErrUnexpectedEOF
		}
		at += max(n, 0)
	}
	var list []pages
	for n := range len(data) / pageSize {
		e := binary.NativeEndian.Uint64(entries[n*entryBytes:])
		if e&(pagePresent|pageSwapped) != 0 && e&pageOfFile == 0 {
			list = append(list, pages{uint64(n * pageSize), uint64((n + 1) * pageSize)}) //nolint:gosec // not negative
		}
	}
	return join(list, 0), nil
}
