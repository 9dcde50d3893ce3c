package host

import "waymark/snapshot"

// Provider makes resources that resolvers can't: those that only a running program can
// report, such as the tools of MCP servers. Its resources are capped, ordered, hashed and
// pushed like all others, after those of resolvers. The Host sets Rank, Root, DropIn and
// Provided of its candidates.
//
// Its methods may be called from any goroutine, and return at once.
type Provider interface {
	// Resources returns the current resources. Nobody changes them afterwards.
	Resources() []snapshot.Candidate
	// Discovery returns what is still pending, and the state of each source.
	Discovery() snapshot.Discovery
	// Changed returns a channel that is closed when the resources or the discovery have
	// changed since the call. Call Changed before reading either.
	Changed() <-chan struct{}
}
