package why_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"waymark/host/vfs"
	"waymark/host/why"
	"waymark/test/contracts/vfstest"
)

// TestRefusedRoot: a path in a root that isn't looked at is answered with the
// reason, by whatever name it is asked for; what else is there isn't.
func TestRefusedRoot(t *testing.T) {
	dir := vfstest.Build(t, []string{"real/x = x", "docs -> real", "docs2 -> real", "pipe |"})
	if err := os.Symlink(dir, filepath.Join(filepath.Dir(dir), "alias")); err != nil {
		t.Fatal(err)
	}
	notRegular := &vfs.Error{Op: "open root", Path: "pipe", Errno: syscall.EIO, Reason: vfs.ReasonNotRegular}
	for _, c := range []struct {
		err  error
		want why.Reason
	}{
		{&vfs.LinkError{Link: dir + "/docs", Within: dir, Reason: vfs.ReasonEscape}, why.ReasonLinkEscapes},
		{&vfs.LinkError{Link: dir + "/docs", Within: dir, Reason: vfs.ReasonSecret}, why.ReasonHiddenSecret},
		{&vfs.LinkError{Link: dir + "/docs", Within: dir, Reason: vfs.ReasonExcluded}, why.ReasonExcludedByConfig},
		{&vfs.LinkError{Link: dir + "/docs", Within: dir, Reason: vfs.ReasonNotInReads}, why.ReasonNotAKnownPlace},
		{fmt.Errorf("open: %w", fs.ErrPermission), why.ReasonUnreadable},
		{&vfs.Error{Op: "open root", Path: "docs", Errno: syscall.ELOOP}, why.ReasonLinkBroken},
		{notRegular, why.ReasonNotRegular},
		{errors.New("not allowed\nat all"), why.ReasonOutsideRoots},
	} {
		in := why.Input{Refused: []why.Refused{{Path: dir + "/docs", Err: c.err}}}
		for path, refused := range map[string]bool{
			"docs": true, "docs/": true, "docs/x": true, "docs/nothing/at/all": true, "real/../docs/x": true,
			"docs2": false, "docs2/x": false, "real/x": false, "doc": false, "": false,
		} {
			for _, base := range []string{dir, filepath.Join(filepath.Dir(dir), "alias")} {
				a := why.Explain(in, base+"/"+path)
				if a.Found || (a.Root != "") != refused || refused && a.Reason != c.want || !refused && a.Reason != why.ReasonOutsideRoots {
					t.Errorf("%v: %s: %+v", c.err, base+"/"+path, a)
				}
				if refused && (!strings.Contains(a.Detail, "is not looked at: ") || strings.Contains(a.Detail, "\n")) {
					t.Errorf("%v: %q", c.err, a.Detail)
				}
			}
		}
	}
}

// TestRefusedRootAbove: a root in a refused one answers for itself.
func TestRefusedRootAbove(t *testing.T) {
	dir := vfstest.Build(t, []string{"w/x = x"})
	root, err := vfs.OpenRoot(dir+"/w", vfs.RootOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	in := why.Input{Roots: []why.Root{{FS: root}}, Refused: []why.Refused{{Path: dir, Err: fs.ErrPermission}}}
	if a := why.Explain(in, dir+"/w/x"); a.Root != dir+"/w" || a.Reason != why.ReasonNotAKnownPlace {
		t.Errorf("%+v", a)
	}
	if a := why.Explain(in, dir+"/y"); a.Root != dir || a.Reason != why.ReasonUnreadable {
		t.Errorf("%+v", a)
	}
}
