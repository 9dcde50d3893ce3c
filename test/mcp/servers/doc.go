// Package servers has MCP servers for tests: a small one, made with the SDK, one over HTTP with its
// own authorization server ([Authority]), and many that break rules, which write raw JSON-RPC by
// hand, because no library would let them. It also has a client that asks a server one thing.
//
// The tools of the small one: echo (message), add (a, b), fail, steps (count), which reports
// progress, picture, which returns an image, long (bytes), and secret, which returns secrets that
// the server was given: the variable MCPSERVER_SECRET and its arguments. Scripts of the commands
// have it as a program; other tests build the program below this package.
//
// A [Mode] is a hostile server on standard streams, which that program is by the name of
// "hostile"; [HTTP] has those reached over HTTP. Each says what it does and what must become of
// it. test/mcp runs all of them behind a real agent and checks that.
//
// # Limits
//
// Nothing here harms the machine it runs on, even without confinement: what is filled,
// flooded and started is bounded, and detached processes end after some minutes.
package servers
