// Package built provides programs and resolver modules for tests, built from the current
// source once per machine: [Guest] a resolver module in Go, [AssemblyScript] one in that
// language, [Programs] other programs.
//
// # Guarantees
//
// Results of go build are kept in a directory of the user, under a name with a digest of
// everything that they depend on: this module's files including embedded ones, the versions
// of Go and of other modules, and the arguments. While the digest is the same, no test
// process builds or links again, even in another checkout of the same source. The content
// of a returned path never changes. Builds are reproducible: no paths, no version control
// stamps.
//
// Everything relevant is read in the test's own process, so that go test doesn't reuse
// results for other source.
//
// The AssemblyScript compiler and the other packages in package-lock.json are installed
// once, into a directory named by a hash of that file, so that later runs need no
// installation and no network. The source directory stays unchanged: it gets no
// node_modules. If npm or the registry is unavailable, a test is skipped with that reason;
// with WAYMARK_REQUIRE_ALL it fails.
//
// # Concurrency
//
// Everything may be called by many goroutines and processes at once. A lock for each
// package makes one of them build and the others wait. Installations use separate
// directories, and the first one is kept.
//
// # Limits
//
// Building requires the go command and a working directory inside this module. The last
// eight results of each package are kept. AssemblyScript requires node and npm in PATH; old
// installations, of some 100 MB each, aren't removed.
package built
