package resolve

import (
	"cmp"

	"waymark/plugins/mcpconfig/servers"
)

// explainMCP says why a file that its resolver calls invalid isn't a valid MCP configuration.
// Such files hold tokens, so the text contains no value of the file, and at most a key. place
// determines the expected format.
func explainMCP(place string, data []byte) string {
	return printable(cmp.Or(servers.Check(servers.ShapeOf(place), data), "not a valid MCP configuration"), maxShown)
}
