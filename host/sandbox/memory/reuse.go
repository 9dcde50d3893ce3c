package memory

import (
	"errors"
	"sync"

	"golang.org/x/sys/unix"
)

// leftovers are memories whose instance is over, as an instance finds them when it
// begins. To use the same addresses again saves what is dear in making a mapping:
// not the call, but the faults of all pages that the next run looks at, and, on a
// virtual machine without nested paging, the same once more in the hypervisor.
type leftovers struct {
	mu     sync.Mutex // guards the rest
	max    int        // of each kind
	closed bool
	list   []leftover
}

// leftover is one of them.
type leftover struct {
	reserved []byte
	usable   uint64
	module   bool // it holds the image; else it is all zeros
}

// Reuse says how many instances may leave their memories to those that come, once
// these are as they would be if they were made anew. At first there are none.
func (i *Image) Reuse(instances int) {
	i.past.mu.Lock()
	defer i.past.mu.Unlock()
	i.past.max = instances
}

// Trim gives the system what waits to be used again.
func (i *Image) Trim() error { return i.past.empty(false) }

func (l *leftovers) close() error { return l.empty(true) }

func (l *leftovers) empty(forEver bool) (err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = l.closed || forEver
	for _, m := range l.list {
		err = errors.Join(err, unix.Munmap(m.reserved))
	}
	l.list = nil
	return err
}

// room reports whether one more of a kind may be left.
func (l *leftovers) room(module bool) bool {
	n := 0
	for _, m := range l.list {
		if m.module == module {
			n++
		}
	}
	return !l.closed && n < l.max
}

// takeBack takes the memory of an instance that is over, unless it has to be given
// to the system. The instance belongs to one goroutine by now.
func (i *Image) takeBack(m *area) bool {
	if i == nil {
		return false
	}
	module := m == m.owner.module
	l := &i.past
	l.mu.Lock()
	room := l.room(module)
	l.mu.Unlock()
	if !room || !i.restore(m, module) {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.room(module) { // by now
		return false
	}
	l.list = append(l.list, leftover{m.reserved, m.usable, module})
	return true
}

// giveAgain gives a memory what another has left, if there is one of its length.
func (i *Image) giveAgain(m *area, maxBytes uint64, module bool) bool {
	if i == nil {
		return false
	}
	l := &i.past
	l.mu.Lock()
	defer l.mu.Unlock()
	for n, left := range l.list {
		if left.module == module && uint64(len(left.reserved)) == maxBytes {
			l.list = append(l.list[:n], l.list[n+1:]...)
			m.reserved, m.usable, m.begun, m.mapped = left.reserved, left.usable, module, module
			return true
		}
	}
	return false
}
