// Command panicking stands in for the built-in module, and panics.
package main

import (
	"io/fs"

	"waymark/sdk-guest"
)

func main() {}

func init() {
	guest.Serve(guest.Module{Name: "waymark", Version: "1.0.0", Resolvers: []guest.Resolver{{
		Name: "instructions", Kinds: []guest.Kind{guest.InstructionFile}, Reads: []string{"AGENTS.md"},
		Resolve: func(*guest.Request, fs.FS) (*guest.Response, error) { panic("this resolver always panics") },
	}}})
}
