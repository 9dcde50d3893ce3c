// Package plugins holds the built-in resolvers as one module. plugins/builtin
// links it into wasm; tests run it natively.
package plugins

import (
	"sync"

	"waymark/plugins/agentfiles"
	"waymark/plugins/conventions"
	"waymark/plugins/hooks"
	"waymark/plugins/mcpconfig"
	guest "waymark/sdk-guest"
)

// Module returns the built-in module. Its tables are made ready once.
var Module = sync.OnceValue(func() guest.Module {
	return guest.Module{
		Name:    "waymark",
		Version: "1.0.0",
		Resolvers: []guest.Resolver{
			agentfiles.Resolver(conventions.All),
			hooks.Resolver(conventions.All),
			mcpconfig.Resolver(),
		},
	}
})
