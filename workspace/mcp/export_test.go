package mcp

// Dialer is what speaks with servers.
type Dialer = dialer

// SetDialer has a Service speak through d, so that tests need no processes.
func (o *Options) SetDialer(d Dialer) { o.dialer = d }
