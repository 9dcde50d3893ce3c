package approvals

import (
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
)

// Store is what is remembered. Make one with Open.
type Store struct {
	path    string // empty keeps nothing
	log     *slog.Logger
	lockFor time.Duration

	mu      sync.Mutex // guards what follows; no file I/O under it
	now     file
	pending []func(*file) // changes of now that aren't saved
}

// Use records that a module is used now: what it reads is what the next one of
// its name, or in its file, is compared with.
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

// Approve lets a module be used, also against the pin that it has now.
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

// Gone records that there is no such file any more: what comes under that path
// later is a new file. The name of the module that it held stays known.
func (s *Store) Gone(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.ContainsFunc(s.now.Modules, func(r record) bool { return r.Path == path }) {
		s.edit(func(f *file) { f.leave(path) })
	}
}

// edit changes what is remembered. The caller holds mu.
func (s *Store) edit(change func(*file)) {
	change(&s.now)
	if s.path != "" {
		s.pending = append(s.pending, change)
	}
}

// leave takes a path from the module that had it.
func (f *file) leave(path string) {
	for i := range f.Modules {
		if f.Modules[i].Path == path {
			f.Modules[i].Path = ""
		}
	}
}

// forget bounds the file: modules without one go first, those whose names come
// late in order.
func (f *file) forget() {
	for i := len(f.Modules) - 1; i >= 0 && len(f.Modules) > maxModules; i-- {
		if f.Modules[i].Path == "" {
			f.Modules = slices.Delete(f.Modules, i, i+1)
		}
	}
}
