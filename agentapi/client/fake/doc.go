// Package fake has an agent in memory, for tests of programs that drive workspaces through
// client.Client, such as a chat server. It starts no agent and no process, and touches no
// file of the machine.
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
// What the fake implements behaves as in the agent: the suite of package clienttest holds
// both to it. Processes are Go functions ([Options.Programs]), and so are tools of MCP
// servers ([Options.MCP]). Files are a tree in memory ([Agent.Files]). [Agent.Engine]
// publishes snapshots. [Agent.For] makes clients for other chats, [Agent.WithToken] for
// other tokens. Tests can inject failures: [Agent.Break] and [Agent.Resume] crash and
// restart the agent, [Agent.LoseSupervisor] ends the supervisor that holds the processes.
//
// # Concurrency
//
// Everything may be used by any number of goroutines. Time is that of package time, and
// every wait works with package testing/synctest.
//
// # Limits
//
// There is no shell: a command is looked up as a whole, or split into a program's name and
// its arguments. A signal ends a process at once. Files have no links, modes and owners.
// Nothing is confined, throttled or bounded: there are no profiles and no secret list, all
// output is kept, and results of tools are never cut. Of a token only the scopes, the plan
// and the expiry count, and a minted token can't mint another one.
//
// [Options.Rest] answers everything else: git, sources, plugins, the views of other coding
// agents, approvals and logs of MCP servers, terminal sizes, tracked starts, lists of
// tokens.
package fake
