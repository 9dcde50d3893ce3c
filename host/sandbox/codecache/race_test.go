//go:build race

package codecache_test

const raceEnabled = true
