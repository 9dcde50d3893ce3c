// This file helps tests that run resolvers without a catalog of
// modules.

package guesttest

import (
	"context"

	"waymark/host/resolve"
	"waymark/host/sandbox"
)

// Module is a module that is loaded already. Closing it is the caller's.
func Module(m *sandbox.Module) resolve.Module {
	return resolve.Module{
		Name: m.Description().Name, Version: m.Description().Version, Digest: m.Digest(),
		Get: func(context.Context) (*sandbox.Module, error) { return m, nil },
	}
}
