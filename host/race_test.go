//go:build race

package host_test

// The race detector makes loading a module 20 times slower, and the tables
// hold no concurrency of their own: a share of each is enough to find races.
const raceShare = 12
