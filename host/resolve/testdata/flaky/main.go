// Command flaky is a resolver that finds every *.md at the top level, and
// fails in the way that a file's presence asks for.
package main

import (
	"errors"
	"io/fs"
	"strings"

	"waymark/sdk-guest"
)

func main() {}

func init() {
	guest.Serve(guest.Module{Name: "flaky", Version: "1.0.0", Resolvers: []guest.Resolver{{
		Name: "flaky", Kinds: []guest.Kind{guest.InstructionFile}, Reads: []string{"*"}, Resolve: resolve,
	}}})
}

func resolve(_ *guest.Request, root fs.FS) (*guest.Response, error) {
	entries, err := fs.ReadDir(root, ".")
	if err != nil {
		return nil, err
	}
	var resp guest.Response
	for _, e := range entries {
		switch name := e.Name(); {
		case name == "crash":
			panic("crash is there")
		case name == "error":
			return nil, errors.New("error is there")
		case name == "inline":
			resp.Resources = append(resp.Resources, guest.Resource{
				Kind: guest.InstructionFile, Path: name, Content: guest.Inline("made up"),
			})
		case strings.HasSuffix(name, ".md"):
			head, err := guest.ReadHead(root, name, 100)
			if err != nil {
				return nil, err
			}
			resp.Resources = append(resp.Resources, guest.Resource{
				Kind: guest.InstructionFile, Path: name, Content: guest.File(name), Name: name, Description: string(head),
			})
		}
	}
	return &resp, nil
}
