package memory

import (
	"context"
	"errors"
	"fmt"
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
	mu      sync.Mutex // guards the rest; held during system calls of microseconds
	areas   []*area
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

// Close unmaps all memories, also those of modules that were never closed.
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
		if len(m.reserved) > 0 {
			err = errors.Join(err, unix.Munmap(m.reserved))
		}
	}
	a.areas, a.current = nil, 0
	return err
}

// Allocate implements experimental.MemoryAllocator. The reserved range is
// maxBytes long, so that the memory never moves.
func (a *Allocator) Allocate(_, maxBytes uint64) experimental.LinearMemory {
	a.mu.Lock()
	defer a.mu.Unlock()
	m := &area{owner: a}
	switch {
	case a.closed:
		panic(refused(maxBytes, "the instance is closed"))
	case maxBytes == 0:
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
	size     uint64
	started  bool
}

// Reallocate implements experimental.LinearMemory.
func (m *area) Reallocate(size uint64) []byte {
	a := m.owner
	a.mu.Lock()
	defer a.mu.Unlock()
	if reason := m.grow(size); reason != "" {
		if !m.started {
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
	if err := unix.Mprotect(m.reserved[m.size:size], unix.PROT_READ|unix.PROT_WRITE); err != nil {
		return "the system has no more: " + err.Error()
	}
	m.size = size
	a.current += more
	a.peak = max(a.peak, a.current)
	return ""
}

// Free implements experimental.LinearMemory. Allocator.Close does the work.
func (m *area) Free() {}
