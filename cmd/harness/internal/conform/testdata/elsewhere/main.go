// Command elsewhere is a module of resolvers that do everything right, but for
// one thing each where the text of place is another, as it is in a copy of this
// module that a test makes.
package main

import (
	"errors"
	"io/fs"
	"strings"

	guest "waymark/sdk-guest"
)

func main() {}

// place has a text of the same length in the copies. In the second describe
// differs, too.
var place = "this is where it was built"

func is(text string) bool { return strings.HasSuffix(place, text) }

func init() {
	var resolvers []guest.Resolver
	for _, r := range []struct {
		name string
		do   func(*guest.Response) error
	}{
		{"agrees", func(*guest.Response) error { return nil }},
		{"answers", func(r *guest.Response) error { r.Resources[0].Name = "another"; return nil }},
		{"warns", func(r *guest.Response) error { r.Warnings = append(r.Warnings, "it is cold here"); return nil }},
		{"fails", func(*guest.Response) error { return errors.New("not here, thank you") }},
		{"crashes", func(*guest.Response) error { panic("it is dark here") }},
		{"never-ends", func(r *guest.Response) error {
			for r != nil {
			}
			return nil
		}},
	} {
		resolvers = append(resolvers, guest.Resolver{
			Name: r.name, Kinds: []guest.Kind{guest.InstructionFile}, Summary: "rules/*.md", Reads: []string{"rules/*.md"},
			Resolve: func(req *guest.Request, root fs.FS) (*guest.Response, error) {
				resp := rules(req, root)
				if is("elsewhere") && len(resp.Resources) > 0 {
					return resp, r.do(resp)
				}
				return resp, nil
			},
		})
	}
	if is("far away") {
		resolvers[0].Summary = place
	}
	guest.Serve(guest.Module{Name: "elsewhere", Version: "1.0.0", Resolvers: resolvers})
}

func rules(req *guest.Request, root fs.FS) *guest.Response {
	resp := &guest.Response{}
	if req.Root.Role != "" || req.Root.File != "" {
		return resp
	}
	entries, _ := fs.ReadDir(root, "rules")
	for _, e := range entries {
		if len(resp.Resources) == req.Limits.MaxResources {
			break
		}
		if strings.HasSuffix(e.Name(), ".md") && !e.IsDir() {
			path := "rules/" + e.Name()
			resp.Resources = append(resp.Resources, guest.Resource{Kind: guest.InstructionFile, Path: path, Content: guest.File(path)})
		}
	}
	return resp
}
