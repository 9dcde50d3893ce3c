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
	"strconv"

	"waymark/abi"
	"waymark/plugins/internal/wellknown"
	guest "waymark/sdk-guest"
	"waymark/sdk-guest/jsonlite"
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
	text, read, state := wellknown.Read(root, name, limit+1)
	if state == wellknown.Absent {
		return nil, nil
	}
	r := guest.Resource{Kind: guest.MCPConfig, Path: name, Content: guest.File(name)}
	switch {
	case state == wellknown.Invalid:
		r.Error = wellknown.LinkToDirectory
	case read && len(text) <= limit:
		r.Error = Check(text)
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

// Check says what is wrong with the text of an MCP configuration, or nothing.
// It takes what encoding/json takes: duplicate keys and bad UTF-8 are no
// error, and null stands for missing servers.
func Check(text []byte) string {
	doc, err := jsonlite.Parse(text, jsonlite.Options{AllowDuplicates: true, AllowInvalidUTF8: true})
	if err != nil {
		return err.Error()
	}
	if doc.Kind() != jsonlite.Object {
		return "it is " + string(doc.Kind()) + ", not an object"
	}
	for key, servers := range doc.Members() {
		if key != "mcpServers" || servers.Kind() == jsonlite.Null {
			continue
		}
		if servers.Kind() != jsonlite.Object {
			return "mcpServers is " + string(servers.Kind()) + ", not an object"
		}
		for name, server := range servers.Members() {
			if server.Kind() != jsonlite.Object {
				return "server " + strconv.Quote(name) + " is " + string(server.Kind()) + ", not an object"
			}
		}
	}
	return ""
}
