// Package peers has tests only: the real agent over trees as large as people have them,
// and what each kind of peer gets of it. A hub takes all, and a Coder server its share.
//
// # What holds after each of them
//
//   - What is in the tree is listed, with name, description, hash and size, in the agent
//     and in the hub.
//   - A text that is listed without can be had of the agent, up to 1 MiB.
//   - What a peer gets is what comes first, up to the peer's bounds.
//
// # Limits
//
// They build the programs, take half a minute, and are left out of `go test -short`.
package peers
