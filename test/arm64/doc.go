// Package arm64 runs other packages' tests of code for arm64 on machines with another
// processor. They are cross-compiled and run by qemu's user mode emulation
// (qemu-aarch64-static, from Debian's qemu-user-static). Without that, the test is skipped,
// or fails if nothing may be skipped.
//
// # Limits
//
// No child processes: a program executes itself through /proc/self/exe, which would require
// the kernel to know qemu. qemu 7.2 supports neither Landlock nor openat2. Measured times
// are meaningless.
package arm64
