package codecache

import "golang.org/x/sys/cpu"

// cpuFeatures are the bits that wazero compiles for, as in its
// internal/platform: the large system extensions.
func cpuFeatures() (bits uint64) {
	if cpu.ARM64.HasATOMICS {
		bits |= 1
	}
	return bits
}
