package sealed

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Get returns a blob, which the caller releases. The error is always ErrMiss.
func (s *Store) Get(name string) (*Blob, error) {
	dir, err := OpenDir(s.path)
	if err != nil {
		s.warnOnce("sealed store can't be used", err)
		return nil, ErrMiss
	}
	defer func() { _ = dir.Close() }()
	blob, err := s.read(dir, name)
	switch {
	case err == nil:
		return blob, nil
	case errors.Is(err, unix.ENOENT):
		return nil, ErrMiss
	}
	s.log.Warn("sealed blob thrown away", slog.String("dir", s.path), slog.String("name", name), slog.Any("error", err))
	if err := remove(dir, name+suffix); err != nil {
		s.warnOnce("sealed blob can't be removed", err)
	}
	return nil, ErrMiss
}

func (s *Store) read(dir *os.File, name string) (*Blob, error) {
	if !validName.MatchString(name) {
		return nil, unix.ENOENT
	}
	f, size, err := openFile(dir, name+suffix)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	switch {
	case size < int64(overhead):
		return nil, fmt.Errorf("cut off at %d bytes", size)
	case size > s.opts.MaxBlob+int64(overhead):
		return nil, fmt.Errorf("%d bytes are more than was ever written", size)
	}
	blob, err := newBlob(int(size))
	if err != nil {
		return nil, err
	}
	if _, err = io.ReadFull(f, blob.data); err == nil {
		err = s.open(blob, name)
	}
	if err != nil {
		blob.Release()
		return nil, err
	}
	touch(f)
	return blob, nil
}

// open decrypts a file's content in place.
func (s *Store) open(blob *Blob, name string) error {
	if string(blob.data[:len(magic)]) != magic {
		return errors.New("not of this format")
	}
	nonce := blob.data[len(magic) : len(magic)+nonceSize]
	sealed := blob.data[len(magic)+nonceSize:]
	plain, err := s.aead.Open(sealed[:0], nonce, sealed, []byte(magic+name))
	if err != nil {
		return errors.New("its seal is broken")
	}
	blob.data = plain
	return nil
}

// touch records that a blob was used. Best effort: it only decides what goes
// first when there is too much.
func touch(f *os.File) {
	info, err := f.Stat()
	if err != nil || time.Since(info.ModTime()) < touchAfter {
		return
	}
	now := unix.NsecToTimeval(time.Now().UnixNano())
	_ = unix.Futimes(int(f.Fd()), []unix.Timeval{now, now})
}
