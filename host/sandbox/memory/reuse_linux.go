package memory

import (
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sys/unix"
)

// zerosKept is how much of a memory that begins empty stays at hand: what passes
// between a run and the host is seldom more.
const zerosKept = 512 << 10

// restore makes a memory as it was when its instance began, and reports whether it
// is. The pages that the system has copied for it, which are all that can have been
// written, get their content again; of them only those stay that the next run is
// likely to write, the others are forgotten.
func (i *Image) restore(m *area, module bool) bool {
	if module && !m.mapped || Reusable() != nil {
		return false
	}
	var begins uint64
	stay := []pages{{0, zerosKept}}
	if module {
		begins, stay = i.size, nil
		if hot := i.hot.Load(); hot != nil {
			stay = *hot
		}
		if m.usable > begins {
			rest := m.reserved[begins:m.usable]
			if unix.Madvise(rest, unix.MADV_DONTNEED) != nil || unix.Mprotect(rest, unix.PROT_NONE) != nil {
				return false
			}
			m.usable = begins
		}
	}
	if m.usable == 0 {
		return true
	}
	written, err := writtenPages(pagemap, m.reserved[:m.usable])
	if err != nil {
		return false
	}
	for _, p := range without(written, stay) {
		if unix.Madvise(m.reserved[p.from:p.to], unix.MADV_DONTNEED) != nil {
			return false
		}
	}
	for _, p := range without(written, without(written, stay)) {
		if !i.refill(m.reserved, p, module) {
			return false
		}
	}
	return true
}

// refill writes what a part of a memory begins with: what the image keeps, and zeros.
func (i *Image) refill(memory []byte, p pages, module bool) bool {
	at := p.from
	if module {
		first, _ := slices.BinarySearchFunc(i.kept, p.from, func(k part, from uint64) int {
			if k.to <= from {
				return -1
			}
			return 1
		})
		for _, k := range i.kept[first:] {
			from, to := max(at, k.from), min(p.to, k.to)
			if from >= to {
				break
			}
			clear(memory[at:from])
			// One call, since they are whole pages of a file that nobody cuts.
			if n, err := i.file.ReadAt(memory[from:to], k.at+int64(from-k.from)); err != nil || uint64(n) != to-from { //nolint:gosec // at most 4 GiB
				return false
			}
			at = to
		}
	}
	clear(memory[at:p.to])
	return true
}

// without is what of a list isn't in another. Both are in order.
func without(list, others []pages) []pages {
	var out []pages
	for _, p := range list {
		for _, o := range others {
			if o.to <= p.from {
				continue
			}
			if o.from >= p.to {
				break
			}
			if o.from > p.from {
				out = append(out, pages{p.from, o.from})
			}
			p.from = min(o.to, p.to)
		}
		if p.from < p.to {
			out = append(out, p)
		}
	}
	return out
}

// Reusable says why memories can't be used again, or nil where they can: this system has
// to tell which pages were written. That is tried once. The error is for people.
func Reusable() error { return reusable() }

var reusable = sync.OnceValue(func() error {
	if err := tellsWritten(pagemap); err != nil {
		return fmt.Errorf("the system doesn't tell which pages were written: %w", err)
	}
	return nil
})

// tellsWritten tries whether a file tells which pages were written, of a mapping of a
// file and of one of nothing. Whoever asks relies on it for more than speed.
func tellsWritten(pagemap string) error {
	f, err := memoryFile()
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	const n = 4
	if err := f.Truncate(int64(n * pageSize)); err != nil {
		return err
	}
	for _, fd := range []int{int(f.Fd()), -1} {
		flags := unix.MAP_PRIVATE
		if fd < 0 {
			flags |= unix.MAP_ANON
		}
		data, err := unix.Mmap(fd, 0, n*pageSize, unix.PROT_READ|unix.PROT_WRITE, flags)
		if err != nil {
			return err
		}
		data[1*pageSize+7], data[2*pageSize] = 1+data[0], 0 // the first page is only read, and has no copy
		written, err := writtenPages(pagemap, data)
		_ = unix.Munmap(data)
		want := []pages{{uint64(pageSize), uint64(3 * pageSize)}} //nolint:gosec // not negative
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", pagemap, err)
		case len(without(want, written)) > 0:
			return fmt.Errorf("%s shows others", pagemap)
		}
	}
	return nil
}
