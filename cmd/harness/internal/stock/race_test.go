//go:build race

package stock_test

const raceEnabled = true
