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

// temp is a new file, next to the one that it will replace or in the nearest existing
// directory.
type temp struct {
	dir  int // descriptor of the place that created it, which stays open
	name string
	file *os.File
	// replaced says that the name now refers to the replaced file.
	replaced bool
}

// tempName returns a unique name. It doesn't contain the file's own name, which may have
// the maximum length.
func tempName() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return ".waymark-" + hex.EncodeToString(b[:]) + ".tmp"
}

// temp creates a new file in the place's directory. One that will replace another is
// private until dress.
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

// done flushes the file to the disk.
func (t *temp) done() error {
	err := t.file.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		err = nil // the file system doesn't support it
	}
	return err
}

// remove removes the file under its current name.
func (t *temp) remove() {
	_ = t.file.Close()
	if t.name != "" {
		_ = unix.Unlinkat(t.dir, t.name, 0)
	}
}

// dress gives a new file the owner, group, attributes and mode of the old one, as far as
// this user may. from is the old file's descriptor, or -1 if it can't be opened for
// reading.
func (t *temp) dress(from int, old *unix.Stat_t) error {
	fd := int(t.file.Fd())
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	// Writing a file clears set-user-ID and set-group-ID.
	mode := uint32(old.Mode) & 0o1777 //nolint:unconvert // the type differs between platforms
	if old.Uid != st.Uid || old.Gid != st.Gid {
		group := unix.Fchown(fd, -1, int(old.Gid))
		if group == nil {
			_ = unix.Fchown(fd, int(old.Uid), -1) // only root can change the owner
		} else if old.Gid != st.Gid {
			mode = mode&^0o070 | mode&0o007<<3 // another group gets the permissions of others
		}
	}
	if from >= 0 {
		copyAttributes(from, fd)
	}
	return unix.Fchmod(fd, mode)
}

// copyAttributes copies extended attributes, including the ACL and the security label. It
// skips a program's capabilities, which were for the old content.
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
