package sealedstore

import (
	"errors"
	"io"
	"sync"

	"golang.org/x/sys/unix"
)

// Blob is the content of an entry. It lies outside the Go heap.
type Blob struct {
	mapped  []byte
	data    []byte
	release sync.Once
}

// Bytes returns the content. It must not be used after Release.
func (b *Blob) Bytes() []byte { return b.data }

// Release frees the memory. It is safe to call twice.
func (b *Blob) Release() {
	b.release.Do(func() {
		b.data = nil
		_ = unix.Munmap(b.mapped) // fails for no mapping of ours
	})
}

func newBlob(size int) (*Blob, error) {
	mapped, err := unix.Mmap(-1, 0, max(size, 1), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, err
	}
	adviseHuge(mapped)
	return &Blob{mapped: mapped, data: mapped[:size]}, nil
}

var errTooLong = errors.New("more is written than was announced")

// boundedWriter fills a buffer and refuses what doesn't fit.
type boundedWriter struct{ buf, rest []byte }

func newBoundedWriter(buf []byte) *boundedWriter { return &boundedWriter{buf, buf} }

func (w *boundedWriter) written() int { return len(w.buf) - len(w.rest) }

func (w *boundedWriter) Write(p []byte) (int, error) {
	n := copy(w.rest, p)
	w.rest = w.rest[n:]
	if n < len(p) {
		return n, errTooLong
	}
	return n, nil
}

var _ io.Writer = (*boundedWriter)(nil)
