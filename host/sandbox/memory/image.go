package memory

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
)

// ErrNoImage says that the system doesn't keep images.
var ErrNoImage = errors.New("no image of a memory")

// Image is what a memory holds at some moment, kept once by the system for all
// memories that begin with it: each gets pages of its own as it writes them. It
// never changes. Methods may be called by any number of goroutines.
type Image struct {
	size uint64
	file *os.File // sealed, or the program's
	// kept are the pages of the memory that hold something, in order, with those
	// between them that hardly pay to be told apart; the rest of the memory is zero,
	// and made as new memory is.
	kept []part
	hot  atomic.Pointer[[]pages]
	past leftovers
}

// pages is a range of bytes of whole pages of the system.
type pages struct{ from, to uint64 }

// part is a range of pages with its place in the file.
type part struct {
	pages
	at int64
}

// Layout says what an image holds, for one that is written down.
type Layout struct {
	Size uint64 `json:"size"` // of the memory, in bytes
	// Parts are what is kept of it, in order. The rest is zero.
	Parts []Range `json:"parts"`
}

// Range is a part of a memory, in bytes from its beginning.
type Range struct {
	From uint64 `json:"from"`
	To   uint64 `json:"to"`
}

// errLayout is when a layout describes no image.
var errLayout = errors.New("not the layout of an image")

// maxSize is what a memory can have at all.
const maxSize = 4 << 30

// check makes sure that the parts are whole pages of the memory, in order.
func (l Layout) check(page uint64) error {
	end := uint64(0)
	for _, r := range l.Parts {
		if r.From < end || r.To <= r.From || r.From%page != 0 || r.To%page != 0 {
			return fmt.Errorf("%w: a part from %d to %d", errLayout, r.From, r.To)
		}
		end = r.To
	}
	if l.Size > maxSize || end > l.Size || l.Size%page != 0 {
		return fmt.Errorf("%w: %d of %d bytes", errLayout, end, l.Size)
	}
	return nil
}

// Bytes is how much of the memory is kept.
func (l Layout) Bytes() (n uint64) {
	for _, r := range l.Parts {
		n += r.To - r.From
	}
	return n
}

// Layout says what the image holds.
func (i *Image) Layout() Layout {
	l := Layout{Size: i.size}
	for _, p := range i.kept {
		l.Parts = append(l.Parts, Range{p.from, p.to})
	}
	return l
}

// Content reads what is kept, all parts of the layout one behind the other.
func (i *Image) Content() io.Reader {
	var parts []io.Reader
	for _, p := range i.kept {
		parts = append(parts, io.NewSectionReader(i.file, p.at, int64(p.to-p.from))) //nolint:gosec // at most 4 GiB
	}
	return io.MultiReader(parts...)
}

// Size is how long a memory is that begins with the image, in bytes.
func (i *Image) Size() uint64 { return i.size }

// Kept is how much of it is mapped from what the system keeps, in bytes.
func (i *Image) Kept() uint64 { return i.Layout().Bytes() }

// Hot is how much of it is made ready for whoever begins with it; see
// Allocator.Warm.
func (i *Image) Hot() uint64 {
	if hot := i.hot.Load(); hot != nil {
		return total(*hot)
	}
	return 0
}

func total(list []pages) (n uint64) {
	for _, p := range list {
		n += p.to - p.from
	}
	return n
}

// Close gives the image back, with the memories that wait to be used again. Those that
// are in use stay as they are. It is safe to call twice.
func (i *Image) Close() error {
	err := i.past.close()
	if i.file == nil {
		return err
	}
	if failed := i.file.Close(); !errors.Is(failed, os.ErrClosed) {
		err = errors.Join(err, failed)
	}
	return err
}

// join puts ranges together that are no more than gap bytes apart. They are in
// order.
func join(list []pages, gap uint64) []pages {
	var out []pages
	for _, p := range list {
		if n := len(out); n > 0 && p.from-out[n-1].to <= gap {
			out[n-1].to = p.to
			continue
		}
		out = append(out, p)
	}
	return out
}
