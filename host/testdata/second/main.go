// Command second is a second module besides dropin, with a name of its own.
package main

import (
	"io/fs"

	guest "waymark/sdk-guest"
)

func main() {}

func init() {
	guest.Serve(guest.Module{
		Name: "second", Version: "0.1.0",
		Resolvers: []guest.Resolver{{
			Name: "rows", Kinds: []guest.Kind{guest.Command}, Reads: []string{"docs/**"},
			Resolve: func(*guest.Request, fs.FS) (*guest.Response, error) {
				return &guest.Response{Resources: []guest.Resource{
					{Kind: guest.Command, Path: "docs/a.md", Content: guest.File("docs/a.md"), Name: "second"},
				}}, nil
			},
		}},
	})
}
