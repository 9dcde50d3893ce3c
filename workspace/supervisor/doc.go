// Package supervisor holds processes that outlive the agent: a small program of
// its own starts them, keeps their output in a bounded spool and their exit codes,
// and is found again by the next agent.
//
// An agent calls [Open], which connects to the supervisor of a state directory or
// starts one, and has a [Client]. The other side is a program whose main knows the
// [Roles]: cmd/supervisor, or the agent itself where that isn't installed. A
// supervisor ends by itself when nothing is held: no agent is connected, nothing
// runs, detached processes included, and what has ended did so five minutes ago.
// What it kept stays in the state directory for the next one.
//
// # Guarantees
//
//   - One supervisor holds a state directory, however many are started at once.
//   - A process ends with its agent, or with a connection, only when it is owned
//     (Client.StartOwned). Then everything that it has started ends with it,
//     detached or not, within five seconds, also when the agent or the supervisor
//     is killed.
//   - A start with a token, or a tracked one, happens once, as long as the process
//     is held, and across agents and supervisors: a start that may have happened is
//     in the journal before it does.
//   - Who sees that a process has ended can read all of its output, but for what
//     the spool had to drop: its first MiB and the newest stay. A page says where it
//     begins, so a gap shows, and nothing is read twice.
//   - Where something that a process has started keeps its output open, the end is
//     told 5 seconds after it. What is written later is thrown away; who writes it
//     doesn't notice.
//   - What a process leaves behind when it ends lives on, until Client.Stop.
//   - When a supervisor is killed, the next one lists what that held: what had
//     ended as it was, the rest as lost, with the output until then. What still runs
//     of it, the same by pid, start time and boot, is ended with its session, for
//     nobody reads what it writes. Calls that were open end with ErrLost.
//   - Both sides speak a range of versions of the protocol. Where those don't meet,
//     the agent says so and what to do, and what runs goes on running.
//
// # Security
//
// Both sides are the same user, which the kernel tells, and show that they know
// a key that only that user can read, in the state directory: a process that may
// not read that directory can dial the socket, and nothing more. A profile is
// applied by the shim of package launch.
//
// Where the kernel can hold signals, a confined process of a chat can signal what that chat
// has started under the same fence, and nothing else. Each of the last 16 chats that have
// started something has a process of its own for that, of 1.5 MB, which ends when nothing
// is held; what a chat that was before those has left can be signaled by Client.Signal only.
//
// # Concurrency
//
// A Client is for any number of goroutines, each call for as long as its context.
// In the program of the supervisor nothing else may run: it takes the exits of all
// children, so nothing there can use package os/exec.
//
// # Limits
//
// See [Limits] for what is kept. An owned process whose guard (its parent, a
// process of this package) is killed itself lives on below the supervisor, until
// Stop. Without a subreaper, so anywhere but on Linux, what detaches itself gets
// away. Another user's processes, of sudo say, can't be signaled.
package supervisor
