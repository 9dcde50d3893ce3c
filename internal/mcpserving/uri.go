package mcpserving

import (
	"encoding/hex"
	"encoding/json"
	"strings"
)

// Resources of servers have the URIs of the servers with a scheme in front that names the
// server: mcp.SERVER+scheme:rest. Clients change schemes to lower case and take only some
// characters in them, so that other names of servers are encoded.
const (
	uriPrefix  = "mcp."
	uriEncoded = "x-"
	// uiScheme is that of MCP Apps, which clients look for, and tools name.
	uiScheme = "ui://"
)

// URI returns how clients of ours call a resource of a server, or a template of these.
func URI(server, uri string) string {
	if strings.HasPrefix(uri, uiScheme) {
		return uri
	}
	name := server
	if strings.HasPrefix(name, uriEncoded) || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-.") != "" || name == "" {
		name = uriEncoded + hex.EncodeToString([]byte(server))
	}
	return uriPrefix + name + "+" + uri
}

// ServerURI undoes URI. The server is empty for a URI that any server may have.
func ServerURI(uri string) (server, original string, ok bool) {
	if strings.HasPrefix(uri, uiScheme) {
		return "", uri, true
	}
	rest, ok := strings.CutPrefix(uri, uriPrefix)
	if !ok {
		return "", "", false
	}
	name, original, ok := strings.Cut(rest, "+")
	if !ok || original == "" {
		return "", "", false
	}
	if code, encoded := strings.CutPrefix(name, uriEncoded); encoded {
		data, err := hex.DecodeString(code)
		return string(data), original, err == nil
	}
	return name, original, name != ""
}

// Items decodes the items in a list of a result. One that can't be decoded is left out.
func Items[T any](result json.RawMessage, member string) (list []*T) {
	var members map[string]json.RawMessage
	var items []json.RawMessage
	if json.Unmarshal(result, &members) != nil || json.Unmarshal(members[member], &items) != nil {
		return nil
	}
	for _, item := range items {
		one := new(T)
		if json.Unmarshal(item, one) == nil {
			list = append(list, one)
		}
	}
	return list
}
