package sealed

import (
	"crypto/cipher"
	"errors"
	"log/slog"
	"regexp"
	"sync"
	"time"
)

// ErrMiss says that there is no blob of that name that can be trusted.
var ErrMiss = errors.New("not in the store")

const (
	// magic begins every file; its last byte is the format's version. It is
	// sealed along, so that it can't be changed.
	magic     = "waymark sealed\x00\x01"
	nonceSize = 12
	tagSize   = 16
	overhead  = len(magic) + nonceSize + tagSize

	suffix     = ".sealed"
	tempPrefix = ".tmp-"

	// touchAfter is how old a time of last use may become before it is set
	// again: fresh enough for "least recently used" over days, without a write
	// for every read.
	touchAfter = 10 * time.Minute
)

// names are letters, digits, dots and dashes, and never hidden.
var validName = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z.-]{0,200}$`)

// Options configures a Store. The zero value works.
type Options struct {
	// KeyDir is the directory of the key file, private like the store's own.
	// Empty means the store's directory; elsewhere is better, since then a
	// copied or restored directory is worthless without it.
	KeyDir string
	// MaxBytes bounds all blobs together. 0 means 512 MiB.
	MaxBytes int64
	// MaxBlob bounds a single one. 0 means a half of MaxBytes.
	MaxBlob int64
	Logger  *slog.Logger
}

// Store is a directory of sealed blobs. Safe for concurrent use; it holds
// nothing open.
type Store struct {
	path string
	opts Options
	log  *slog.Logger
	aead cipher.AEAD

	mu   sync.Mutex          // guards said
	said map[string]struct{} // what was logged already
}

// Open prepares the directory and the key.
func Open(path string, opts Options) (*Store, error) {
	s := &Store{path: path, opts: opts, log: opts.Logger, said: make(map[string]struct{})}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.opts.MaxBytes <= 0 {
		s.opts.MaxBytes = 512 << 20
	}
	if s.opts.MaxBlob <= 0 {
		s.opts.MaxBlob = s.opts.MaxBytes / 2
	}
	if s.opts.KeyDir == "" {
		s.opts.KeyDir = path
	}
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

// Delete removes a blob.
func (s *Store) Delete(name string) error {
	dir, err := OpenDir(s.path)
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	if !validName.MatchString(name) {
		return nil
	}
	return remove(dir, name+suffix)
}

func (s *Store) warnOnce(msg string, err error) {
	s.mu.Lock()
	_, again := s.said[err.Error()]
	s.said[err.Error()] = struct{}{}
	s.mu.Unlock()
	if !again {
		s.log.Warn(msg, slog.String("dir", s.path), slog.Any("error", err))
	}
}
