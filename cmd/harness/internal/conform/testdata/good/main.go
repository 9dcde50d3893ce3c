// Command good is a module with a resolver that does everything right, and
// nothing special.
package main

import (
	"errors"
	"io/fs"
	"strings"
	"syscall"

	guest "waymark/sdk-guest"
)

func main() {}

func init() {
	guest.Serve(guest.Module{Name: "good", Version: "1.0.0", Resolvers: []guest.Resolver{{
		Name: "rules", Kinds: []guest.Kind{guest.InstructionFile}, Summary: "rules/*.md",
		Reads: []string{"rules/*.md"}, Resolve: resolve,
	}}})
}

func resolve(req *guest.Request, root fs.FS) (*guest.Response, error) {
	if req.Root.Role != "" || req.Root.File != "" {
		return nil, nil
	}
	resp := &guest.Response{}
	entries, err := fs.ReadDir(root, "rules")
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			resp.Warnings = append(resp.Warnings, "rules: "+err.Error())
		}
		return resp, nil
	}
	for _, e := range entries {
		if len(resp.Resources) == req.Limits.MaxResources {
			break
		}
		if !strings.HasSuffix(e.Name(), ".md") || e.IsDir() {
			continue
		}
		path := "rules/" + e.Name()
		r := guest.Resource{Kind: guest.InstructionFile, Path: path, Content: guest.File(path)}
		text, err := guest.ReadHead(root, path, 4096)
		if err == nil {
			line, _, _ := strings.Cut(string(text), "\n")
			r.Description = guest.Truncate(line, 200)
		}
		resp.Resources = append(resp.Resources, r)
	}
	return resp, nil
}
