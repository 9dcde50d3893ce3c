package resolve

import (
	"cmp"

	"waymark/plugins/mcpconfig/servers"
)

// explainMCP says why a file that its resolver calls invalid isn't a valid MCP
// configuration, in words that hold no value of the file: such files hold
// tokens. It names at most a key. The place says in which shape the file is.
func explainMCP(place string, data []byte) string {
	return printable(cmp.Or(servers.Check(servers.ShapeOf(place), data), "not a valid MCP configuration"), maxShown)
}
