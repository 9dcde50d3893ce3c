// Package supervisor holds processes that outlive the agent. A small separate program
// starts them, keeps their exit codes and their output in a bounded spool, and reconnects
// to the next agent.
//
// An agent calls [Open] to get a [Client]. Open connects to the supervisor of a state
// directory, or starts one. The supervisor is a program whose main runs the [Roles]:
// cmd/supervisor, or the agent itself if that isn't installed. A supervisor ends by itself
// when no agent is connected, nothing runs (including detached processes), and the last
// process ended five minutes ago. Its files stay in the state directory for the next
// supervisor.
//
// # Guarantees
//
//   - Only one supervisor holds a state directory, however many are started at once.
//   - A process ends with its agent, or with a connection, only if it is owned
//     (Client.StartOwned). Then everything that it has started ends within five seconds,
//     detached or not, even if the agent or the supervisor is killed.
//   - A start with a token and a tracked start happen only once while the process is held, even
//     across agents and supervisors: the journal records a start before it happens.
//   - When a process is reported as ended, all of its output can be read, except what the spool
//     had to drop; it keeps the first MiB and the newest output. A page says where it begins, so
//     that gaps are visible and nothing is read twice.
//   - If a child process keeps the output open, the end is reported 5 seconds after the exit.
//     Later output is discarded without an error for its writer.
//   - Processes that a process leaves behind keep running until Client.Stop.
//   - After a supervisor was killed, the next one lists its processes: those that had ended
//     unchanged, the others as lost, with their output so far. A process that still runs,
//     identified by pid, start time and boot, is ended with its session, because nobody reads
//     its output. Calls in progress return ErrLost.
//   - Both sides support a range of protocol versions. If the ranges don't overlap, the agent
//     says so and what to do, and the processes keep running.
//
// # Security
//
// Both sides have the same user, which the kernel verifies, and prove that they know a key
// in the state directory that only that user can read. A process that may not read that
// directory can connect to the socket, but nothing more. The shim of package launch applies
// profiles.
//
// If the kernel can restrict signals, a confined process of a chat can only signal
// processes that the same chat has started under the same fence. For this, each of the last
// 16 chats that have started something has a starter process of 1.5 MB, which ends when
// nothing is held. Processes of earlier chats can only be signaled by Client.Signal.
//
// # Concurrency
//
// A Client may be used by any number of goroutines; each call ends with its context. The
// supervisor's program reaps all children, so nothing else in it may use package os/exec.
//
// # Limits
//
// See [Limits] for what is kept. If the guard of an owned process (its parent, a process of
// this package) is killed, the owned process lives on below the supervisor until Stop.
// Without a subreaper, that is anywhere but on Linux, detached processes escape. Processes
// of another user, for example of sudo, can't be signaled.
package supervisor
