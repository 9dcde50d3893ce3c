// Package mcp has tests only: they run the real agent over workspaces that
// configure MCP servers, and hold it to what it promises of them.
//
//   - hostile_test.go: the servers of package hostile, each with its outcome, and
//     one that behaves beside them, which must not notice.
//   - escape_test.go: what a server must not reach.
//   - real_test.go: servers from npm, every tool of theirs called over the agent's
//     socket.
//   - sdk_test.go: the same for the SDK's own examples, and tools that come in pages.
//   - endpoint_test.go: MCP at the agent's own address, by who shows which token.
//   - inspector_test.go: everything that 'agent mcp serve' offers, asked for by the inspector
//     from npm; with WAYMARK_LONG=1.
//   - kill_test.go: agents that are killed at any moment.
//   - early_test.go: agents that are asked while they start.
//   - trust_test.go: what is asked about again, before a byte of it runs.
//   - swap_test.go: somebody who changes what was approved while it is started, and changes
//     it back; an hour of that with WAYMARK_LONG=1.
//   - secrets_test.go: values that must not be seen anywhere.
//   - bench_test.go: figures; `make bench-mcp` takes them.
//
// # Limits
//
// They need Linux (/proc, and Landlock for escape_test.go), and are left out of
// `go test -short`. No test fails because a machine is slow: times are logged.
package mcp
