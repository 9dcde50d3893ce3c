// Server is an MCP server on its standard streams that breaks rules; package
// hostile has its modes.
package main

import (
	"os"

	"waymark/test/mcp/hostile"
)

func main() { os.Exit(hostile.Main(os.Args[1:])) }
