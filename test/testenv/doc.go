// Package testenv describes the machine and process of a test, and provides what a test
// needs: to run as an ordinary user, whose permissions apply even if root runs the tests;
// in memory; in parallel; against an address that nobody serves.
package testenv
