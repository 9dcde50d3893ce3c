package host_test

import (
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"waymark/host"
)

// TestDropInTrustLists: a file or directory with an access control list isn't trusted.
func TestDropInTrustLists(t *testing.T) {
	noLeaks(t)
	b := hotplug(t, host.Options{})
	b.drop(t, "a.wasm", tiny{name: "a", version: "1"}.build())
	b.drop(t, "b.wasm", tiny{name: "b", version: "1"}.build())
	const all = "a.wasm ready; b.wasm ready; a=1; b=1"
	b.is(t, "both", all)
	file, base := filepath.Join(b.dir, "a.wasm"), filepath.Base(b.dir)
	open := filepath.Join(b.root, "open")
	put(t, filepath.Join(open, "real.wasm"), string(tiny{name: "a", version: "2"}.build()))
	// Its user 54321 may write, and the mode doesn't say so.
	list := binary.LittleEndian.AppendUint32(nil, 2)
	for _, entry := range [][3]uint32{{0x01, 7, math.MaxUint32}, {0x02, 6, 54321}, {0x04, 0, math.MaxUint32}, {0x10, 7, math.MaxUint32}, {0x20, 0, math.MaxUint32}} {
		list = binary.LittleEndian.AppendUint16(list, uint16(entry[0]))
		list = binary.LittleEndian.AppendUint16(list, uint16(entry[1]))
		list = binary.LittleEndian.AppendUint32(list, entry[2])
	}
	set := func(path string) {
		t.Helper()
		err := unix.Setxattr(path, "system.posix_acl_access", list, 0)
		if err == nil {
			err = os.Chmod(path, 0o700) // the mask, so that the mode's bits of the group say nothing
		}
		if errors.Is(err, unix.ENOTSUP) {
			t.Skip("the file system of temporary files has no access control lists")
		} else if err != nil {
			t.Fatal(err)
		}
	}
	mend := func(path string) {
		t.Helper()
		if err := errors.Join(unix.Removexattr(path, "system.posix_acl_access"), os.Chmod(path, 0o700)); err != nil {
			t.Fatal(err)
		}
	}
	const says = "subject to an access control list, which may let others write to it: take the list away (setfacl -b)"
	for path, want := range map[string]string{
		file: "a.wasm rejected " + says + "; b.wasm ready; b=1", b.dir: base + " rejected " + says,
	} {
		set(path)
		b.is(t, path, want)
		mend(path)
		b.is(t, path+", mended", all)
	}
	set(open)
	if err := errors.Join(os.Remove(file), os.Symlink(filepath.Join(open, "real.wasm"), file)); err != nil {
		t.Fatal(err)
	}
	b.is(t, "a link to where a user writes", "a.wasm rejected it is a link into "+open+", which is "+says+"; b.wasm ready; b=1")
	mend(open)
	b.is(t, "that mended", "a.wasm ready; b.wasm ready; a=2; b=1")
}
