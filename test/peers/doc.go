// Package peers tests what each kind of peer gets from the real agent, with trees as large
// as real ones. A hub gets everything, a Coder server a part. It has only tests.
//
// # What holds after each test
//
//   - Everything in the tree is listed, with name, description, hash and size, in the agent and in
//     the hub.
//   - The agent returns a text that is listed without its content, up to 1 MiB.
//   - A peer with limits gets what comes first.
//
// # Limits
//
// They build the programs, take half a minute, and are skipped by `go test -short`.
package peers
