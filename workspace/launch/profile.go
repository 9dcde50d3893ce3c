package launch

// Profile is what a started program may do: an allow-list that the kernel holds
// it and everything that it starts to. The zero Profile allows nothing.
type Profile struct {
	// Name is told to people: "plan", "secrets", "git".
	Name string `json:"name"`
	// Read and Write are absolute paths without links: directories with all that
	// is below them, or files. Write includes reading. What doesn't exist is
	// skipped. Whatever can be read can be executed.
	Read  []string `json:"read,omitempty"`
	Write []string `json:"write,omitempty"`
	// Ports are the TCP ports that may be connected to; nil allows all, and
	// listening too.
	Ports []uint16 `json:"ports,omitempty"`
	// NoTCP closes TCP altogether.
	NoTCP bool `json:"no_tcp,omitempty"`
	// NoUnix cuts Unix sockets by path, which the kernel doesn't mediate
	// otherwise: an ssh-agent, docker, D-Bus, the agent's own.
	NoUnix bool `json:"no_unix,omitempty"`
}
