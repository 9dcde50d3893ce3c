// Package pgtest gives tests PostgreSQL databases.
//
// Database makes a new database for each test. It is on the server that
// WAYMARK_TEST_POSTGRES names (a URL whose user may create databases), or else
// on one that is started, once per test binary, from the programs that
// Debian's package installs: unprivileged, on a socket in a directory of its
// own, without fsync. Where there are none, or this user can't run them, the
// test is skipped, and says so; with WAYMARK_REQUIRE_ALL it fails. With -short
// it is skipped everywhere.
//
// The package whose tests use Database calls Main, or Exit, from its TestMain, which
// stops the server at the end. Should the tests die, the kernel stops it.
//
// Start starts a server for one test alone, which may kill it.
//
// All servers sort text by the rules of a language, not by bytes, so that a
// query that relies on byte order without saying so shows.
package pgtest
