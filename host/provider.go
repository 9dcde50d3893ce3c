package host

import "waymark/snapshot"

// Provider makes resources that no resolver may make: what has to be asked of a
// running program, such as the tools of MCP servers. Its resources are capped,
// ordered, hashed and pushed as all others are, and it starts nothing for that. They
// come after all that resolvers find: Rank, Root, DropIn and Provided of a candidate
// are the Host's to set.
//
// Its methods may be called from any goroutine, and return at once.
type Provider interface {
	// Resources are those that there are now. Nobody changes them afterwards.
	Resources() []snapshot.Candidate
	// Discovery says what is still to come, and what became of each source.
	Discovery() snapshot.Discovery
	// Changed returns a channel that is closed when either has changed since the
	// call. Ask for it before asking for them.
	Changed() <-chan struct{}
}
