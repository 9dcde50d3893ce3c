//go:build !linux

package testenv

// UseMemory does nothing: only Linux has such a place.
func UseMemory() {}
