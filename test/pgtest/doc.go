// Package pgtest provides PostgreSQL databases for tests.
//
// Database makes a new database for each test, on the server that WAYMARK_TEST_POSTGRES
// names (a URL whose user may create databases), or on a server that is started once per
// test binary from the programs of Debian's package: unprivileged, on a socket in its own
// directory, without fsync. If they are missing, or this user can't run them, the test is
// skipped with that reason; with WAYMARK_REQUIRE_ALL it fails. With -short it is always
// skipped.
//
// A package with such tests must call Main or Exit from its TestMain, which stops the
// server at the end. If the test process dies, the kernel stops it.
//
// Start starts a server for a single test, which may kill it.
//
// All servers sort text by the rules of a language, not by bytes, to reveal queries that
// rely on byte order without saying so.
package pgtest
