// Mcpserver is the MCP server of package mcpserver, as a program. By the name of "hostile"
// it is one that breaks rules, of package hostile.
package main

import (
	"os"
	"path/filepath"

	"waymark/test/mcp/hostile"
	"waymark/test/mcpserver"
)

func main() {
	if filepath.Base(os.Args[0]) == "hostile" {
		os.Exit(hostile.Main(os.Args[1:]))
	}
	mcpserver.Main()
}
