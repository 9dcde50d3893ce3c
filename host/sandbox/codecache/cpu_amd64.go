package codecache

import "golang.org/x/sys/cpu"

// cpuFeatures are the bits that wazero compiles for, as in its
// internal/platform: SSE 4.1, BMI1 and ABM. nativeName notices a difference.
func cpuFeatures() (bits uint64) {
	if cpu.X86.HasSSE41 {
		bits |= 1
	}
	if cpu.X86.HasBMI1 {
		bits |= 2
	}
	if cpu.X86.HasBMI1 && cpu.X86.HasBMI2 && cpu.X86.HasPOPCNT {
		bits |= 4
	}
	return bits
}
