package acl_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"waymark/host/plugin/acl"
	"waymark/test/randtest"
)

// entry is one of a POSIX list, as it is in the attribute.
type entry struct {
	tag, perm uint16
	id        uint32
}

const (
	userObj, user, groupObj, group, mask, other = 0x01, 0x02, 0x04, 0x08, 0x10, 0x20

	nobody = 0xffffffff // the id of entries that have none
)

func posix(entries ...entry) []byte {
	data := []byte{2, 0, 0, 0}
	for _, e := range entries {
		data = binary.LittleEndian.AppendUint16(data, e.tag)
		data = binary.LittleEndian.AppendUint16(data, e.perm)
		data = binary.LittleEndian.AppendUint32(data, e.id)
	}
	return data
}

func texts(writers []acl.Writer) string {
	var list []string
	for _, w := range writers {
		list = append(list, w.String())
	}
	return strings.Join(list, ", ")
}

func TestPOSIX(t *testing.T) {
	t.Parallel()
	base := func(more ...entry) []byte {
		return posix(append([]entry{{userObj, 7, nobody}, {groupObj, 5, nobody}, {other, 5, nobody}}, more...)...)
	}
	for name, c := range map[string]struct {
		data []byte
		want string // "-" is no list, "!" an error with this text
	}{
		"nobody":                 {base(), ""},
		"nobody, masked":         {base(entry{mask, 7, nobody}), ""},
		"a user":                 {base(entry{user, 6, 7}, entry{mask, 7, nobody}), "the user 7"},
		"a user who reads":       {base(entry{user, 5, 7}, entry{mask, 7, nobody}), ""},
		"a user behind the mask": {base(entry{user, 7, 7}, entry{mask, 5, nobody}), ""},
		"a group":                {base(entry{group, 2, 9}, entry{mask, 2, nobody}), "the group 9"},
		"a group behind the mask": {
			base(entry{group, 2, 9}, entry{mask, 4, nobody}), ""},
		"several":            {base(entry{user, 7, 1}, entry{user, 7, 2}, entry{group, 7, 3}, entry{mask, 7, nobody}), "the user 1, the user 2, the group 3"},
		"its group":          {posix(entry{userObj, 7, nobody}, entry{groupObj, 7, nobody}, entry{other, 5, nobody}), "its group"},
		"its group, masked":  {posix(entry{userObj, 7, nobody}, entry{groupObj, 7, nobody}, entry{mask, 5, nobody}, entry{other, 5, nobody}), ""},
		"everyone":           {posix(entry{userObj, 7, nobody}, entry{groupObj, 5, nobody}, entry{mask, 0, nobody}, entry{other, 2, nobody}), "everyone"},
		"no list":            {posix(), "-"},
		"nothing":            {nil, "!impossible length"},
		"cut":                {base()[:11], "!impossible length"},
		"another version":    {[]byte{3, 0, 0, 0}, "!version 3"},
		"unknown entry":      {base(entry{0x40, 0, nobody}), "!unknown sort 0x40"},
		"unknown permission": {base(entry{mask, 8, nobody}), "!permissions 0x8"},
		"no mask":            {base(entry{user, 7, 7}), "!lacks entries"},
		"two masks":          {base(entry{mask, 0, nobody}, entry{mask, 7, nobody}), "!twice"},
		"no owner":           {posix(entry{groupObj, 7, nobody}, entry{other, 7, nobody}), "!lacks entries"},
		"two others":         {base(entry{other, 7, nobody}), "!twice"},
	} {
		writers, has, err := acl.ParsePOSIX(c.data)
		check(t, name, c.want, writers, has, err)
	}
}

func check(t *testing.T, name, want string, writers []acl.Writer, has bool, err error) {
	t.Helper()
	text, wrong := strings.CutPrefix(want, "!")
	switch {
	case wrong:
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v, want %q", name, err, text)
		}
	case err != nil:
		t.Errorf("%s: %v", name, err)
	case has != (want != "-") || has && texts(writers) != want:
		t.Errorf("%s: %t, %q; want %q", name, has, texts(writers), want)
	}
}

// ace is an entry of a list of NFS.
type ace struct {
	kind, flags, mask uint32
	who               string
}

func nfs(entries ...ace) []byte {
	data := binary.BigEndian.AppendUint32(nil, uint32(len(entries)))
	for _, e := range entries {
		for _, n := range []uint32{e.kind, e.flags, e.mask, uint32(len(e.who))} {
			data = binary.BigEndian.AppendUint32(data, n)
		}
		data = append(data, e.who...)
		data = append(data, make([]byte, (4-len(e.who)%4)%4)...)
	}
	return data
}

func TestNFS4(t *testing.T) {
	t.Parallel()
	owner := ace{0, 0, 0x1601ff, "OWNER@"}
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"as a mode":        {nfs(owner, ace{0, 0x40, 0x120081, "GROUP@"}, ace{0, 0, 0x120081, "EVERYONE@"}), ""},
		"everyone":         {nfs(owner, ace{0, 0, 0x2, "EVERYONE@"}), "everyone"},
		"its group":        {nfs(owner, ace{0, 0x40, 0x4, "GROUP@"}), "its group"},
		"somebody":         {nfs(owner, ace{0, 0, 0x2, "mary@example.com"}, ace{0, 0, 0x1, "john@example.com"}), `"mary@example.com"`},
		"who may change":   {nfs(owner, ace{0, 0, 0x40000, "mary@example.com"}), `"mary@example.com"`},
		"what comes later": {nfs(owner, ace{0, 0x0b, 0x2, "mary@example.com"}), ""},
		"denied":           {nfs(ace{1, 0, 0x2, "mary@example.com"}, owner), ""},
		"empty":            {nfs(), ""},
		"cut":              {nfs(owner)[:21], "!ends early"},
		"nothing":          {nil, "!ends early"},
		"more":             {append(nfs(owner), 0), "!more than its entries"},
		"a long name":      {append(nfs(owner)[:16], 0xff, 0xff, 0xff, 0xff), "!ends early"},
	} {
		writers, has, err := acl.ParseNFS4(c.data)
		check(t, name, c.want, writers, has, err)
	}
}

// TestAsTheKernel sets random lists, those that the kernel takes, and reads
// them again: of a file, by its descriptor and by its path.
func TestAsTheKernel(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if writers, has, err := acl.OfPath(path); has || err != nil {
		t.Fatalf("a file without a list: %v, %v, %v", writers, has, err)
	}
	rng := randtest.Rand(t)
	for range 500 {
		perm := func() uint16 { return uint16(rng.IntN(8)) }
		entries := []entry{{userObj, perm(), nobody}}
		m := perm()
		var want []string
		add := func(e entry, masked bool, text string) {
			entries = append(entries, e)
			if e.perm&2 != 0 && (!masked || m&2 != 0) {
				want = append(want, text)
			}
		}
		named := rng.IntN(3)
		for i := range named { // in order, as the kernel wants them
			add(entry{user, perm(), uint32(i + 1)}, true, fmt.Sprintf("the user %d", i+1))
		}
		add(entry{groupObj, perm(), nobody}, true, "its group")
		for i := range rng.IntN(3) {
			named++
			add(entry{group, perm(), uint32(i + 1)}, true, fmt.Sprintf("the group %d", i+1))
		}
		entries = append(entries, entry{mask, m, nobody})
		add(entry{other, perm(), nobody}, false, "everyone")
		err := unix.Setxattr(path, "system.posix_acl_access", posix(entries...), 0)
		if errors.Is(err, unix.ENOTSUP) {
			t.Skip("the file system of temporary files has no lists")
		}
		if err != nil {
			t.Fatalf("%v: %v", entries, err)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Skipf("the mode keeps us from reading: %v", err)
		}
		for what, read := range map[string]func() ([]acl.Writer, bool, error){
			"descriptor": func() ([]acl.Writer, bool, error) { return acl.OfFile(f) },
			"path":       func() ([]acl.Writer, bool, error) { return acl.OfPath(path) },
		} {
			writers, has, err := read()
			got := strings.Split(texts(writers), ", ")
			slices.Sort(got)
			sorted := slices.Sorted(slices.Values(want))
			if err != nil || !has || strings.Join(got, ", ") != strings.Join(sorted, ", ") {
				t.Errorf("%v by %s: %q, %t, %v; want %q", entries, what, got, has, err, sorted)
			}
		}
		_ = f.Close()
	}
}

// FuzzPOSIX and FuzzNFS4: any bytes are a list or an error.
func FuzzPOSIX(f *testing.F) {
	f.Add(posix(entry{userObj, 7, nobody}, entry{user, 6, 7}, entry{groupObj, 5, nobody}, entry{mask, 7, nobody}, entry{other, 5, nobody}))
	f.Add(posix())
	f.Fuzz(func(t *testing.T, data []byte) {
		writers, has, err := acl.ParsePOSIX(data)
		if err != nil && (writers != nil || !has) || !has && len(writers) > 0 {
			t.Errorf("%v, %t, %v", writers, has, err)
		}
		if len(writers) > len(data)/8 {
			t.Errorf("%d writers in %d bytes", len(writers), len(data))
		}
	})
}

func FuzzNFS4(f *testing.F) {
	f.Add(nfs(ace{0, 0, 2, "EVERYONE@"}, ace{0, 0, 2, "mary@example.com"}))
	f.Fuzz(func(t *testing.T, data []byte) {
		writers, has, err := acl.ParseNFS4(data)
		if err != nil && writers != nil || !has || len(writers) > len(data)/16 {
			t.Errorf("%v, %t, %v", writers, has, err)
		}
	})
}
