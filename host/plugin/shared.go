package plugin

import (
	"context"
	"sync"

	"waymark/host/sandbox"
)

// Shared has the built-in module loaded once for several Catalogs with the same one. It frees
// the module when the last of them is closed or, with Keep, when it is closed itself. The zero
// value is empty. It is safe for concurrent use.
type Shared struct {
	// Keep keeps what has been loaded until Close, for Catalogs that follow each other. It is
	// set before the first use.
	Keep bool

	mu      sync.Mutex // guards modules, and is held while one is loaded
	modules map[sharedKey]*sharedModule
}

type sharedKey struct {
	digest string
	limits sandbox.Limits
}

type sharedModule struct {
	*sandbox.Module
	users int
}

// take returns the module of a key, which load loads if nobody uses it. The caller calls
// leave with the key when it no longer does.
func (s *Shared) take(ctx context.Context, key sharedKey, load func(context.Context) (*sandbox.Module, error)) (*sandbox.Module, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.modules[key]
	if m == nil {
		loaded, err := load(ctx)
		if err != nil {
			return nil, err
		}
		if s.modules == nil {
			s.modules = map[sharedKey]*sharedModule{}
		}
		m = &sharedModule{Module: loaded}
		s.modules[key] = m
	}
	m.users++
	return m.Module, nil
}

func (s *Shared) leave(key sharedKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := s.modules[key]; m != nil {
		if m.users--; m.users == 0 && !s.Keep {
			delete(s.modules, key)
			_ = m.Close()
		}
	}
}

// Close frees what Keep has kept. No Catalog may use it any longer.
func (s *Shared) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.modules {
		_ = m.Close()
	}
	s.modules = nil
}
