// Package built has programs and resolver modules for tests, built from the source
// as it is now, once per machine: [Guest] a resolver module in Go, [AssemblyScript]
// one in that language, [Programs] what else a test starts.
//
// # Guarantees
//
// What go build has made is kept in a directory of the user's, under a name with a
// digest of all that it is made from: the files of this module that it depends on, what
// they embed, the versions of Go and of other modules, and the arguments. As long as the digest is
// the same nothing is built or linked again, by no test process, and in no other
// checkout of the same source. A path that was returned never changes its content.
// Builds are reproducible: no paths, no version control stamps.
//
// All that counts is read in the test's own process, so that go test repeats no
// result of other source.
//
// The compiler of AssemblyScript, and what else package-lock.json names, is
// installed once, into a directory whose name is a hash of that, so that a later
// run installs nothing and needs no network. The source directory is left as it
// is: no node_modules appears in it. Where npm is missing, or the registry can't
// be reached, a test is skipped and says so; with WAYMARK_REQUIRE_ALL it fails.
//
// # Concurrency
//
// Everything may be called by many goroutines and processes at once. One of them
// builds, and the others wait for it: there is a lock for each package. Each installs
// in a directory of its own, and the first one is kept.
//
// # Limits
//
// What builds needs the go command, and a working directory inside this module. The
// last eight results of each package are kept. AssemblyScript needs node and npm in
// PATH; old installations of some 100 MB each aren't removed.
package built
