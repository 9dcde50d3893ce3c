package sandbox_test

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"waymark/host/sandbox"
	"waymark/host/vfs"
	"waymark/test/contracts/vfstest"
	"waymark/test/testenv"
)

func TestMain(m *testing.M) {
	testenv.OrdinaryMain()
	os.Exit(m.Run())
}

// TestHostFS checks both ways that a guest has to the file system, WASI and the
// fs_* functions, against the table that host/vfs itself is checked against.
func TestHostFS(t *testing.T) {
	m := loadProbe(t, sandbox.Limits{Time: time.Minute})
	for _, resolver := range []string{"wasi", "fs"} {
		t.Run(resolver, func(t *testing.T) {
			vfstest.Run(t, func(t *testing.T, c vfstest.Config) vfstest.FS {
				d := guestFS{t: t, module: m, resolver: resolver, run: begin(t, c)}
				if resolver == "fs" {
					return d
				}
				return linkFS{d}
			}, testenv.RunOrdinary)
		})
	}
}

func begin(t *testing.T, c vfstest.Config) *vfs.Run {
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
	return run
}

// guestFS asks the probe, in an instance of its own for each question.
type guestFS struct {
	t        *testing.T
	module   *sandbox.Module
	resolver string
	run      *vfs.Run
}

type fsAnswer struct {
	Errno string
	Data  string
	List  []string
	Type  string
	Size  int64
}

func (d guestFS) ask(op, path string, off int64, n int) fsAnswer {
	d.t.Helper()
	res, err := ask(d.t.Context(), d.t, d.module, d.run, d.resolver, map[string]any{
		"op": op, "path": hex.EncodeToString([]byte(path)), "off": off, "n": n,
	})
	if err != nil {
		d.t.Fatalf("%s %q: %v", op, path, err)
	}
	var a fsAnswer
	if err := json.Unmarshal([]byte(res.Response.Warnings[0]), &a); err != nil {
		d.t.Fatal(err)
	}
	return a
}

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (d guestFS) Read(path string, off int64, n int) ([]byte, string) {
	a := d.ask("read", path, off, n)
	return unhex(d.t, a.Data), a.Errno
}

func (d guestFS) List(path string) ([]vfstest.Entry, string) {
	a := d.ask("list", path, 0, 0)
	var list []vfstest.Entry
	for _, line := range a.List {
		name, kind, _ := strings.Cut(line, " ")
		list = append(list, vfstest.Entry{Name: string(unhex(d.t, name)), Type: kind})
	}
	return list, a.Errno
}

func (d guestFS) Stat(path string) (vfstest.Info, string) {
	a := d.ask("stat", path, 0, 0)
	return vfstest.Info{Type: a.Type, Size: a.Size}, a.Errno
}

// linkFS is WASI's: fs_* has no questions about links.
type linkFS struct{ guestFS }

func (d linkFS) Lstat(path string) (vfstest.Info, string) {
	a := d.ask("lstat", path, 0, 0)
	return vfstest.Info{Type: a.Type, Size: a.Size}, a.Errno
}

func (d linkFS) Readlink(path string) (string, string) {
	a := d.ask("readlink", path, 0, 0)
	return string(unhex(d.t, a.Data)), a.Errno
}
