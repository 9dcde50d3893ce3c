//go:build !linux

package sealed

func adviseHuge([]byte) {}
