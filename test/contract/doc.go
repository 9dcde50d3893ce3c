// Package contract has one test only: it runs the suite that client.Client's
// implementations are held to against the real agent, over its socket, with the
// processes, files and git of this machine.
//
// # Limits
//
// It takes about a minute and the building of the programs, needs git, and is left out of `go test -short`.
package contract
