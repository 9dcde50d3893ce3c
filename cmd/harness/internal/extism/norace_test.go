//go:build !race

package extism_test

const raceEnabled = false
