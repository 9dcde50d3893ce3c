package launch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// minABI is the minimum version of Landlock. Before version 3 (Linux 6.2), files that can't
// be written could be truncated.
const minABI = 3

// Supported returns the kernel's version of Landlock.
//
// # Errors
//
// ErrUnsupported, with the reason: the kernel is too old, Landlock is disabled, or a
// seccomp filter blocks it.
func Supported() (abi int, err error) {
	abi, err = ll.LandlockGetABIVersion()
	switch {
	case errors.Is(err, unix.ENOSYS):
		return 0, fmt.Errorf("%w: the kernel has no Landlock, which takes Linux 6.2", ErrUnsupported)
	case errors.Is(err, unix.EOPNOTSUPP):
		return 0, fmt.Errorf("%w: Landlock is switched off: add landlock to lsm= of the kernel's command line", ErrUnsupported)
	case err != nil:
		return 0, fmt.Errorf("%w: Landlock can't be asked for, as when a filter of system calls keeps it away (systemd's "+
			"SystemCallFilter= has to name landlock_create_ruleset, landlock_add_rule and landlock_restrict_self): %w", ErrUnsupported, err)
	case abi < minABI:
		return abi, fmt.Errorf("%w: the kernel has version %d of Landlock, and %d is needed, which takes Linux 6.2", ErrUnsupported, abi, minABI)
	}
	return abi, nil
}

// ScopeSignals prevents this thread, and everything that it starts from now on, from
// signaling anything else. It can't be undone. Confined processes can still signal this
// thread.
//
// # Errors
//
// ErrUnsupported if the kernel can't do this.
func ScopeSignals() error {
	if !HoldsSignals() {
		return fmt.Errorf("%w: the kernel can't hold signals", ErrUnsupported)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no_new_privs: %w", err)
	}
	ruleset, err := ll.LandlockCreateRuleset(&ll.RulesetAttr{Scoped: ll.ScopeSignal}, 0)
	if err != nil {
		return fmt.Errorf("landlock_create_ruleset: %w", err)
	}
	defer func() { _ = unix.Close(ruleset) }()
	return ll.LandlockRestrictSelf(ruleset, 0)
}

// confine confines this thread, and what it executes, to a profile. With kin, signals are
// already restricted and stay as they are. If it returns a listener, the starter must get
// it.
func confine(p *Profile, kin bool) (listener *os.File, err error) {
	abi, err := Supported()
	if err != nil {
		return nil, err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("no_new_privs: %w", err)
	}
	if err := restrict(p, abi, kin); err != nil {
		return nil, err
	}
	if err := dropCapabilities(p.Capabilities); err != nil {
		return nil, fmt.Errorf("capabilities: %w", err)
	}
	return filterCalls(p)
}

// Landlock rights for places.
const (
	readRights  = ll.AccessFSExecute | ll.AccessFSReadFile | ll.AccessFSReadDir
	writeRights = readRights | ll.AccessFSWriteFile | ll.AccessFSTruncate | ll.AccessFSRemoveDir | ll.AccessFSRemoveFile |
		ll.AccessFSMakeDir | ll.AccessFSMakeReg | ll.AccessFSMakeSock | ll.AccessFSMakeFifo | ll.AccessFSMakeSym |
		ll.AccessFSRefer | ll.AccessFSIoctlDev
	// allRights are denied unless they are granted. Creating devices is never granted.
	allRights = writeRights | ll.AccessFSMakeChar | ll.AccessFSMakeBlock
	// fileRights are the rights that can be granted on a file.
	fileRights = ll.AccessFSExecute | ll.AccessFSReadFile | ll.AccessFSWriteFile | ll.AccessFSTruncate | ll.AccessFSIoctlDev | ll.AccessFSResolveUnix
)

// handled returns what the kernel denies by default: what the profile requires, as far as
// the kernel supports it.
func handled(p *Profile, abi int) ll.RulesetAttr {
	attr := ll.RulesetAttr{HandledAccessFS: allRights}
	if abi < 5 {
		attr.HandledAccessFS &^= ll.AccessFSIoctlDev
	}
	if abi >= 9 {
		attr.HandledAccessFS |= ll.AccessFSResolveUnix
	}
	if abi >= 4 && (p.NoTCP || p.Ports != nil) {
		attr.HandledAccessNet = ll.AccessNetBindTCP | ll.AccessNetConnectTCP
	}
	if abi >= 6 {
		attr.Scoped = ll.ScopeSignal
		if p.NoUnix {
			attr.Scoped |= ll.ScopeAbstractUnixSocket
		}
	}
	return attr
}

// HoldsSignals reports whether the kernel can restrict signals. Kernels before the fix, in
// later releases of 6.12, would prevent a program with several threads from signaling
// itself.
func HoldsSignals() bool {
	const mended = 1 << 1
	errata, err := ll.LandlockGetErrata()
	return err == nil && errata&mended != 0
}

// rights are the rights for the places of a profile.
type rights struct{ list, read, write uint64 }

func rightsOf(p *Profile) rights {
	r := rights{list: ll.AccessFSReadDir, read: readRights, write: writeRights}
	if !p.NoUnix { // the kernel restricts this from version 9 on
		r.read |= ll.AccessFSResolveUnix
		r.write |= ll.AccessFSResolveUnix
	}
	return r
}

// restrict applies Landlock to this thread. Unlike go-landlock's Restrict, it opens no path
// through a link.
func restrict(p *Profile, abi int, kin bool) error {
	if p.Ports != nil && abi < 4 {
		return fmt.Errorf("%w: ports take version 4 of Landlock (Linux 6.7), and the kernel has %d", ErrUnsupported, abi)
	}
	attr := handled(p, abi)
	if kin || !HoldsSignals() {
		attr.Scoped &^= ll.ScopeSignal
	}
	ruleset, err := ll.LandlockCreateRuleset(&attr, 0)
	if err != nil {
		return fmt.Errorf("landlock_create_ruleset: %w", err)
	}
	defer func() { _ = unix.Close(ruleset) }()
	given := rightsOf(p)
	for _, places := range []struct {
		paths  []string
		rights uint64
	}{
		{p.List, given.list}, {p.Read, given.read}, {p.Write, given.write},
	} {
		for _, path := range places.paths {
			if err := allow(ruleset, path, places.rights&attr.HandledAccessFS); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
		}
	}
	for _, port := range p.Ports {
		rule := ll.NetPortAttr{AllowedAccess: ll.AccessNetConnectTCP, Port: uint64(port)}
		if err := ll.LandlockAddNetPortRule(ruleset, &rule, 0); err != nil {
			return fmt.Errorf("port %d: %w", port, err)
		}
	}
	err = ll.LandlockRestrictSelf(ruleset, 0)
	if errors.Is(err, unix.E2BIG) {
		return fmt.Errorf("confined processes have started others under a profile 16 deep, and the kernel takes no more: %w", err)
	}
	return err
}

// allow grants rights on a place and everything below it. It skips a place that doesn't
// exist. A link is an error, whoever has created it.
func allow(ruleset int, path string, rights uint64) error {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS}
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &how)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ENOTDIR):
		return nil
	case errors.Is(err, unix.ELOOP):
		return fmt.Errorf("a symbolic link is in this path, which was resolved before: %w", err)
	case err != nil:
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return err
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= fileRights
	}
	if rights == 0 {
		return nil
	}
	return ll.LandlockAddPathBeneathRule(ruleset, &ll.PathBeneathAttr{AllowedAccess: rights, ParentFd: fd}, 0)
}

// capabilities are the numbers of CapabilityNames.
var capabilities = map[string]int{
	"audit_write": unix.CAP_AUDIT_WRITE, "chown": unix.CAP_CHOWN, overrideModes: unix.CAP_DAC_OVERRIDE, "fowner": unix.CAP_FOWNER,
	"fsetid": unix.CAP_FSETID, "kill": unix.CAP_KILL, "net_bind_service": unix.CAP_NET_BIND_SERVICE, "net_raw": unix.CAP_NET_RAW,
	"setfcap": unix.CAP_SETFCAP, "setgid": unix.CAP_SETGID, "setuid": unix.CAP_SETUID, "sys_chroot": unix.CAP_SYS_CHROOT,
}

// dropCapabilities drops all of this thread's capabilities but the named ones, permanently.
func dropCapabilities(names []string) error {
	var kept []int
	for _, name := range names {
		kept = append(kept, capabilities[name])
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil && !errors.Is(err, unix.EINVAL) {
		return err
	}
	// This requires CAP_SETPCAP. Without it, executing a program grants no capabilities
	// either, because of no_new_privs.
	if data[0].Effective&(1<<unix.CAP_SETPCAP) != 0 {
		for c := 0; ; c++ {
			if slices.Contains(kept, c) {
				continue
			}
			err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(c), 0, 0, 0)
			if errors.Is(err, unix.EINVAL) {
				break // the previous one was the last
			}
			if err != nil {
				return err
			}
		}
	}
	var mask [2]uint32
	for _, c := range kept {
		mask[c/32] |= 1 << (c % 32)
	}
	for i := range data {
		data[i].Permitted &= mask[i]
		data[i].Effective &= mask[i]
		data[i].Inheritable = 0
	}
	return unix.Capset(&header, &data[0])
}
