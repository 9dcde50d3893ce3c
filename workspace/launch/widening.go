package launch

// Widening is what a server may do beyond its profile, as somebody has approved it.
// The zero Widening is nothing.
type Widening struct {
	// Read and Write are absolute paths, or relative to the workspace: directories
	// with all that is below them, or files.
	Read  []string `json:"read,omitempty"`
	Write []string `json:"write,omitempty"`
	// Ports narrows TCP to these ports; nil leaves it open, and an empty list closes
	// it.
	Ports []uint16 `json:"ports,omitzero"`
	// Unix allows Unix sockets by path.
	Unix bool `json:"unix,omitempty"`
	// Env are names of the agent's variables that the server gets, too.
	Env []string `json:"env,omitempty"`
	// Unconfined does without a profile.
	Unconfined bool `json:"unconfined,omitempty"`
}
