package sealed

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Put stores what fill writes, at most size bytes, under a name, in place of
// what was there. On an error what was there may be gone or not.
func (s *Store) Put(name string, size int64, fill func(io.Writer) error) error {
	switch {
	case !validName.MatchString(name):
		return fmt.Errorf("%q can't be a name: use letters, digits, dots and dashes", name)
	case size < 0 || size > s.opts.MaxBlob:
		return fmt.Errorf("%d bytes are more than the %d that a blob may have", size, s.opts.MaxBlob)
	}
	blob, err := newBlob(overhead + int(size))
	if err != nil {
		return err
	}
	defer blob.Release()
	content := blob.data[len(magic)+nonceSize:]
	w := newBoundedWriter(content[:size])
	if err := fill(w); err != nil {
		return err
	}
	copy(blob.data, magic)
	nonce := blob.data[len(magic) : len(magic)+nonceSize]
	_, _ = rand.Read(nonce) // never fails
	sealed := s.aead.Seal(content[:0], nonce, content[:w.written()], []byte(magic+name))
	dir, err := OpenDir(s.path)
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	if err := write(dir, name+suffix, blob.data[:len(magic)+nonceSize+len(sealed)]); err != nil {
		return err
	}
	return s.prune(dir, name+suffix)
}

// write lets a file appear whole. Nothing is synced: what a power failure
// damages is a miss.
func write(dir *os.File, name string, data []byte) error {
	f, temp, err := createTemp(dir, tempPrefix)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Close())
	if err == nil {
		fd := int(dir.Fd())
		err = unix.Renameat(fd, temp, fd, name)
	}
	if err != nil {
		err = errors.Join(err, remove(dir, temp))
	}
	return err
}
