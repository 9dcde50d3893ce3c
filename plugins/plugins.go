// Package plugins holds the built-in resolvers as one module. plugins/builtin
// links it into wasm; tests run it natively.
package plugins

import (
	"waymark/plugins/instructions"
	"waymark/plugins/mcpconfig"
	"waymark/plugins/skills"
	guest "waymark/sdk-guest"
)

// Module returns the built-in module.
func Module() guest.Module {
	return guest.Module{
		Name:    "waymark",
		Version: "1.0.0",
		Resolvers: []guest.Resolver{
			instructions.Resolver(),
			skills.Resolver(),
			mcpconfig.Resolver(),
		},
	}
}
