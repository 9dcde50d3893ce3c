// Package agent is the agent as a daemon: it looks after one workspace, pushes snapshots to
// a hub, serves the local API and acts for chats, until it is told to end.
//
// [New] puts together what the packages below host find, what those below workspace do, and
// the hub that a user's agents share; [Agent.Run] has it run. [Look] looks at a workspace once, as
// an agent would. An [Instance] is how other programs of the user find a running agent.
//
// # Guarantees
//
//   - What can be wrong with options, files and ports is found by New, before anything is
//     started; an error with the method ExitCode says that an option is wrong.
//   - One agent runs for a workspace: a second one gets [server.ErrRunning].
//   - A configuration that can't be read changes nothing: the one before stays in force.
//   - Where the agent can't write its state, it goes on, and says what it can't do.
//   - It writes to no standard stream. Tokens and the contents of files are in no log line and
//     no error.
//
// # Concurrency
//
// Methods of an Agent may be called by any number of goroutines while it runs, but for Run
// and Close, which are called once each. An Agent listens to SIGHUP. While it starts, it
// changes the percentage of the garbage collector, which is the whole program's.
//
// # Limits
//
// The program has to call [reexec.Main] with [Roles] before anything else, and give the
// result as Program.Compiler and Program.Self: without it, modules are compiled in this process,
// and processes are held only where the program for that is installed.
package agent
