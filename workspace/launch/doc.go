// Package launch starts programs: in a session and process group of their own,
// with an environment, limits and, where it is asked for, under a Profile that
// the kernel holds them to.
//
// Between the starter and the program stands the shim ([Main]): a small program
// that sets what only a process can set for itself, and then becomes the program.
// A [Program] says how the shim is started, a [Spec] what it starts, and a
// [Command] is one start.
package launch
