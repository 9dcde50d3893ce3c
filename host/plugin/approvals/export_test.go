package approvals

import "time"

// Patience has the Store wait that long for another agent.
func (s *Store) Patience(d time.Duration) { s.lockFor = d }
