package launch

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// Offsets in struct seccomp_data: the low halves of arguments on little-endian machines,
// the only ones with a filter.
const (
	offNumber = 0
	offArch   = 4
	offArgs   = 16
)

// x32 is the bit in the numbers of x32 system calls, which share the architecture of amd64.
const x32 = 0x40000000

// architecture has the system call numbers of a machine.
type architecture struct {
	audit uint32 // AUDIT_ARCH_*
	x32   bool
	// Numbers of single system calls.
	socket, socketpair, listen, setsockopt, ioUring uint32
	// sends are sendto, sendmsg and sendmmsg. Their flags are the fourth, third and fourth
	// argument.
	sends [3]uint32
	// modes change modes, owners and extended attributes.
	modes []uint32
	// sched set the scheduling of the thread in their first argument: sched_setparam,
	// sched_setscheduler, sched_setaffinity, sched_setattr.
	sched                           []uint32
	setpriority, ioprioSet, prlimit uint32
	// compat is for 32-bit programs. Only the numbers above that it needs are set.
	compat *architecture
}

var architectures = map[string]architecture{
	"amd64": {audit: unix.AUDIT_ARCH_X86_64, x32: true, socket: 41, socketpair: 53, listen: 50, setsockopt: 54, ioUring: 425, modes: []uint32{
		90, 91, 268, 452, // chmod, fchmod, fchmodat, fchmodat2
		92, 93, 94, 260, // chown, fchown, lchown, fchownat
		188, 189, 190, 463, // setxattr, lsetxattr, fsetxattr, setxattrat
		197, 198, 199, 466, // removexattr, lremovexattr, fremovexattr, removexattrat
		469, // file_setattr
	}, sends: [3]uint32{44, 46, 307}, sched: []uint32{142, 144, 203, 314}, setpriority: 141, ioprioSet: 251, prlimit: 302,
		compat: &architecture{audit: unix.AUDIT_ARCH_I386, sched: []uint32{154, 156, 241, 351}, setpriority: 97, ioprioSet: 289, prlimit: 340}},
	"arm64": {audit: unix.AUDIT_ARCH_AARCH64, socket: 198, socketpair: 199, listen: 201, setsockopt: 208, ioUring: 425, modes: []uint32{
		52, 53, 452, // fchmod, fchmodat, fchmodat2
		55, 54, // fchown, fchownat
		5, 6, 7, 463, // setxattr, lsetxattr, fsetxattr, setxattrat
		14, 15, 16, 466, // removexattr, lremovexattr, fremovexattr, removexattrat
		469, // file_setattr
	}, sends: [3]uint32{206, 211, 269}, sched: []uint32{118, 119, 122, 274}, setpriority: 140, ioprioSet: 30, prlimit: 261,
		compat: &architecture{audit: unix.AUDIT_ARCH_ARM, sched: []uint32{154, 156, 241, 380}, setpriority: 97, ioprioSet: 314, prlimit: 369}},
}

// hasFilter reports whether there is a filter for this machine.
func hasFilter() bool {
	_, ok := architectures[runtime.GOARCH]
	return ok
}

// filterCalls installs the filter of a profile in this thread and what it executes. If
// possible, it returns a listener, for decide; it returns none under another filter with a
// listener.
func filterCalls(p *Profile) (listener *os.File, err error) {
	arch, ok := architectures[runtime.GOARCH]
	switch {
	case !ok && p.cutsCalls():
		return nil, fmt.Errorf("%w: there is no filter of system calls for %s", ErrUnsupported, runtime.GOARCH)
	case !ok:
		return nil, nil //nolint:nilnil // of which Weaknesses tells
	}
	fd, err := install(filter(p, &arch, true), unix.SECCOMP_FILTER_FLAG_NEW_LISTENER)
	if err == nil {
		return os.NewFile(fd, "listener"), nil
	}
	if errors.Is(err, unix.EBUSY) {
		if _, err = install(filter(p, &arch, false), 0); err == nil {
			return nil, nil //nolint:nilnil // as above
		}
	}
	return nil, fmt.Errorf("%w: the kernel takes no filter of system calls: %w", ErrUnsupported, err)
}

// install installs a filter in this thread.
func install(filter []bpf.Instruction, flags uintptr) (listener uintptr, err error) {
	raw, err := bpf.Assemble(filter)
	if err != nil {
		return 0, err
	}
	program := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		program[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	fprog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}                                                    //nolint:gosec // some dozens
	listener, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&fprog))) //nolint:gosec // that is how the kernel takes it
	if errno != 0 {
		return 0, errno
	}
	return listener, nil
}

// Parts of filters. The accumulator holds the number of the system call until a part
// handles that.

// pass allows the call.
var pass = []bpf.Instruction{bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW}}

func deny(errno unix.Errno) []bpf.Instruction {
	return []bpf.Instruction{bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(errno)}} //nolint:gosec // some hundreds at most
}

// load loads a 32-bit word of seccomp_data, argument the low half of an argument.
func load(off uint32) []bpf.Instruction {
	return []bpf.Instruction{bpf.LoadAbsolute{Off: off, Size: 4}}
}
func argument(n uint32) []bpf.Instruction { return load(offArgs + 8*n) }

// only runs parts if the accumulator is val.
func only(val uint32, parts ...[]bpf.Instruction) []bpf.Instruction {
	body := slices.Concat(parts...)
	return append([]bpf.Instruction{bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: val, SkipTrue: uint8(len(body))}}, body...) //nolint:gosec // few
}

// but denies everything except some values.
func but(errno unix.Errno, values ...uint32) []bpf.Instruction {
	var list []bpf.Instruction
	for i, val := range values {
		list = append(list, bpf.JumpIf{Cond: bpf.JumpEqual, Val: val, SkipTrue: uint8(len(values) - i)}) //nolint:gosec // few
	}
	return append(list, deny(errno)...)
}

// filter returns the filter of a profile. Programs of other architectures are killed,
// because their system calls have other numbers. 32-bit programs run if the profile
// restricts only actions on other processes. With a listener, that decides about those.
func filter(p *Profile, arch *architecture, listener bool) []bpf.Instruction {
	native := load(offNumber)
	if arch.x32 {
		native = append(append(native, bpf.JumpIf{Cond: bpf.JumpGreaterOrEqual, Val: x32, SkipFalse: 1}), deny(unix.ENOSYS)...)
	}
	native = append(native, toOthers(arch, listener)...)
	if p.cutsCalls() {
		// io_uring could bypass the restrictions.
		native = slices.Concat(native, only(arch.ioUring, deny(unix.EACCES)), sockets(p, arch))
	}
	if p.KeepModes {
		for _, call := range arch.modes {
			native = append(native, only(call, deny(unix.EPERM))...)
		}
	}
	native = append(native, pass...)
	other := []bpf.Instruction{bpf.RetConstant{Val: unix.SECCOMP_RET_KILL_PROCESS}}
	if c := arch.compat; !p.cutsCalls() {
		other = slices.Concat([]bpf.Instruction{bpf.JumpIf{Cond: bpf.JumpEqual, Val: c.audit, SkipTrue: 1}}, other, load(offNumber), toOthers(c, listener), pass)
	}
	return slices.Concat(load(offArch),
		[]bpf.Instruction{bpf.JumpIf{Cond: bpf.JumpEqual, Val: arch.audit, SkipTrue: 1}, bpf.Jump{Skip: uint32(len(native))}}, //nolint:gosec // some dozens
		native, other)
}

// ioprioUser is IOPRIO_WHO_USER.
const ioprioUser = 3

// toOthers denies setting limits, priorities and processors of any thread but the calling
// one (0), because the kernel only requires the same user. The filter can't tell whether
// another number is a thread of the caller.
func toOthers(arch *architecture, listener bool) []bpf.Instruction {
	var list []bpf.Instruction
	self := but(unix.EPERM, 0)
	if listener {
		self[1] = bpf.RetConstant{Val: unix.SECCOMP_RET_USER_NOTIF}
	}
	for _, call := range arch.sched {
		list = append(list, only(call, argument(0), self, pass)...)
	}
	// PRIO_USER with 0 means all processes of the user.
	for _, c := range [][2]uint32{{arch.setpriority, unix.PRIO_USER}, {arch.ioprioSet, ioprioUser}} {
		list = append(list, only(c[0], argument(0), only(c[1], deny(unix.EPERM)), argument(1), self, pass)...)
	}
	// Without new limits, prlimit only reads them.
	asks := slices.Concat(argument(2), self, load(offArgs+8*2+4), self)
	own := []bpf.Instruction{bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipTrue: uint8(len(asks))}} //nolint:gosec // few
	return append(list, only(arch.prlimit, argument(0), own, asks, pass)...)
}

// sockets restricts kinds of sockets, and other ways around Landlock's ports.
func sockets(p *Profile, arch *architecture) []bpf.Instruction {
	const kindBits = 0xf // socket type without flags
	kind := append(argument(1), bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: kindBits})
	socket, pair := argument(0), argument(0)
	if p.NoUnix {
		socket = append(socket, only(unix.AF_UNIX, deny(unix.EACCES))...)
	}
	if p.NoTCP || p.Ports != nil {
		// Other families use TCP (SMC, RDS), or reach the network like TCP (VSOCK, TIPC).
		families := []uint32{unix.AF_UNIX, unix.AF_NETLINK}
		if p.Ports != nil {
			families = append(families, unix.AF_INET, unix.AF_INET6)
		}
		socket = append(socket, but(unix.EACCES, families...)...)
		pair = append(pair, but(unix.EACCES, unix.AF_UNIX)...)
	}
	var ports []bpf.Instruction
	if p.Ports != nil {
		ports = aroundPorts(arch)
		// Programs fall back to TCP on this error, which kernels without MPTCP, SMC or SCTP
		// return.
		inet := slices.Concat(kind, but(unix.EPROTONOSUPPORT, unix.SOCK_STREAM, unix.SOCK_DGRAM), argument(2),
			but(unix.EPROTONOSUPPORT, 0, unix.IPPROTO_TCP, unix.IPPROTO_UDP, unix.IPPROTO_ICMP, unix.IPPROTO_ICMPV6), pass)
		socket = slices.Concat(socket, only(unix.AF_INET, inet), only(unix.AF_INET6, inet))
	}
	if p.NoUnix {
		// With a pair of datagram sockets, a program could send to any Unix socket by its
		// path.
		pair = slices.Concat(pair, kind, but(unix.EACCES, unix.SOCK_STREAM, unix.SOCK_SEQPACKET))
	}
	return slices.Concat(ports, only(arch.socket, socket, pass), only(arch.socketpair, pair, pass))
}

// aroundPorts closes the ways around Landlock's TCP ports: sending with TCP Fast Open
// connects, and listening without bind binds to a port of the kernel's choice. SMC can
// replace TCP in a socket. The filter can't tell whether a socket is TCP, so it forbids all
// listening.
func aroundPorts(arch *architecture) []bpf.Instruction {
	var list []bpf.Instruction
	flags := []uint32{3, 2, 3}
	for i, call := range arch.sends {
		fast := []bpf.Instruction{bpf.JumpIf{Cond: bpf.JumpBitsNotSet, Val: unix.MSG_FASTOPEN, SkipTrue: 1}}
		list = append(list, only(call, argument(flags[i]), fast, deny(unix.EOPNOTSUPP), pass)...)
	}
	none := deny(unix.ENOPROTOOPT)
	option := slices.Concat(argument(2), only(unix.TCP_FASTOPEN_CONNECT, none), only(unix.TCP_ULP, none))
	return slices.Concat(list, only(arch.setsockopt, argument(1), only(unix.IPPROTO_TCP, option), pass), only(arch.listen, deny(unix.EACCES)))
}
