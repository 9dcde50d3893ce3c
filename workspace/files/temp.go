package files

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"waymark/internal/beneath"
)

// temp is a new file beside the one that it is to replace, or in the directory in
// which those are to be made that are missing.
type temp struct {
	dir  int // of the place that made it, which stays open
	name string
	file *os.File
	// replaced says that the name now stands for what was replaced.
	replaced bool
}

// tempName returns a name that nobody has. It isn't made from the file's own:
// that may be as long as names can be.
func tempName() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return ".waymark-" + hex.EncodeToString(b[:]) + ".tmp"
}

// temp makes a new file in the place's directory. One that is to replace another
// is for this user only until it is dressed as that.
func (p *place) temp(mode uint32) (*temp, error) {
	t := &temp{dir: p.dir, name: tempName()}
	fd, err := beneath.Retry(func() (int, error) {
		return unix.Openat(p.dir, t.name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, mode)
	})
	if err != nil {
		return nil, refuseFor(p.asked, err)
	}
	t.file = os.NewFile(uintptr(fd), t.name)
	return t, nil
}

// done brings what was written to the disk.
func (t *temp) done() error {
	err := t.file.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		err = nil // a file system that can't
	}
	return err
}

// remove takes the name away, and with it what it stands for.
func (t *temp) remove() {
	_ = t.file.Close()
	if t.name != "" {
		_ = unix.Unlinkat(t.dir, t.name, 0)
	}
}

// dress gives a new file what the old one has: its owner, group, attributes and
// mode, as far as this user may. from is the old file's descriptor, or -1 where
// it can't be opened for reading.
func (t *temp) dress(from int, old *unix.Stat_t) error {
	fd := int(t.file.Fd())
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	// What was set-user-ID isn't any more once somebody has written it.
	mode := uint32(old.Mode) & 0o1777 //nolint:unconvert // the type differs between platforms
	if old.Uid != st.Uid || old.Gid != st.Gid {
		group := unix.Fchown(fd, -1, int(old.Gid))
		if group == nil {
			_ = unix.Fchown(fd, int(old.Uid), -1) // only root gives files away
		} else if old.Gid != st.Gid {
			mode = mode&^0o070 | mode&0o007<<3 // another group gets no more than everybody
		}
	}
	if from >= 0 {
		copyAttributes(from, fd)
	}
	return unix.Fchmod(fd, mode)
}

// copyAttributes copies extended attributes, the ACL and the security label among
// them. Capabilities of a program are for the program that it was.
func copyAttributes(from, to int) {
	names := make([]byte, 64<<10)
	n, err := unix.Flistxattr(from, names)
	if err != nil {
		return
	}
	value := make([]byte, 64<<10)
	for name := range bytes.SplitSeq(names[:n], []byte{0}) {
		attr := string(name)
		if attr == "" || attr == "security.capability" || strings.HasPrefix(attr, "security.ima") || strings.HasPrefix(attr, "security.evm") {
			continue
		}
		if n, err := unix.Fgetxattr(from, attr, value); err == nil {
			_ = unix.Fsetxattr(to, attr, value[:n], 0)
		}
	}
}
