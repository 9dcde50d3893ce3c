// Package fake has an agent in memory, for the tests of programs that drive
// workspaces through client.Client: a chat server, say. No agent is started, no
// process, and no file of the machine is read or written.
//
//	agent := fake.New(fake.Options{})
//	defer agent.Close()
//	server := chat.NewServer(agent) // takes a client.Client
//
// # What it does
//
// It is held to the agent's contract by the suite of package clienttest. Processes
// are functions ([Options.Run]); by default a shell in memory, [Shell]. Files are a
// tree in memory ([Agent.Files]). What is found is what [Agent.Engine] publishes,
// what isn't committed is what [Agent.SetRepository] says, and MCP servers are what
// [Agent.SetMCPServers] says, their tools Go functions. Clients with other tokens
// are made by [Agent.WithToken], for other chats by [Agent.For].
//
// Tests make it fail: [Agent.Break] and [Agent.Resume] are a crash and a start of
// the agent, [Agent.LoseSupervisor] is the end of what holds the processes.
//
// # Concurrency
//
// All may be used by any number of goroutines. Time is that of package time, and
// everything that waits does so in a way that package testing/synctest knows, as
// long as Shell runs no pipeline and no here-document: those are real pipes.
//
// # Limits
//
// Nothing is confined: a process sees the whole tree, whatever its token's profile
// is, and secrets hold for the file calls alone. Processes use no CPU or
// memory that would be counted, end at once when they are killed, and a trap for
// SIGTERM is only what [Process.Trap] sets. A terminal is its size and no more.
// Repositories aren't made from files: a diff is what the test says, however large.
// MCP servers are in no snapshot, and no tool of one is ever held back. Nothing is throttled, and the bounds of requests aren't held but where the
// contract's suite says so. Tokens don't survive the test.
package fake
