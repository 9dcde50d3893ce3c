// Package hostile has MCP servers that break rules, and one that doesn't: raw
// JSON-RPC, written by hand, since no library would let them.
//
// A [Mode] is a server on standard streams, run by the program in server;
// [HTTP] has those that are reached over HTTP. Every one says what it does and
// what has to become of it; test/mcp runs all of them behind a real agent and
// holds it to that.
//
// # Limits
//
// Nothing here harms the machine that it runs on, also where nothing holds it:
// what is filled, flooded and started is bounded, and what detaches itself ends
// after some minutes.
package hostile
