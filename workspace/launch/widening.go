package launch

// Widening is what an approval allows a server beyond its profile. The zero Widening allows
// nothing.
type Widening struct {
	// Read and Write are absolute paths, or paths relative to the workspace, of files, or
	// of directories including everything below.
	Read  []string `json:"read,omitempty"`
	Write []string `json:"write,omitempty"`
	// Ports restricts TCP to these ports; nil doesn't restrict it, and an empty list
	// forbids it.
	Ports []uint16 `json:"ports,omitzero"`
	// Unix allows Unix sockets by path.
	Unix bool `json:"unix,omitempty"`
	// Env are the names of variables that the server also gets from the agent's
	// environment.
	Env []string `json:"env,omitempty"`
	// Unconfined means no profile.
	Unconfined bool `json:"unconfined,omitempty"`
	// Asks are what it may ask the callers of its tools, of agentapi.MCPAsks.
	Asks []string `json:"asks,omitempty"`
}
