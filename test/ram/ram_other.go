//go:build !linux

package ram

// Use does nothing: only Linux has such a place.
func Use() {}
