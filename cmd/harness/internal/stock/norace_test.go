//go:build !race

package stock_test

const raceEnabled = false
