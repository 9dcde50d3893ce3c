package approvals

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gofrs/flock"

	"waymark/internal/atomicfile"
	"waymark/internal/errtext"
)

const (
	fileVersion = 1
	// maxFile bounds what is read, in bytes: some thousand modules with a few patterns each.
	maxFile = 8 << 20
	// maxModules and maxApproved bound the records. Nobody has so many, and forgotten ones
	// count as new.
	maxModules  = 4096
	maxApproved = 64
	// defaultLockFor is how long a change waits for that of another agent, which takes
	// milliseconds.
	defaultLockFor = 5 * time.Second
	lockEvery      = 5 * time.Millisecond
)

// file is the stored form, in order of names.
type file struct {
	Version int `json:"version"`
	// Closed says that the records were lost, and Why: unknown modules have to wait.
	Closed  bool     `json:"closed,omitempty"`
	Why     string   `json:"why,omitempty"`
	Modules []record `json:"modules"`
}

// record is one module, by name.
type record struct {
	Name string `json:"name"`
	// Path, Digest and Reads are those of the file that was used last; empty if none was.
	// Path is also empty if that file is gone.
	Path     string     `json:"path"`
	Digest   string     `json:"digest"`
	Reads    []Read     `json:"reads"`
	Approved []approval `json:"approved,omitempty"`
}

// approval is the operator's approval of one file, given under one pin.
type approval struct {
	Digest string `json:"digest"`
	Pin    string `json:"pin,omitempty"`
}

// Open reads the records in a file. A missing file counts as empty. With an empty path,
// records last as long as the Store. It logs an untrusted file, see the package comment. A
// nil log logs nothing.
func Open(path string, log *slog.Logger) *Store {
	log = cmp.Or(log, slog.New(slog.DiscardHandler))
	s := &Store{path: path, log: log, lockFor: defaultLockFor, now: file{Version: fileVersion}}
	if path == "" {
		return s
	}
	f, err := read(path)
	if err != nil {
		f = s.closed(err)
	}
	s.now = *f
	if f.Closed {
		log.Warn("approvals of plugins are lost: plugins wait for 'agent plugins approve'; remove the file to begin anew",
			slog.String("file", path), slog.String("why", f.Why))
	}
	return s
}

// closed returns the records for an untrusted file, and makes that state outlive this
// process.
func (s *Store) closed(err error) *file {
	why := errtext.Of(err)
	s.pending = append(s.pending, func(f *file) { f.Closed, f.Why = true, cmp.Or(f.Why, why) })
	return &file{Version: fileVersion, Closed: true, Why: why}
}

// Save applies the changes to the current file.
func (s *Store) Save() error {
	s.mu.Lock()
	changes := s.pending
	s.mu.Unlock()
	if s.path == "" || len(changes) == 0 {
		return nil
	}
	next, err := s.write(changes)
	if err != nil {
		return fmt.Errorf("approvals of plugins are not kept: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending = s.pending[len(changes):]
	for _, later := range s.pending {
		later(next)
	}
	s.now = *next
	return nil
}

func (s *Store) write(changes []func(*file)) (_ *file, err error) {
	if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
		return nil, err
	}
	lock := flock.New(s.path+".lock", flock.SetPermissions(0o600))
	ctx, cancel := context.WithTimeout(context.Background(), s.lockFor)
	defer cancel()
	if _, err := lock.TryLockContext(ctx, lockEvery); err != nil {
		return nil, fmt.Errorf("%s: %w: is another agent stopped?", lock.Path(), err)
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	f, err := read(s.path)
	if err != nil {
		s.log.Warn("the file of approvals was spoilt and is made anew", slog.String("file", s.path), slog.Any("error", err))
		if err := os.Rename(s.path, s.path+".broken"); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		f = s.known()
	}
	for _, change := range changes {
		change(f)
	}
	data, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return nil, err
	}
	return f, atomicfile.WriteFile(s.path, append(data, '\n'), 0o600)
}

// known returns a copy of what this Store knows.
func (s *Store) known() *file {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.now
	f.Modules = slices.Clone(f.Modules)
	for i := range f.Modules {
		f.Modules[i].Approved = slices.Clone(f.Modules[i].Approved)
	}
	return &f
}
