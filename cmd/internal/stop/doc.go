// Package stop ends a program when a signal asks it to, whatever else goes on in
// it.
//
// # Guarantees
//
//   - After SIGTERM or SIGINT the process is gone within [Bound], or within
//     the time that [Allow] has set. The context of [Main] ends at once; what doesn't
//     end by itself is ended by force. What was acknowledged before
//     is as safe as in a crash of the program, and whoever acknowledges has to
//     make it so.
//   - A second signal ends the process at once, as that signal would without
//     this package.
//   - A process in which no goroutine runs any more, because one of them is in
//     native code that doesn't come back and a collection waits for it, ends
//     by itself (see [Main]), also without a signal.
//
// The last two, and the first in such a process, can't be done by a goroutine.
// On Linux two POSIX timers of the kernel do it: one, armed by the first
// signal, on a clock that stands still while the machine sleeps; one on the
// process's own processor time, which a goroutine puts off after each second of that
// time. A machine that sleeps or starves uses no processor time, so it trips nothing,
// and a process that rests isn't woken up.
// On amd64 the signals meet a handler of this package first, a few lines of
// assembly, which arms the first timer even when no goroutine runs.
//
// # Limits
//
// Elsewhere on Linux the first timer is armed by a goroutine, and a process
// whose goroutines all stand still ends by the second timer alone. On other
// systems there are only goroutines.
package stop
