//go:build linux

package launch

import (
	"encoding/binary"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// TestFilter runs the filters in a machine of their own: a test can't make the
// system calls of another architecture. That the kernel takes them is tested with
// real programs.
func TestFilter(t *testing.T) {
	const (
		i386   = uint32(unix.AUDIT_ARCH_I386)
		allow  = uint32(unix.SECCOMP_RET_ALLOW)
		kill   = uint32(unix.SECCOMP_RET_KILL_PROCESS)
		errno  = uint32(unix.SECCOMP_RET_ERRNO)
		read   = 0 // no system call of interest on either
		flags  = unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK
		stream = unix.SOCK_STREAM | flags
	)
	eperm, nosupp, noopt, notify := errno|uint32(unix.EPERM), errno|uint32(unix.EOPNOTSUPP), errno|uint32(unix.ENOPROTOOPT), uint32(unix.SECCOMP_RET_USER_NOTIF)
	eacces, enosys, none := errno|uint32(unix.EACCES), errno|uint32(unix.ENOSYS), errno|uint32(unix.EPROTONOSUPPORT)
	unixCut, tcpCut, ports, all := Profile{NoUnix: true}, Profile{NoTCP: true}, Profile{Ports: []uint16{}}, Profile{NoUnix: true, NoTCP: true}
	modes := Profile{KeepModes: true}
	for name, arch := range architectures {
		for i, c := range []struct {
			profile      Profile
			audit, call  uint32
			args         [4]uint32
			want         uint32
			onlyWithX32  bool
			highArgument uint32
			listener     bool
		}{
			{profile: unixCut, call: read, want: allow},
			{profile: unixCut, call: arch.socket, args: [4]uint32{unix.AF_UNIX, stream}, want: eacces},
			{profile: unixCut, call: arch.socket, args: [4]uint32{unix.AF_UNIX, stream}, highArgument: 1, want: eacces}, // the kernel takes an int
			{profile: unixCut, call: arch.socket, args: [4]uint32{unix.AF_INET, stream}, want: allow},
			{profile: unixCut, call: arch.socket, args: [4]uint32{unix.AF_NETLINK, unix.SOCK_RAW}, want: allow},
			{profile: unixCut, call: arch.socketpair, args: [4]uint32{unix.AF_UNIX, stream}, want: allow},
			{profile: unixCut, call: arch.socketpair, args: [4]uint32{unix.AF_UNIX, unix.SOCK_SEQPACKET}, want: allow},
			{profile: unixCut, call: arch.socketpair, args: [4]uint32{unix.AF_UNIX, unix.SOCK_DGRAM | flags}, want: eacces},
			{profile: unixCut, call: arch.socketpair, args: [4]uint32{unix.AF_UNIX, unix.SOCK_RAW}, want: eacces},
			{profile: unixCut, call: arch.ioUring, want: eacces},
			{profile: unixCut, audit: i386, call: 1, want: kill},
			{profile: unixCut, call: x32 | arch.socket, args: [4]uint32{unix.AF_UNIX, stream}, want: enosys, onlyWithX32: true},
			{profile: unixCut, call: x32, want: enosys, onlyWithX32: true},
			{profile: tcpCut, call: arch.socket, args: [4]uint32{unix.AF_INET, stream}, want: eacces},
			{profile: tcpCut, call: arch.socket, args: [4]uint32{unix.AF_INET6, unix.SOCK_DGRAM}, want: eacces},
			{profile: tcpCut, call: arch.socket, args: [4]uint32{unix.AF_UNIX, stream}, want: allow},
			{profile: tcpCut, call: arch.socketpair, args: [4]uint32{unix.AF_UNIX, unix.SOCK_DGRAM}, want: allow},
			{profile: tcpCut, call: arch.ioUring, want: eacces},
			{profile: ports, call: arch.socket, args: [4]uint32{unix.AF_INET, stream, unix.IPPROTO_MPTCP}, want: none},
			{profile: ports, call: arch.socket, args: [4]uint32{unix.AF_INET, stream, unix.IPPROTO_TCP}, want: allow},
			{profile: ports, call: arch.ioUring, want: eacces},
			{profile: all, call: arch.socket, args: [4]uint32{unix.AF_UNIX, stream}, want: eacces},
			{profile: all, call: arch.socket, args: [4]uint32{unix.AF_INET6, stream}, want: eacces},
			{profile: all, call: arch.socketpair, args: [4]uint32{unix.AF_UNIX, stream}, want: allow},
			{profile: all, audit: i386, call: 1, want: kill},
			{profile: modes, call: arch.modes[0], want: errno | uint32(unix.EPERM)},
			{profile: modes, call: arch.modes[len(arch.modes)-1], want: errno | uint32(unix.EPERM)},
			{profile: modes, call: arch.socket, args: [4]uint32{unix.AF_UNIX, stream}, want: allow},
			{profile: modes, call: arch.ioUring, want: eacces},
			{profile: all, call: arch.modes[0], want: allow},
			{profile: ports, call: arch.listen, want: eacces},
			{profile: ports, call: arch.listen, listener: true, want: eacces},
			{profile: all, call: arch.listen, want: allow},
			{profile: ports, call: arch.sends[0], args: [4]uint32{3: unix.MSG_FASTOPEN | unix.MSG_NOSIGNAL}, want: nosupp},
			{profile: ports, call: arch.sends[0], args: [4]uint32{3: unix.MSG_NOSIGNAL}, want: allow},
			{profile: ports, call: arch.sends[1], args: [4]uint32{2: unix.MSG_FASTOPEN}, want: nosupp},
			{profile: ports, call: arch.sends[1], args: [4]uint32{3: unix.MSG_FASTOPEN}, want: allow},
			{profile: ports, call: arch.sends[2], args: [4]uint32{3: unix.MSG_FASTOPEN}, want: nosupp},
			{profile: ports, call: arch.setsockopt, args: [4]uint32{3, unix.IPPROTO_TCP, unix.TCP_FASTOPEN_CONNECT}, want: noopt},
			{profile: ports, call: arch.setsockopt, args: [4]uint32{3, unix.IPPROTO_TCP, unix.TCP_ULP}, want: noopt},
			{profile: ports, call: arch.setsockopt, args: [4]uint32{3, unix.IPPROTO_TCP, unix.TCP_NODELAY}, want: allow},
			{profile: ports, call: arch.setsockopt, args: [4]uint32{3, unix.SOL_SOCKET, unix.TCP_ULP}, want: allow},
			{call: arch.sched[0], args: [4]uint32{7}, want: eperm},
			{call: arch.sched[3], args: [4]uint32{0}, want: allow},
			{call: arch.sched[2], args: [4]uint32{7}, listener: true, want: notify},
			{call: arch.setpriority, args: [4]uint32{unix.PRIO_PROCESS, 7}, want: eperm},
			{call: arch.setpriority, args: [4]uint32{unix.PRIO_PGRP, 7}, listener: true, want: notify},
			{call: arch.setpriority, args: [4]uint32{unix.PRIO_PGRP, 0}, want: allow},
			{call: arch.setpriority, args: [4]uint32{unix.PRIO_USER, 0}, listener: true, want: eperm},
			{call: arch.ioprioSet, args: [4]uint32{ioprioUser, 7}, listener: true, want: eperm},
			{call: arch.ioprioSet, args: [4]uint32{1, 7}, want: eperm},
			{call: arch.prlimit, args: [4]uint32{0, 7, 1}, want: allow},
			{call: arch.prlimit, args: [4]uint32{7, 7, 1}, want: eperm},
			{call: arch.prlimit, args: [4]uint32{7, 7, 0}, want: allow},
			{call: arch.prlimit, args: [4]uint32{7, 7, 0}, highArgument: 1, want: eperm}, // a pointer has two halves
			{call: arch.ioUring, want: allow},
			{audit: arch.compat.audit, call: arch.compat.prlimit, args: [4]uint32{7, 7, 1}, want: eperm},
			{audit: arch.compat.audit, call: arch.compat.setpriority, args: [4]uint32{0, 7}, listener: true, want: notify},
			{audit: arch.compat.audit, call: 1, want: allow},
			{audit: 1, call: 1, want: kill},
			{profile: modes, audit: arch.compat.audit, call: 1, want: kill},
		} {
			if c.onlyWithX32 && !arch.x32 {
				continue
			}
			vm, err := bpf.NewVM(filter(&c.profile, &arch, c.listener))
			if err != nil {
				t.Fatal(err)
			}
			if c.audit == 0 {
				c.audit = arch.audit
			}
			// The machine loads big-endian words, and the kernel the processor's own:
			// each half of an argument is where the kernel has it.
			data := make([]byte, 64)
			binary.BigEndian.PutUint32(data[offNumber:], c.call)
			binary.BigEndian.PutUint32(data[offArch:], c.audit)
			for n, arg := range c.args {
				binary.BigEndian.PutUint32(data[offArgs+8*n:], arg)
				binary.BigEndian.PutUint32(data[offArgs+8*n+4:], c.highArgument)
			}
			got, err := vm.Run(data)
			if err != nil || uint32(got) != c.want {
				t.Errorf("%s, case %d: %#x (%v), want %#x", name, i, got, err, c.want)
			}
		}
	}
}

// TestNumbers: those of this machine are what the headers say.
func TestNumbers(t *testing.T) {
	arch, ok := architectures[runtime.GOARCH]
	if !ok {
		t.Skip("there is no filter for " + runtime.GOARCH)
	}
	for name, c := range map[string][2]uint32{
		"socket": {arch.socket, unix.SYS_SOCKET}, "socketpair": {arch.socketpair, unix.SYS_SOCKETPAIR}, "io_uring_setup": {arch.ioUring, unix.SYS_IO_URING_SETUP},
		"listen": {arch.listen, unix.SYS_LISTEN}, "setsockopt": {arch.setsockopt, unix.SYS_SETSOCKOPT}, "sendto": {arch.sends[0], unix.SYS_SENDTO},
		"sendmsg": {arch.sends[1], unix.SYS_SENDMSG}, "sendmmsg": {arch.sends[2], unix.SYS_SENDMMSG}, "setpriority": {arch.setpriority, unix.SYS_SETPRIORITY},
		"ioprio_set": {arch.ioprioSet, unix.SYS_IOPRIO_SET}, "prlimit64": {arch.prlimit, unix.SYS_PRLIMIT64}, "sched_setparam": {arch.sched[0], unix.SYS_SCHED_SETPARAM},
		"sched_setscheduler": {arch.sched[1], unix.SYS_SCHED_SETSCHEDULER}, "sched_setaffinity": {arch.sched[2], unix.SYS_SCHED_SETAFFINITY}, "sched_setattr": {arch.sched[3], unix.SYS_SCHED_SETATTR},
	} {
		if c[0] != c[1] {
			t.Errorf("%s is %d, want %d", name, c[0], c[1])
		}
	}
	for _, call := range []uint32{
		unix.SYS_FCHMOD, unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_FCHOWN, unix.SYS_FCHOWNAT, unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR,
		unix.SYS_SETXATTRAT, unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_FREMOVEXATTR, unix.SYS_REMOVEXATTRAT, unix.SYS_FILE_SETATTR,
	} {
		if !slices.Contains(arch.modes, call) {
			t.Errorf("the call %d isn't among those that change modes", call)
		}
	}
	if !slices.Equal(slices.Sorted(maps.Keys(capabilities)), CapabilityNames()) {
		t.Error("the capabilities have other names than those that can be kept")
	}
}

// TestWeaknessesOfKernels: what a kernel isn't asked for is said to be weak, and nothing else.
func TestWeaknessesOfKernels(t *testing.T) {
	for abi := minABI; abi <= 10; abi++ {
		for _, p := range []*Profile{{}, {NoUnix: true}, {Ports: []uint16{9}}, {NoTCP: true}, {KeepModes: true, NoUnix: true, Ports: []uint16{9}}} {
			for _, signals := range []bool{true, false} {
				for _, filter := range []bool{true, false} {
					asked := handled(p, abi)
					want := map[string]bool{
						"can be signaled": asked.Scoped&ll.ScopeSignal == 0 || !signals, "Abstract Unix": p.NoUnix && asked.Scoped&ll.ScopeAbstractUnixSocket == 0,
						"TCP ports": p.Ports != nil && asked.HandledAccessNet == 0, "Devices": asked.HandledAccessFS&ll.AccessFSIoctlDev == 0,
						"System calls": !filter && p.cutsCalls(), "Limits, priorities": !filter && !p.cutsCalls(),
					}
					text, n := strings.Join(p.weaknesses(abi, signals, filter), "\n"), 0
					for words, is := range want {
						if strings.Contains(text, words) != is {
							t.Errorf("version %d, signals %v, filter %v, %+v: %q: want %v in %q", abi, signals, filter, p, words, is, text)
						}
						if is {
							n++
						}
					}
					if got := len(p.weaknesses(abi, signals, filter)); got != n {
						t.Errorf("version %d, %+v: %d weaknesses, want %d: %s", abi, p, got, n, text)
					}
				}
			}
		}
	}
}

// TestHandled: what a kernel is asked for is what its version has, and a right that
// it refuses by default is given wherever the profile doesn't cut it.
func TestHandled(t *testing.T) {
	const ioctl, resolve = 1 << 15, 1 << 16
	for abi, want := range map[int]struct{ fs, net, scoped uint64 }{
		3: {1<<15 - 1, 0, 0}, 4: {1<<15 - 1, 3, 0}, 5: {1<<16 - 1, 3, 0}, 6: {1<<16 - 1, 3, 3}, 7: {1<<16 - 1, 3, 3}, 8: {1<<16 - 1, 3, 3},
		9: {1<<17 - 1, 3, 3}, 12: {1<<17 - 1, 3, 3},
	} {
		narrow, wide := handled(&Profile{NoUnix: true, NoTCP: true}, abi), handled(&Profile{}, abi)
		if narrow.HandledAccessFS != want.fs || narrow.HandledAccessNet != want.net || narrow.Scoped != want.scoped {
			t.Errorf("version %d: %+v", abi, narrow)
		}
		if wide.HandledAccessFS != want.fs || wide.HandledAccessNet != 0 || wide.Scoped != want.scoped&2 {
			t.Errorf("version %d, nothing cut: %+v", abi, wide)
		}
		if rights := rightsOf(&Profile{}).write & wide.HandledAccessFS; rights&ioctl != wide.HandledAccessFS&ioctl || rights&resolve != wide.HandledAccessFS&resolve {
			t.Errorf("version %d: writing gives %#x of %#x", abi, rights, wide.HandledAccessFS)
		}
		if rights := rightsOf(&Profile{NoUnix: true}); (rights.read|rights.write)&resolve != 0 {
			t.Errorf("version %d: Unix sockets aren't cut", abi)
		}
	}
}
