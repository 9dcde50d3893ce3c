package sealedstore

import (
	"cmp"
	"crypto/cipher"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"waymark/internal/text"
)

// ErrMiss says that there is no trustworthy blob of that name.
var ErrMiss = errors.New("not in the store")

const (
	// magic begins every file; its last byte is the format's version. It is authenticated, so
	// that it can't be changed.
	magic     = "waymark sealed\x00\x01"
	nonceSize = 12
	tagSize   = 16
	overhead  = len(magic) + nonceSize + tagSize

	suffix     = ".sealed"
	tempPrefix = ".tmp-"

	// touchAfter is how old a time of last use may become before it is updated: exact enough
	// for "least recently used" over days, without a write for every read.
	touchAfter = 10 * time.Minute
)

// validName matches letters, digits, dots and dashes; names are never hidden.
var validName = text.Lazy(`^[0-9A-Za-z][0-9A-Za-z.-]*$`)

// maxName bounds names, in bytes. It isn't part of the expression, which would become large.
const maxName = 201

func isName(name string) bool { return len(name) <= maxName && validName().MatchString(name) }

// Options configures a Store. The zero value works.
type Options struct {
	// KeyDir is the directory of the key file, private like the store's own. Empty means the
	// store's directory. Another directory is better, because a copied or restored store is
	// then useless without it.
	KeyDir string
	// MaxBytes bounds all blobs together. 0 means 512 MiB.
	MaxBytes int64
	// MaxBlob bounds a single blob. 0 means half of MaxBytes.
	MaxBlob int64
	Logger  *slog.Logger
}

// Store is a directory of sealed blobs. It is safe for concurrent use, and holds nothing
// open.
type Store struct {
	path string
	opts Options
	log  *slog.Logger
	aead cipher.AEAD

	mu     sync.Mutex          // guards warned
	warned map[string]struct{} // the errors that warnOnce has logged
}

// Open prepares the directory and the key.
func Open(path string, opts Options) (*Store, error) {
	s := &Store{path: path, opts: opts, log: opts.Logger, warned: make(map[string]struct{})}
	s.log = cmp.Or(s.log, slog.New(slog.DiscardHandler))
	if s.opts.MaxBytes <= 0 {
		s.opts.MaxBytes = 512 << 20
	}
	if s.opts.MaxBlob <= 0 {
		s.opts.MaxBlob = s.opts.MaxBytes / 2
	}
	s.opts.KeyDir = cmp.Or(s.opts.KeyDir, path)
	dir, err := OpenDir(path)
	if err != nil {
		return nil, err
	}
	_ = dir.Close()
	keyDir, err := OpenDir(s.opts.KeyDir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = keyDir.Close() }()
	s.aead, err = openKey(keyDir, s.log)
	return s, err
}

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
	if !isName(name) {
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

// touch records that a blob was used. It is best effort, because it only decides what is
// removed first.
func touch(f *os.File) {
	info, err := f.Stat()
	if err != nil || time.Since(info.ModTime()) < touchAfter {
		return
	}
	now := unix.NsecToTimeval(time.Now().UnixNano())
	_ = unix.Futimes(int(f.Fd()), []unix.Timeval{now, now})
}

// Put stores what fill writes, at most size bytes, under a name, and replaces an existing
// blob. After an error the existing blob may or may not be gone.
func (s *Store) Put(name string, size int64, fill func(io.Writer) error) error {
	switch {
	case !isName(name):
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

// write makes a file appear whole. It syncs nothing: damage by a power failure is a miss.
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

// Delete removes a blob.
func (s *Store) Delete(name string) error {
	dir, err := OpenDir(s.path)
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	if !isName(name) {
		return nil
	}
	return remove(dir, name+suffix)
}

func (s *Store) warnOnce(msg string, err error) {
	s.mu.Lock()
	_, again := s.warned[err.Error()]
	s.warned[err.Error()] = struct{}{}
	s.mu.Unlock()
	if !again {
		s.log.Warn(msg, slog.String("dir", s.path), slog.Any("error", err))
	}
}

// staleAfter is how long writing a file may take; older temporary files were left by a killed
// process.
const staleAfter = time.Hour

// prune removes the least recently used blobs until the rest is within the bound, but never
// the one that was just written, and also the leftovers of killed writers.
func (s *Store) prune(dir *os.File, keep string) error {
	if _, err := dir.Seek(0, io.SeekStart); err != nil {
		return err
	}
	entries, err := dir.ReadDir(-1)
	if err != nil {
		return err
	}
	var blobs []used
	var total int64
	for _, e := range entries {
		info, err := statAt(dir, e.Name())
		if err != nil {
			continue // removed meanwhile
		}
		switch {
		case strings.HasPrefix(e.Name(), tempPrefix):
			if time.Since(info.mtime) > staleAfter {
				_ = remove(dir, e.Name())
			}
		case strings.HasSuffix(e.Name(), suffix) && info.regular:
			blobs = append(blobs, info)
			total += info.size
		}
	}
	slices.SortFunc(blobs, func(a, b used) int { return a.mtime.Compare(b.mtime) })
	for _, b := range blobs {
		if total <= s.opts.MaxBytes {
			break
		}
		if b.name == keep {
			continue
		}
		if e := remove(dir, b.name); e != nil {
			err = errors.Join(err, e)
			continue
		}
		total -= b.size
	}
	return err
}

// used is a file and when it was last used.
type used struct {
	name    string
	size    int64
	mtime   time.Time
	regular bool
}

func statAt(dir *os.File, name string) (used, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(int(dir.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return used{}, err
	}
	return used{name, st.Size, time.Unix(st.Mtim.Unix()), st.Mode&unix.S_IFMT == unix.S_IFREG}, nil
}
