// Package arch holds the rules of Waymark's architecture and checks them: who
// may import what, and why not.
//
// Load asks the go command for the packages, Rules says what must hold, and
// Check compares the two. The package's test does all three; the checker
// itself is tested on made-up packages, so that a rule that no longer matches
// anything can't pass unnoticed.
//
// A package that is in no layer is a finding too: whoever adds a directory
// says in rules.go where it belongs. Files for other systems than the one that
// Load is asked for are not seen.
package arch
