// Package stop ends a program when a signal asks it to, whatever else it is doing.
//
// # Guarantees
//
//   - After SIGTERM or SIGINT the process is gone within [Bound], or within the time set by [Allow].
//     The context of [Main] ends at once; what doesn't end by itself is ended by force. What was
//     acknowledged before is as safe as in a crash, so whoever acknowledges must ensure that.
//   - A second signal ends the process at once, as that signal would without this package.
//   - If no goroutine runs any more, because one is in native code that doesn't return and a garbage
//     collection waits for it, the process ends by itself (see [Main]), even without a signal.
//
// A goroutine can't ensure the last two, nor the first in such a process. On Linux two
// POSIX timers of the kernel do. The first signal arms one of them; its clock stands still
// while the machine sleeps. The other uses the process's own processor time, and a
// goroutine resets it after each second of that time. A machine that sleeps or starves uses
// no processor time, so it doesn't trigger that timer, and an idle process isn't woken up.
// On amd64 a signal handler of this package, a few lines of assembly, runs first and arms
// the first timer even if no goroutine runs.
//
// # Limits
//
// On other architectures of Linux a goroutine arms the first timer, so that a process whose
// goroutines all stand still is ended only by the second one. On other systems there are
// only goroutines.
package stop
