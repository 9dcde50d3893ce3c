// Package mcpconfig is the built-in resolver for MCP configuration files:
// .mcp.json at the top level of a root, or the file that a root of role "mcp"
// names.
//
// # Guarantees
//
// Such files hold tokens. The resolver checks the form and reports the path,
// never anything that stands in the file, except the name of a server in the
// error; the host keeps neither text nor error.
//
// # Limits
//
// A file longer than the host keeps is reported unchecked: its status is
// oversize whatever it holds.
package mcpconfig

import (
	"io/fs"

	"waymark/abi"
	"waymark/plugins/internal/wellknown"
	"waymark/plugins/mcpconfig/servers"
	guest "waymark/sdk-guest"
)

// Name is the resolver's name.
const Name = "mcp-config"

const fileName = ".mcp.json"

// Resolver returns the resolver.
func Resolver() guest.Resolver {
	return guest.Resolver{
		Name:    Name,
		Kinds:   []guest.Kind{guest.MCPConfig},
		Summary: ".mcp.json at the top level",
		Reads:   []string{fileName},
		Resolve: resolve,
	}
}

func resolve(req *guest.Request, root fs.FS) (*guest.Response, error) {
	name, ok := target(req.Root)
	if !ok {
		return nil, nil
	}
	limit := req.MaxBytes()
	text, read, state := wellknown.Read(root, name, make([]byte, limit+1))
	if state == wellknown.Absent {
		return nil, nil
	}
	r := guest.Resource{Kind: guest.MCPConfig, Path: name, Content: guest.File(name)}
	switch {
	case state == wellknown.Invalid:
		r.Error = wellknown.LinkToDirectory
	case read && len(text) <= limit:
		r.Error = servers.Check(servers.Claude, text)
	}
	if r.Error != "" {
		r.Status = abi.StatusInvalid
		r.Error = guest.Truncate(r.Error, abi.MaxError)
	}
	return &guest.Response{Resources: []guest.Resource{r}}, nil
}

// target says which file of a root is looked at.
func target(root guest.Root) (name string, ok bool) {
	switch {
	case root.Role != abi.RoleNone && root.Role != abi.RoleMCP:
		return "", false
	case root.File == "":
		return fileName, true
	case root.Role == abi.RoleMCP || root.File == fileName:
		return root.File, true
	}
	return "", false
}
