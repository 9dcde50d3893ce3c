package memory

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/tetratelabs/wazero/experimental"
	"golang.org/x/sys/unix"
)

// ErrRefused says that there was no memory to be had.
var ErrRefused = errors.New("linear memory refused")

// Error says why there was none. It is an ErrRefused.
type Error struct {
	// Size is what the memory would have had, in bytes.
	Size int64
	// Reason is for people.
	Reason string
}

func (e *Error) Error() string {
	return fmt.Sprintf("%v: %d bytes: %s", ErrRefused, e.Size, e.Reason)
}

func (e *Error) Unwrap() error { return ErrRefused }

// Allocator owns the linear memories of one instance. The zero value works.
type Allocator struct {
	// Image, unless nil, is what the memory that wazero allocates holds, as soon as
	// it has grown to the image's size. It is set before that.
	Image *Image
	// Refused, unless nil, is told why an image couldn't be mapped and was copied.
	Refused func(error)

	mu      sync.Mutex // guards the rest; held during system calls of microseconds
	areas   []*area
	module  *area // of them, the one that wazero has allocated
	current int64
	peak    int64
	closed  bool
}

// Context makes wazero use the allocator for what is instantiated with ctx.
func (a *Allocator) Context(ctx context.Context) context.Context {
	return experimental.WithMemoryAllocator(ctx, a)
}

// Current is the size of all memories now, in bytes.
func (a *Allocator) Current() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.current
}

// Peak is the largest that Current has been, in bytes. It stays after Close.
func (a *Allocator) Peak() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.peak
}

// Close gives all memories back, also those of modules that were never closed: to the
// image if that reuses them, or else to the system.
//
// Nothing may use them any more, not even to read: the process would crash.
// So whoever has the instance when its run is over closes the allocator, after
// the instance. wazero's own freeing does not unmap, because it happens as well
// when a runtime is closed in the middle of a call. It is safe to call twice.
func (a *Allocator) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil
	}
	a.closed = true
	var err error
	for _, m := range a.areas {
		if len(m.reserved) > 0 && !a.Image.takeBack(m) {
			err = errors.Join(err, unix.Munmap(m.reserved))
		}
	}
	a.areas, a.module, a.current = nil, nil, 0
	return err
}

// Rearm makes the memories of an instance whose run is over what they were when it began with
// its image, and accounts for them in the same way. others is how many bytes of the other
// memory were in use at that time. It returns false if it can't, for example because the
// module's memory has grown; then the allocator can only be closed.
func (a *Allocator) Rearm(others uint64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	i := a.Image
	if a.closed || i == nil || a.module == nil || a.module.size != i.size {
		return false
	}
	a.current = 0
	for _, m := range a.areas {
		module := m == a.module
		if len(m.reserved) > 0 && !i.restore(m, module) {
			return false
		}
		if !module {
			m.size = others
		}
		a.current += int64(m.size) //nolint:gosec // at most 4 GiB
	}
	a.peak = a.current
	return true
}

// Allocate implements experimental.MemoryAllocator: it makes the memory of the
// module.
func (a *Allocator) Allocate(_, maxBytes uint64) experimental.LinearMemory {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.module = a.reserve(maxBytes, true)
	return a.module
}

// Reserve makes another memory, of at most so many bytes, which is empty and
// refuses to grow by returning nil. Like Allocate it panics with an *Error when
// the address space has no room.
func (a *Allocator) Reserve(maxBytes uint64) experimental.LinearMemory {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.reserve(maxBytes, false)
}

// reserve takes a range of maxBytes, so that the memory never moves.
func (a *Allocator) reserve(maxBytes uint64, module bool) *area {
	m := &area{owner: a}
	switch {
	case a.closed:
		panic(refused(maxBytes, "the instance is closed"))
	case maxBytes == 0:
	case a.Image.giveAgain(m, maxBytes, module):
	default:
		reserved, err := unix.Mmap(-1, 0, int(maxBytes), unix.PROT_NONE, unix.MAP_ANON|unix.MAP_PRIVATE) //nolint:gosec // at most 4 GiB
		if err != nil {
			panic(refused(maxBytes, "reserve address space: "+err.Error()))
		}
		m.reserved = reserved
	}
	a.areas = append(a.areas, m)
	return m
}

func refused(size uint64, reason string) *Error {
	return &Error{Size: int64(size), Reason: reason} //nolint:gosec // at most 4 GiB
}

// area is one linear memory. Its fields are guarded by the owner's lock.
type area struct {
	owner    *Allocator
	reserved []byte
	size     uint64 // what is in use, and accounted for
	usable   uint64 // what the system lets be used: as much, the image, or what is used again
	started  bool   // wazero was answered
	begun    bool   // it has its image
	mapped   bool   // which is not a copy
}

// Reallocate implements experimental.LinearMemory.
func (m *area) Reallocate(size uint64) []byte {
	a := m.owner
	a.mu.Lock()
	defer a.mu.Unlock()
	if reason := m.grow(size); reason != "" {
		if !m.started && m == a.module {
			panic(refused(size, reason)) // wazero takes a first answer for granted
		}
		return nil
	}
	m.started = true
	return m.reserved[:size:size]
}

// grow makes size bytes usable, or says why not.
func (m *area) grow(size uint64) (refusal string) {
	a := m.owner
	more := int64(size) - int64(m.size) //nolint:gosec // at most 4 GiB
	switch {
	case a.closed:
		return "the instance is closed"
	case size > uint64(len(m.reserved)):
		return fmt.Sprintf("the memory may have %d", len(m.reserved))
	case more <= 0:
		return "" // wasm memories don't shrink
	}
	if err := m.use(size); err != nil {
		return "the system has no more: " + err.Error()
	}
	m.size = size
	a.current += more
	a.peak = max(a.peak, a.current)
	return ""
}

// use makes size bytes usable. The image is there as a whole from the beginning,
// and accounted for as the memory grows.
func (m *area) use(size uint64) error {
	if i := m.owner.Image; i != nil && m == m.owner.module && !m.begun && i.size <= uint64(len(m.reserved)) {
		if err := m.begin(i); err != nil {
			return err
		}
		m.usable, m.begun = i.size, true
	}
	if size <= m.usable {
		return nil
	}
	err := unix.Mprotect(m.reserved[m.usable:size], unix.PROT_READ|unix.PROT_WRITE)
	if err == nil {
		m.usable = size
	}
	return err
}

// begin makes the memory hold an image.
func (m *area) begin(i *Image) error {
	err := i.mapAt(m.reserved)
	m.mapped = err == nil
	if err == nil || errors.Is(err, os.ErrClosed) { // the module was closed meanwhile
		return err
	}
	if m.owner.Refused != nil {
		m.owner.Refused(err)
	}
	return i.copyTo(m.reserved)
}

// Free implements experimental.LinearMemory. Allocator.Close does the work.
func (m *area) Free() {}
