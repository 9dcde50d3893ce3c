// Mcpserver is the small MCP server of package servers, as a program. By the name of "hostile"
// it is one that breaks rules.
package main

import (
	"os"
	"path/filepath"

	"waymark/test/mcp/servers"
)

func main() {
	if filepath.Base(os.Args[0]) == "hostile" {
		os.Exit(servers.HostileMain(os.Args[1:]))
	}
	servers.Main()
}
