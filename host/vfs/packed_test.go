package vfs_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waymark/host/vfs"
	"waymark/test/contracts/vfstest"
)

// repack sends units through JSON.
func repack(t *testing.T, units *vfs.Units, contents func(hash []byte) []byte) *vfs.Units {
	t.Helper()
	text, err := json.Marshal(units.Pack())
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "dGhlIHRleHQ") { // in base64
		t.Errorf("packed with contents: %s", text)
	}
	var packed vfs.PackedUnits
	if err := json.Unmarshal(text, &packed); err != nil {
		t.Fatal(err)
	}
	back, err := packed.Unpack(contents)
	if err != nil {
		t.Fatal(err)
	}
	return back
}

// Units that were stored hold as before. Their contents come from where they
// are kept, or from the files, once.
func TestPackedUnits(t *testing.T) {
	for _, at := range []string{"hand", "the file"} {
		dir := vfstest.Build(t, []string{"a = the text", "l -> a", "empty = 0*x", "large = 70000*x"})
		root, filter, run := begin(t, everything(dir))
		names := []string{"a", "l", "empty", "large", "missing"}
		readUnit(t, run, "one", names...)
		readUnit(t, run, "two", "a")
		before := contents(run, names...)
		left := repack(t, run.Units(), func([]byte) []byte {
			if at == "hand" {
				return []byte("the text") // of the wrong length for all but one
			}
			return nil
		})
		for range 2 {
			again, f := next(t, root, filter, left)
			for _, key := range []string{"one", "two"} {
				if _, known := readUnit(t, again, key); !known || !f.Fresh {
					t.Fatalf("%s: %s isn't remembered, %q changed", at, key, f.Changed)
				}
			}
			if after := contents(again, names...); after != before {
				t.Errorf("%s: was %s\nis  %s", at, before, after)
			}
			left = again.Units()
		}
		again, _ := next(t, root, filter, left)
		for _, name := range []string{"a", "large"} {
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
		readUnit(t, again, "one")
		if after := contents(again, names...); after != before {
			t.Errorf("%s: not kept: was %s\nis  %s", at, before, after)
		}
	}
}

func TestUnpackRefuses(t *testing.T) {
	none := func([]byte) []byte { return nil }
	for name, p := range map[string]vfs.PackedUnits{
		"a file that isn't there":           {Units: []vfs.PackedUnit{{Key: "u", Files: []int{0}}}},
		"a negative file":                   {Units: []vfs.PackedUnit{{Key: "u", Files: []int{-1}}}},
		"a look at a file that isn't there": {Files: []vfs.Dep{{}}, Units: []vfs.PackedUnit{{Key: "u", Files: []int{0}, Looks: []vfs.PackedLook{{File: 1}}}}},
		"a negative look":                   {Units: []vfs.PackedUnit{{Key: "u", Looks: []vfs.PackedLook{{File: -2}}}}},
		"wrong order":                       {Units: []vfs.PackedUnit{{Key: "u"}, {Key: "a"}}},
		"one key twice":                     {Units: []vfs.PackedUnit{{Key: "u"}, {Key: "u"}}},
	} {
		if _, err := p.Unpack(none); err == nil {
			t.Errorf("%s: not refused", name)
		}
	}
	if u, err := (vfs.PackedUnits{}).Unpack(none); err != nil || u.Len() != 0 {
		t.Errorf("nothing: %v", err)
	}
}
