package codecache

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"slices"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// executable opens the program's own file, also where its name leads elsewhere
// by now. It must be written by nobody who isn't trusted anyway: pages of a file
// that somebody changes after they were mapped are executed as they are then.
func executable() (*os.File, error) {
	f, err := os.Open("/proc/self/exe")
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		_ = f.Close()
		return nil, os.NewSyscallError("fstat", err)
	}
	if owner := int(st.Uid); st.Mode&0o022 != 0 || owner != 0 && owner != os.Geteuid() {
		_ = f.Close()
		return nil, errWritable
	}
	return f, nil
}

var errWritable = errors.New("the program's file can be written by others: give it to root or to this user, with mode 0755")

// newSealed copies native code into a memory file that nobody can write or
// resize any more, with the code at the beginning of a page.
func newSealed(from *native) (*native, error) {
	f, err := memoryFile(sealedName)
	if err != nil {
		return nil, err
	}
	n := &native{layout: from.layout, ReaderAt: f, file: f, at: -from.code & (pageSize - 1), size: from.size, constant: true}
	_, err = io.Copy(io.NewOffsetWriter(f, n.at), from.reader())
	if err == nil {
		_, err = unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_SEAL|unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_WRITE)
	}
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("a sealed memory file: %w", err)
	}
	return n, nil
}

func memoryFile(name string) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING|unix.MFD_NOEXEC_SEAL)
	if errors.Is(err, unix.EINVAL) { // before Linux 6.3
		fd, err = unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	}
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	return os.NewFile(uintptr(fd), name), nil
}

const sealedName = "waymark-code"

var pageSize = int64(os.Getpagesize())

// feed gives wazero something in the place of native code, as the content of a pipe.
//
// wazero reads code into memory of its own, 22 MiB of it for the built-in module. All
// whole pages of that are replaced by the file before anything is run, so that what it
// reads there may as well be zeros: they come from one page, and go, but for the
// first of them, into one window of a memory file, which is mapped over all of wazero's
// memory while it waits for more. So there never is a copy. The last bytes of the code,
// which fill no page, are its own, and the checksum is that of all this. That of the
// code itself is looked at when it is mapped.
//
// To find wazero's memory, and this alone, there is a random mark between the zeros, and
// another one behind the code, which nothing jumps to.
type feed struct {
	read, write *os.File
	mark        []byte
	sum         uint32         // of the code
	window      *os.File       // of zeros
	size        int            // of the pipe
	at          unsafe.Pointer // wazero's memory, where it was found early; set by run
	done        chan struct{}
	once        sync.Once
}

const (
	markSize = 16
	// markAt is where the first mark is. Nothing of Go's that could hold one as well is
	// at an odd address.
	markAt = 1001
	// windowSize is what of zeros the processor keeps at hand.
	windowSize = 1 << 20
	// tailMax is the most that may follow the code: more than the end of a pipe's
	// buffer might cut up what wazero wants to read at once. Without DWARF in the
	// module it is 5 bytes, and some for each clause that catches.
	tailMax = 1 << 10
	// pipeSize is what an ordinary user may ask for.
	pipeSize = 1 << 20
)

// newFeed makes a pipe in the place of a file that wazero will open.
func newFeed(path string, n *native) (_ *feed, err error) {
	f, err := feedFor(n)
	if err != nil {
		return nil, err
	}
	head, tail, err := f.parts(n)
	if err != nil {
		return nil, err
	}
	if f.window, err = newWindow(); err != nil {
		return nil, err
	}
	// The link is opened while f.read is: a pipe, unlike a FIFO with a name, can be
	// opened also when all is written and its other end closed.
	if f.read, f.write, err = os.Pipe(); err == nil {
		err = os.Symlink(fmt.Sprintf("/proc/self/fd/%d", f.read.Fd()), path)
	}
	if err == nil {
		_, err = os.Stat(path) // is there a /proc?
	}
	if err == nil {
		err = f.fill(head)
	}
	if err != nil {
		close(f.done)
		f.close()
		_ = os.Remove(path)
		return nil, err
	}
	go f.run(n, tail)
	return f, nil
}

// feedFor makes a feed for some code, unless something forbids what it is for: that
// is found out here, where nothing is lost.
func feedFor(n *native) (*feed, error) {
	if n.whole() == 0 {
		return nil, fmt.Errorf("%w: it fills no page", errors.ErrUnsupported) // which is nothing to tell
	}
	if behind := n.size - n.code - n.length; behind > tailMax {
		return nil, fmt.Errorf("%d bytes follow the code", behind)
	}
	if err := mayExecute(n); err != nil {
		return nil, err
	}
	f := &feed{mark: make([]byte, markSize), done: make(chan struct{})}
	if (n.length+markSize)%pageSize == 0 { // such a size could be one of huge pages
		f.mark = make([]byte, 2*markSize)
	}
	_, _ = rand.Read(f.mark)                           // never fails
	if !f.marks(uintptr(unsafe.Pointer(&f.mark[0]))) { //nolint:gosec // an address
		return nil, errors.New("the system doesn't let a process look for what is in its memory")
	}
	return f, nil
}

// parts are what wazero is given before the zeros and behind them.
func (f *feed) parts(n *native) (head, tail []byte, err error) {
	head = make([]byte, n.code)
	tail = make([]byte, n.size-n.code-n.whole())
	_, err = n.reader().ReadAt(head, 0)
	if err == nil {
		_, err = n.reader().ReadAt(tail, n.code+n.whole())
	}
	if err != nil {
		return nil, nil, err
	}
	binary.LittleEndian.PutUint64(head[n.code-8:], uint64(n.length)+uint64(len(f.mark))) //nolint:gosec // not negative
	last, behind := tail[:n.length-n.whole()], tail[n.length-n.whole():]
	f.sum = binary.LittleEndian.Uint32(behind)
	sum := crc32.Update(zeros(0, markAt), castagnoli, f.mark)
	sum = crc32.Update(zeros(sum, n.whole()-f.afterMark()), castagnoli, last)
	binary.LittleEndian.PutUint32(behind, crc32.Update(sum, castagnoli, f.mark))
	return head, slices.Concat(last, f.mark, behind), nil
}

// fill puts the head into the pipe, as a whole: wazero takes it in small parts,
// none of which may be cut up.
func (f *feed) fill(head []byte) error {
	raw, err := f.write.SyscallConn() // Fd would make it blocking
	if err != nil {
		return err
	}
	err = raw.Control(func(fd uintptr) {
		_, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, max(pipeSize, len(head))) // or what there is
		f.size, _ = unix.FcntlInt(fd, unix.F_GETPIPE_SZ, 0)
	})
	if err != nil {
		return err
	}
	if len(head) > f.size {
		return fmt.Errorf("a pipe holds %d bytes, %d are needed", f.size, len(head))
	}
	_, err = f.write.Write(head)
	return err
}

// run gives wazero zeros in the place of the code, until it is closed.
func (f *feed) run(n *native, tail []byte) {
	defer close(f.done)
	defer func() { _ = f.write.Close() }() // the end of the file
	if f.zeros(n) != nil {
		return // which wazero notices
	}
	_, _ = f.write.Write(tail)
}

// zeros feeds the whole pages. Once as much has gone into the pipe behind the first
// mark as there is room in it, that mark has come out.
func (f *feed) zeros(n *native) error {
	_, err := f.write.Write(make([]byte, markAt))
	if err == nil {
		_, err = f.write.Write(f.mark)
	}
	rest := n.whole() - f.afterMark()
	if early := int64(f.size) + 2*pageSize; err == nil && rest > 2*early {
		if err = f.splice(early); err == nil {
			f.at = f.overlay(n)
		}
		rest -= early
	}
	if err == nil {
		err = f.splice(rest)
	}
	return err
}

// afterMark is how much is fed up to the end of the first mark.
func (f *feed) afterMark() int64 { return markAt + int64(len(f.mark)) }

// overlay makes wazero's memory cheap to fill, all but its first page and those behind
// the zeros, and returns where that memory begins. Large pages are, where the system has
// them: the first look at each page, and on a virtual machine without nested paging the
// first of the kernel and that of the program, takes longer than to fill it. Elsewhere
// the window is mapped there. nil means that neither can be, and the zeros are copied.
func (f *feed) overlay(n *native) unsafe.Pointer {
	memory, err := f.find("rw-p", markAt, n.length)
	if err != nil {
		return nil
	}
	large := true
	for at := pageSize; at < n.whole(); {
		size := min(windowSize, n.whole()-at)
		switch beyond := int64(uintptr(unsafe.Add(memory, at)) % largePage); {
		case large && beyond > 0:
			size = min(size, largePage-beyond)
		case large && n.whole()-at >= largePage:
			if large = makeLarge(unsafe.Add(memory, at)); large {
				at += largePage
				continue
			}
		}
		_, err := unix.MmapPtr(int(f.window.Fd()), 0, unsafe.Add(memory, at), uintptr(size), //nolint:gosec // not negative
			unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_FIXED|unix.MAP_POPULATE)
		if err != nil {
			break // the rest is as good, and larger
		}
		at += size
	}
	return memory
}

// largePage is what transparent large pages have on the systems that this runs on, with
// pages of 4 KiB. On others there are none at such places, which is found out.
const largePage = 2 << 20

// makeLarge makes a large page of zeros of a part of a mapping, and reports whether there
// is one.
func makeLarge(start unsafe.Pointer) bool {
	part := unsafe.Slice((*byte)(start), largePage) //nolint:gosec // mapped by wazero, not by Go
	if unix.Madvise(part, unix.MADV_HUGEPAGE) != nil || unix.Madvise(part, unix.MADV_DONTNEED) != nil {
		return false
	}
	part[0] = 0                                                     // which makes one page there, or all of them
	last := inMemory(uintptr(start)+largePage-uintptr(pageSize), 1) //nolint:gosec // not negative
	return last != nil && last[0]
}

// newWindow makes a memory file of zeros, and makes sure that wazero may do with a
// mapping of it what it will.
func newWindow() (_ *os.File, err error) {
	f, err := memoryFile("waymark-zeros")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
		}
	}()
	if err := f.Truncate(windowSize); err != nil {
		return nil, err
	}
	probe, err := unix.Mmap(int(f.Fd()), 0, int(pageSize), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, os.NewSyscallError("mmap", err)
	}
	err = os.NewSyscallError("mprotect", unix.Mprotect(probe, unix.PROT_READ|unix.PROT_EXEC))
	return f, errors.Join(err, unix.Munmap(probe))
}

// zeros is what n bytes that are 0 make of a checksum. Each bit of a checksum's state
// becomes something of its own with them, so that twice as many are as many, twice.
func zeros(sum uint32, n int64) uint32 {
	var bits [32]uint32
	for i := range bits {
		bit := uint32(1) << i
		bits[i] = castagnoli[bit&0xff] ^ bit>>8
	}
	after := func(state uint32) (sum uint32) {
		for i := range bits {
			if state&(1<<i) != 0 {
				sum ^= bits[i]
			}
		}
		return sum
	}
	state := ^sum
	for ; n > 0; n >>= 1 {
		if n&1 != 0 {
			state = after(state)
		}
		var twice [32]uint32
		for i := range bits {
			twice[i] = after(bits[i])
		}
		bits = twice
	}
	return ^state
}

// splice moves zeros into the pipe.
func (f *feed) splice(length int64) error {
	raw, err := f.write.SyscallConn()
	if err != nil {
		return err
	}
	for length > 0 {
		var moved, at int64
		var failed error
		err := raw.Write(func(fd uintptr) bool {
			moved, failed = unix.Splice(int(f.window.Fd()), &at, int(fd), nil, int(min(length, windowSize)), unix.SPLICE_F_MOVE|unix.SPLICE_F_NONBLOCK)
			return !errors.Is(failed, unix.EAGAIN)
		})
		switch {
		case err != nil:
			return err
		case errors.Is(failed, unix.EINTR):
		case failed != nil:
			return os.NewSyscallError("splice", failed)
		case moved == 0:
			return io.ErrUnexpectedEOF
		default:
			length -= moved
		}
	}
	return nil
}

// close ends it, whether or not anybody has come for the code.
func (f *feed) close() {
	f.once.Do(func() {
		for _, end := range []*os.File{f.write, f.read} {
			if end != nil {
				_ = end.Close() // the other end may be closed already
			}
		}
		<-f.done
		_ = f.window.Close()
	})
}

// whole is how much of the code fills pages.
func (n *native) whole() int64 { return n.length &^ (pageSize - 1) }

// mayExecute makes sure that the file can be mapped.
func mayExecute(n *native) error {
	probe, err := unix.Mmap(int(n.file.Fd()), n.at+n.code, int(pageSize), unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE)
	if err != nil {
		return os.NewSyscallError("mmap", err)
	}
	return os.NewSyscallError("munmap", unix.Munmap(probe))
}

// share maps the file with the code over the zeros in wazero's memory. Where it
// fails, what wazero has is worthless.
func (f *feed) share(n *native) error {
	<-f.done // wazero has read all of it
	copied, err := f.found(n)
	if err != nil {
		return err
	}
	if err := f.check(n); err != nil {
		return err
	}
	got, err := unix.MmapPtr(int(n.file.Fd()), n.at+n.code, copied, uintptr(n.whole()), unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE|unix.MAP_FIXED) //nolint:gosec // not negative
	if err != nil {
		return os.NewSyscallError("mmap", err)
	}
	if got != copied {
		return errors.New("mapped somewhere else")
	}
	return nil
}

// check compares the code in a file with its checksum. It reads the file instead of
// mapping it, which would make all of it resident.
func (f *feed) check(n *native) error {
	sum := crc32.New(castagnoli)
	if _, err := io.CopyBuffer(sum, io.NewSectionReader(n.file, n.at+n.code, n.length), make([]byte, 256<<10)); err != nil {
		return err
	}
	if sum.Sum32() != f.sum {
		return errChanged
	}
	return nil
}

var errChanged = errors.New("the file isn't the same any more, or never was")

// found returns where wazero's memory begins.
func (f *feed) found(n *native) (unsafe.Pointer, error) {
	if f.at == nil {
		return f.find("r-xp", n.length, n.length)
	}
	if !f.marks(uintptr(f.at) + uintptr(n.length)) { //nolint:gosec // not negative
		return nil, errNotFound
	}
	return f.at, nil
}
