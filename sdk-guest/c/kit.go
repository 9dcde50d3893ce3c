// Package c is where the C kit for resolvers lives: waymark.h, whose comments
// are its reference. `harness new --lang c` puts it into a project as
// sdk/waymark.h.
//
// There is nothing to import here. The tests compile the header, as strictly as
// compilers can, into a program that a fuzz test compares with the Go SDK, and
// into a module that runs in the host's own sandbox.
package c
