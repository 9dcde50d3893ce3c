package vfs_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"testing"

	"waymark/host/vfs"
	"waymark/test/contracts/vfstest"
	"waymark/test/testenv"
)

func TestMain(m *testing.M) {
	testenv.OrdinaryMain()
	os.Exit(m.Run())
}

// begin opens a root and starts a run, both closed by t.
func begin(t testing.TB, c vfstest.Config) (*vfs.Root, *vfs.Filter, *vfs.Run) {
	t.Helper()
	root, err := vfs.OpenRoot(c.Dir, c.Options)
	if err != nil {
		t.Fatal(err)
	}
	filter, err := c.View.Compile()
	if err != nil {
		t.Fatal(err)
	}
	run := root.Begin(filter, c.Limits)
	t.Cleanup(func() { _ = run.Close(); _ = root.Close() })
	return root, filter, run
}

func everything(dir string) vfstest.Config {
	return vfstest.Config{Dir: dir, View: vfs.View{Reads: []string{"**"}}}
}

// direct is host/vfs itself, without a sandbox in between.
type direct struct{ run *vfs.Run }

func errno(err error) string {
	if err == nil || err == io.EOF {
		return ""
	}
	e, ok := errors.AsType[*vfs.Error](err)
	if !ok {
		return err.Error()
	}
	return e.ErrnoName()
}

func (d direct) Read(path string, off int64, n int) ([]byte, string) {
	f, err := d.run.Open(path)
	if err != nil {
		return nil, errno(err)
	}
	defer f.Close()
	buf := make([]byte, n)
	n, err = f.ReadAt(buf, off)
	return buf[:n], errno(err)
}

func (d direct) List(path string) ([]vfstest.Entry, string) {
	f, err := d.run.Open(path)
	if err != nil {
		return nil, errno(err)
	}
	defer f.Close()
	entries, err := f.ReadDir()
	var list []vfstest.Entry
	for _, e := range entries {
		list = append(list, vfstest.Entry{Name: e.Name, Type: typeName(e.Type)})
	}
	return list, errno(err)
}

func (d direct) Stat(path string) (vfstest.Info, string)  { return info(d.run.Stat(path)) }
func (d direct) Lstat(path string) (vfstest.Info, string) { return info(d.run.Lstat(path)) }

func (d direct) Readlink(path string) (string, string) {
	target, err := d.run.Readlink(path)
	return target, errno(err)
}

func info(i vfs.Info, err error) (vfstest.Info, string) {
	return vfstest.Info{Type: typeName(i.Type), Size: i.Size}, errno(err)
}

func typeName(m fs.FileMode) string {
	switch {
	case m.IsRegular():
		return vfstest.File
	case m.IsDir():
		return vfstest.Dir
	case m&fs.ModeSymlink != 0:
		return vfstest.Link
	}
	return vfstest.Other
}

func TestConformance(t *testing.T) {
	vfstest.Run(t, func(t *testing.T, c vfstest.Config) vfstest.FS {
		_, _, run := begin(t, c)
		return direct{run}
	}, testenv.RunOrdinary)
}
