// Command latency measures the agent from end to end, as `make bench-latency`
// prints it: the time from an edit to its being stored in the hub, the CPU time
// and the wake-ups that costs, the time from the start of the process to the first
// push, the time to a graceful end, and resident memory.
//
// # How it is measured
//
//   - The agent is the real program, in a process of its own, with a home of
//     its own. The hub is in the measuring process, with its real database on
//     disk, and notes the time when a push has been committed: nothing is
//     polled, and the agent isn't asked for anything meanwhile.
//   - An edit begins just before the file is opened for writing (in place) or
//     just before the rename (rename save), and ends when a push that holds the
//     new text has been stored. Each edit has a text of its own. One that a chat
//     has the agent make begins with the call.
//   - CPU time is the whole process's over many edits, including what follows
//     them: new spare instances, garbage collection, saving memos. The part of
//     resolving is that of a second agent whose hub can't be reached; the rest
//     is the push.
//   - Wake-ups are voluntary switches of all threads, those of the Go runtime's
//     own (which looks after busy ones every 20 µs, then less often) included.
//   - A file that is written in two steps is stored half written when the hub got
//     a push with just the first; the pauses between are from a seed.
//   - Another version is measured in alternation: edit by edit, start by start,
//     each program with a hub, a workspace and a home of its own. What else goes on
//     at the machine weighs on both.
//   - A cold start has an empty home: neither native code nor memos. The
//     agent's program itself is in the page cache.
//   - What several agents hold together is the sum of their proportional sizes
//     (PSS): a page that all have, as those of the program are, counts once.
//   - Figures are medians and 95th percentiles; the fastest is beside them,
//     since a busy machine adds to everything else.
//
// # Concurrency
//
// A Bench measures one thing after the other.
//
// # Limits
//
// CPU time and memory are read from Linux's /proc; times of CPU in steps of 10
// ms, which over 50 edits are 0.2 ms. That of a whole life, from the start over the
// first push to the end, is the kernel's account of a process that has ended, which
// is exact, and says more than the clock does where the machine has other work. The
// hub takes CPU of the same machine.
package main
