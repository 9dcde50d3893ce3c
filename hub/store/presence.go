package store

import (
	"context"
	"time"
)

// Presence is offered by a store that several hubs may share: it lets each know
// which agents are connected to the others. What a hub says holds for a while
// only, so that one that is killed isn't believed for ever.
type Presence interface {
	// Present says which agents are connected to the hub of this id, for the
	// next ttl, in place of what it said before. No agents takes it back.
	Present(ctx context.Context, hub string, agents []string, ttl time.Duration) error
	// Elsewhere lists, in byte order, the agents that are connected to other
	// hubs than this one.
	Elsewhere(ctx context.Context, hub string) ([]string, error)
}
