// Command panics has the name of the built-in module and finds nothing.
package main

import (
	"io/fs"

	guest "waymark/sdk-guest"
)

func main() {}

func init() {
	guest.Serve(guest.Module{
		Name: "waymark", Version: "1.0.0",
		Resolvers: []guest.Resolver{{
			Name: "context", Kinds: []guest.Kind{guest.InstructionFile}, Reads: []string{"AGENTS.md"},
			Resolve: func(*guest.Request, fs.FS) (*guest.Response, error) { panic("the built-in resolver is broken") },
		}},
	})
}
