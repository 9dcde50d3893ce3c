// Package mcp has only tests. They run the real agent on workspaces that configure MCP
// servers, and check what it promises about them.
//
//   - hostile_test.go: the servers of package hostile, each with its outcome, and
//     a well-behaved one beside them, which must not notice.
//   - escape_test.go: what a server must not reach.
//   - real_test.go: servers from npm, with every tool called over the agent's
//     socket.
//   - sdk_test.go: the same for the SDK's own examples, and paginated tools.
//   - endpoint_test.go: MCP at the agent's own address, by the token shown.
//   - inspector_test.go: everything that 'agent mcp serve' offers, requested by
//     the inspector from npm; with WAYMARK_LONG=1.
//   - kill_test.go: agents that are killed at any moment.
//   - early_test.go: agents that get requests while they start.
//   - trust_test.go: what needs a new approval before a byte of it runs.
//   - swap_test.go: an attacker who changes an approved file while it is started,
//     and changes it back; for an hour with WAYMARK_LONG=1.
//   - secrets_test.go: values that must not appear anywhere.
//   - conformance_test.go: the protocol's own conformance suite, with package session as
//     client and package mcpserver as server.
//   - bench_test.go: figures; `make bench-mcp` takes them.
//
// # Limits
//
// The tests need Linux (/proc, and Landlock for escape_test.go), and `go test -short` skips
// them. No test fails because a machine is slow: times are only logged.
package mcp
