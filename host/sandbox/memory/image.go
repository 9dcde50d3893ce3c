package memory

import (
	"errors"
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
	file *os.File // sealed
	// kept are the pages of the file that hold something, in order, with those
	// between them that hardly pay to be told apart; the rest of the memory is zero,
	// and made as new memory is.
	kept []pages
	hot  atomic.Pointer[[]pages]
}

// pages is a range of bytes of whole pages of the system.
type pages struct{ from, to uint64 }

// Size is how long a memory is that begins with the image, in bytes.
func (i *Image) Size() uint64 { return i.size }

// Kept is how much of it is mapped from what the system keeps, in bytes.
func (i *Image) Kept() uint64 { return total(i.kept) }

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

// Close gives the image back. Memories that began with it stay as they are. It is
// safe to call twice.
func (i *Image) Close() error {
	if i.file == nil {
		return nil
	}
	if err := i.file.Close(); !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
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
