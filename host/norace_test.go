//go:build !race

package host_test

const raceShare = 1
