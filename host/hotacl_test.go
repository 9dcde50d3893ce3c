package host_test

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"waymark/host"
)

// list is a POSIX access control list as an extended attribute: the owner may
// do all, others nothing; the rest is pairs of (tag, permissions, id).
func list(groupObj uint16, named ...[3]uint32) []byte {
	const none = 0xffffffff
	data := []byte{2, 0, 0, 0}
	add := func(tag, perm uint16, id uint32) {
		data = binary.LittleEndian.AppendUint16(data, tag)
		data = binary.LittleEndian.AppendUint16(data, perm)
		data = binary.LittleEndian.AppendUint32(data, id)
	}
	add(0x01, 7, none)
	for _, tag := range []uint16{0x02, 0x04, 0x08, 0x10} {
		if tag == 0x04 {
			add(tag, groupObj, none)
		}
		for _, n := range named {
			if n[0] == uint32(tag) {
				add(tag, uint16(n[1]), n[2])
			}
		}
	}
	add(0x20, 0, none)
	return data
}

// TestDropInTrustLists: who may write by an access control list counts, and who
// only seems to doesn't.
func TestDropInTrustLists(t *testing.T) {
	noLeaks(t)
	const user, group, mask, stranger = 0x02, 0x08, 0x10, 54321
	b := hotplug(t, host.Options{})
	b.drop(t, "a.wasm", tiny{name: "a", version: "1"}.build())
	b.drop(t, "b.wasm", tiny{name: "b", version: "1"}.build())
	const all = "a.wasm ready; b.wasm ready; a=1; b=1"
	b.is(t, "both", all)
	file, base := filepath.Join(b.dir, "a.wasm"), filepath.Base(b.dir)
	open := filepath.Join(b.root, "open")
	put(t, filepath.Join(open, "real.wasm"), string(tiny{name: "a", version: "2"}.build()))
	set := func(path string, list []byte) error { return unix.Setxattr(path, "system.posix_acl_access", list, 0) }
	byStranger := list(0, [3]uint32{user, 6, stranger}, [3]uint32{mask, 7, 0xffffffff})
	if err := set(open, byStranger); errors.Is(err, unix.ENOTSUP) {
		t.Skip("the file system of temporary files has no access control lists")
	} else if err != nil {
		t.Fatal(err)
	}
	me := uint32(os.Geteuid())
	const says = ", as its access control list says: take the entry away (setfacl -x, setfacl -b)"
	steps := []struct {
		name string
		path string
		list []byte
		want string
	}{
		{"a user", file, byStranger, "a.wasm rejected writable by the user 54321" + says + "; b.wasm ready; b=1"},
		{"a group", file, list(0, [3]uint32{group, 2, stranger}, [3]uint32{mask, 2, 0xffffffff}),
			"a.wasm rejected writable by the group 54321" + says + "; b.wasm ready; b=1"},
		{"a user in the directory", b.dir, byStranger, base + " rejected writable by the user 54321" + says},
		{"a user behind the mask", file, list(0, [3]uint32{user, 7, stranger}, [3]uint32{mask, 5, 0xffffffff}), all},
		{"a user who reads", file, list(0, [3]uint32{user, 4, stranger}, [3]uint32{mask, 7, 0xffffffff}), all},
		{"root and oneself", file, list(0, [3]uint32{user, 6, 0}, [3]uint32{user, 6, me}, [3]uint32{mask, 6, 0xffffffff}), all},
	}
	if me == 0 { // the same user twice is no list
		steps[len(steps)-1].list = list(0, [3]uint32{user, 6, 0}, [3]uint32{mask, 6, 0xffffffff})
	}
	mend := func(path string) {
		t.Helper()
		if err := unix.Removexattr(path, "system.posix_acl_access"); err != nil && !errors.Is(err, unix.ENODATA) {
			t.Fatal(err)
		}
		if err := os.Chmod(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range steps {
		if err := set(step.path, step.list); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		b.is(t, step.name, step.want)
		mend(step.path)
		b.is(t, step.name+", mended", all)
	}
	if err := errors.Join(os.Remove(file), os.Symlink(filepath.Join(open, "real.wasm"), file)); err != nil {
		t.Fatal(err)
	}
	b.is(t, "a link to where a user writes", "a.wasm rejected it is a link into "+open+", which is writable by the user 54321"+says+"; b.wasm ready; b=1")
	mend(open)
	b.is(t, "that mended", "a.wasm ready; b.wasm ready; a=2; b=1")
	if me != 0 {
		return
	}
	// The mode's bits of the group are the mask: the group itself may only read.
	foreign := filepath.Join(b.dir, "b.wasm")
	if err := errors.Join(os.Chown(foreign, 0, stranger), set(foreign, list(4, [3]uint32{mask, 6, 0xffffffff}))); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(foreign); err != nil || info.Mode().Perm()&0o020 == 0 {
		t.Fatalf("the group's bits are %v, %v: this tests nothing", info.Mode(), err)
	}
	b.is(t, "a group that only seems to write", "a.wasm ready; b.wasm ready; a=2; b=1")
	if err := set(foreign, list(6, [3]uint32{mask, 6, 0xffffffff})); err != nil {
		t.Fatal(err)
	}
	b.is(t, "a group that writes", "a.wasm ready; b.wasm rejected writable by a group that isn't the owner's own: chmod g-w it; a=2")
}
