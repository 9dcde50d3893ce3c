package approvals

import "time"

// LockFor has the Store wait that long for another agent.
func (s *Store) LockFor(d time.Duration) { s.lockFor = d }

// Saved reports whether there is nothing to save.
func (s *Store) Saved() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.path == "" || len(s.pending) == 0
}
