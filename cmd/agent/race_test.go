//go:build race

package main

// raceEnabled says that the race detector makes compiling ten times slower.
const raceEnabled = true
