// Mcpserver is the MCP server of package mcpserver, as a program.
package main

import "waymark/test/mcpserver"

func main() { mcpserver.Main() }
