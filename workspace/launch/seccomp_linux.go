package launch

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// Offsets in what a filter sees, struct seccomp_data: the low halves of arguments,
// on the little-endian machines that there are filters for.
const (
	offNumber = 0
	offArch   = 4
	offArgs   = 16
)

// x32 is the bit of system calls of the x32 ABI, which on amd64 are others under
// the same architecture.
const x32 = 0x40000000

// architecture is what a filter has to know of a machine.
type architecture struct {
	audit uint32 // AUDIT_ARCH_*
	x32   bool
	// Numbers of system calls.
	socket, socketpair, ioUring uint32
	// modes change modes, owners and extended attributes.
	modes []uint32
}

var architectures = map[string]architecture{
	"amd64": {audit: unix.AUDIT_ARCH_X86_64, x32: true, socket: 41, socketpair: 53, ioUring: 425, modes: []uint32{
		90, 91, 268, 452, // chmod, fchmod, fchmodat, fchmodat2
		92, 93, 94, 260, // chown, fchown, lchown, fchownat
		188, 189, 190, 463, // setxattr, lsetxattr, fsetxattr, setxattrat
		197, 198, 199, 466, // removexattr, lremovexattr, fremovexattr, removexattrat
		469, // file_setattr
	}},
	"arm64": {audit: unix.AUDIT_ARCH_AARCH64, socket: 198, socketpair: 199, ioUring: 425, modes: []uint32{
		52, 53, 452, // fchmod, fchmodat, fchmodat2
		55, 54, // fchown, fchownat
		5, 6, 7, 463, // setxattr, lsetxattr, fsetxattr, setxattrat
		14, 15, 16, 466, // removexattr, lremovexattr, fremovexattr, removexattrat
		469, // file_setattr
	}},
}

// hasFilter reports whether there is a filter of system calls for this machine.
func hasFilter() bool {
	_, ok := architectures[runtime.GOARCH]
	return ok
}

// filterCalls cuts the system calls that a profile cuts. The filter is of this
// thread and what it executes.
func filterCalls(p *Profile) error {
	if !needsFilter(p) {
		return nil
	}
	arch, ok := architectures[runtime.GOARCH]
	if !ok {
		return fmt.Errorf("%w: there is no filter of system calls for %s", ErrUnsupported, runtime.GOARCH)
	}
	raw, err := bpf.Assemble(filter(p, arch))
	if err != nil {
		return err
	}
	program := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		program[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	fprog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}                                         //nolint:gosec // some dozens
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&fprog))) //nolint:gosec // that is how the kernel takes it
	if errno != 0 {
		return fmt.Errorf("%w: the kernel takes no filter of system calls: %w", ErrUnsupported, errno)
	}
	return nil
}

func needsFilter(p *Profile) bool { return p.NoUnix || p.NoTCP || p.Ports != nil || p.KeepModes }

// filter returns the filter of a profile: sockets of some kinds and changes of modes
// are refused, and what could make them by another way. Programs of other architectures, whose
// system calls have other numbers, are killed.
func filter(p *Profile, arch architecture) []bpf.Instruction {
	deny := func(errno unix.Errno) bpf.Instruction {
		return bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(errno)} //nolint:gosec // some hundreds at most
	}
	// only returns instructions that run if the value in the register is val.
	only := func(val uint32, body ...bpf.Instruction) []bpf.Instruction {
		return append([]bpf.Instruction{bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: val, SkipTrue: uint8(len(body))}}, body...) //nolint:gosec // few
	}
	argument := func(n uint32) bpf.Instruction { return bpf.LoadAbsolute{Off: offArgs + 8*n, Size: 4} }
	allow := bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW}

	program := []bpf.Instruction{bpf.LoadAbsolute{Off: offArch, Size: 4}}
	program = append(program,
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: arch.audit, SkipTrue: 1},
		bpf.RetConstant{Val: unix.SECCOMP_RET_KILL_PROCESS},
		bpf.LoadAbsolute{Off: offNumber, Size: 4})
	if arch.x32 {
		program = append(program, bpf.JumpIf{Cond: bpf.JumpGreaterOrEqual, Val: x32, SkipFalse: 1}, deny(unix.ENOSYS))
	}
	// A ring can do without a system call what is refused here.
	program = append(program, only(arch.ioUring, deny(unix.EACCES))...)
	if p.KeepModes {
		for _, call := range arch.modes {
			program = append(program, only(call, deny(unix.EPERM))...)
		}
	}

	socket := []bpf.Instruction{argument(0)}
	if p.NoUnix {
		socket = append(socket, only(unix.AF_UNIX, deny(unix.EACCES))...)
		// Who may not send to a socket by its path must not have a pair of datagram
		// sockets either: each of them can.
		pair := append([]bpf.Instruction{argument(1), bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: 0xf}}, only(unix.SOCK_STREAM, allow)...)
		pair = append(append(pair, only(unix.SOCK_SEQPACKET, allow)...), deny(unix.EACCES))
		program = append(program, only(arch.socketpair, pair...)...)
	}
	if p.NoTCP {
		socket = append(socket, only(unix.AF_INET, deny(unix.EACCES))...)
		socket = append(socket, only(unix.AF_INET6, deny(unix.EACCES))...)
	}
	if p.Ports != nil {
		// Landlock's ports are those of TCP as such. What the kernel says where it
		// has no MPTCP makes programs take TCP.
		socket = append(append(socket, argument(2)), only(unix.IPPROTO_MPTCP, deny(unix.EPROTONOSUPPORT))...)
	}
	program = append(program, only(arch.socket, append(socket, allow)...)...)
	return append(program, allow)
}
