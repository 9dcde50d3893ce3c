//go:build !amd64 && !arm64

package codecache

// cpuFeatures is 0 where wazero has no compiler: nothing is ever cached.
func cpuFeatures() uint64 { return 0 }
