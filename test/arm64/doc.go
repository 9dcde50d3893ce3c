// Package arm64 runs, on machines with another processor, those tests of other packages
// that are about code for arm64: they are compiled for it, and run by qemu's emulation of
// a program (qemu-aarch64-static, of Debian's qemu-user-static). Where that isn't installed
// it is skipped, and fails where nothing may be.
//
// # Limits
//
// No child processes: a program starts itself by /proc/self/exe, for which the machine's
// kernel would have to know qemu. qemu 7.2 has neither Landlock nor openat2. No time that
// is measured there means anything.
package arm64
