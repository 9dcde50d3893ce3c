// Command panicking stands in for the built-in module, and panics.
package main

import (
	"io/fs"

	"waymark/sdk-guest"
)

func main() {}

func init() {
	guest.Serve(guest.Module{Name: "waymark", Version: "1.0.0", Resolvers: []guest.Resolver{{
		Name: "context", Kinds: []guest.Kind{guest.InstructionFile}, Reads: []string{"AGENTS.md"},
		Resolve: resolve,
	}}})
}

// resolve prints what it reads first.
func resolve(_ *guest.Request, root fs.FS) (*guest.Response, error) {
	text, _ := fs.ReadFile(root, "AGENTS.md")
	println(string(text))
	panic("this resolver always panics")
}
