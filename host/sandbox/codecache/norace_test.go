//go:build !race

package codecache_test

const raceEnabled = false
