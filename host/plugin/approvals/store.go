package approvals

import (
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
)

// Store holds the records. Make one with Open.
type Store struct {
	path    string // empty keeps nothing
	log     *slog.Logger
	lockFor time.Duration

	mu      sync.Mutex // guards what follows; no file I/O under it
	now     file
	pending []func(*file) // unsaved changes
}

// Use records that a module is used now: the next one of its name, or in its file, is
// compared with what it reads.
func (s *Store) Use(m *Module) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.now.find(m.Name); r != nil && r.Digest == m.Digest && r.Path == m.Path && slices.Equal(r.Reads, m.Reads) {
		return
	}
	name, path, digest, reads := m.Name, m.Path, m.Digest, slices.Clone(m.Reads)
	s.edit(func(f *file) {
		f.leave(path)
		r := f.at(name)
		r.Path, r.Digest, r.Reads = path, digest, reads
		f.forget()
	})
}

// Approve lets a module be used, even against its current pin.
func (s *Store) Approve(m *Module) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now.approved(m) {
		return
	}
	name, word := m.Name, approval{m.Digest, strings.ToLower(m.Pin)}
	s.edit(func(f *file) {
		r := f.at(name)
		if !slices.Contains(r.Approved, word) {
			r.Approved = append(r.Approved, word)
		}
		r.Approved = r.Approved[max(0, len(r.Approved)-maxApproved):]
	})
}

// Gone records that a file no longer exists: a later file under that path is a new one. The
// name of its module stays known.
func (s *Store) Gone(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.ContainsFunc(s.now.Modules, func(r record) bool { return r.Path == path }) {
		s.edit(func(f *file) { f.leave(path) })
	}
}

// edit changes the records. The caller holds mu.
func (s *Store) edit(change func(*file)) {
	change(&s.now)
	if s.path != "" {
		s.pending = append(s.pending, change)
	}
}

// leave removes a path from the module that had it.
func (f *file) leave(path string) {
	for i := range f.Modules {
		if f.Modules[i].Path == path {
			f.Modules[i].Path = ""
		}
	}
}

// forget drops modules without a file while there are more than maxModules, those with the
// last names first.
func (f *file) forget() {
	for i := len(f.Modules) - 1; i >= 0 && len(f.Modules) > maxModules; i-- {
		if f.Modules[i].Path == "" {
			f.Modules = slices.Delete(f.Modules, i, i+1)
		}
	}
}
