// Package fake has an agent in memory, for the tests of programs that drive
// workspaces through client.Client: a chat server, say. No agent is started, no
// process, and no file of the machine is read or written.
//
//	agent := fake.New(fake.Options{Programs: map[string]fake.Program{
//		"make test": func(_ context.Context, p *fake.Process) int {
//			fmt.Fprintln(p.Output, "FAIL")
//			return 1
//		},
//	}})
//	defer agent.Close()
//	server := chat.NewServer(agent) // takes a client.Client
//
// # Guarantees
//
// What it does, it does as the agent: the suite of package clienttest holds both to
// it. Processes are Go functions ([Options.Programs]), files are a tree in memory
// ([Agent.Files]), tools of MCP servers are Go functions, too ([Options.MCP]), and
// snapshots are what [Agent.Engine] publishes. Clients for other chats are made by
// [Agent.For], with other tokens by [Agent.WithToken]. Tests make it fail:
// [Agent.Break] and [Agent.Resume] are a crash and a start of the agent,
// [Agent.LoseSupervisor] is the end of what holds the processes.
//
// # Concurrency
//
// All may be used by any number of goroutines. Time is that of package time, and
// everything that waits does so in a way that package testing/synctest knows.
//
// # Limits
//
// There is no shell: a command is looked up as a whole, or is the name of a program
// and words for it. A signal ends a process at once. Files have no links, modes and
// owners. Nothing is confined, throttled or bounded: there are no profiles and no
// secret list, an output is kept whole, a result of a tool is never too long, and of a
// token only the scopes, the plan and the end count; one that was minted mints no other.
//
// All else is answered by [Options.Rest]: git, sources, plugins, the views of other
// coding agents, approvals and logs of MCP servers, the sizes of terminals, tracked
// starts, lists of tokens.
package fake
