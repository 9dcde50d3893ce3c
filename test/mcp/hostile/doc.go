// Package hostile has MCP servers that break rules, and one that doesn't. They write raw
// JSON-RPC by hand, because no library would let them.
//
// A [Mode] is a server on standard streams, run by the program in server; [HTTP] has those
// reached over HTTP. Each says what it does and what must become of it. test/mcp runs all
// of them behind a real agent and checks that.
//
// # Limits
//
// Nothing here harms the machine it runs on, even without confinement: what is filled,
// flooded and started is bounded, and detached processes end after some minutes.
package hostile
