// Package vfstest is the conformance table of the file system that resolvers see. There are
// several ways to access it (host/vfs itself, WASI, the fs_* host functions), and all must
// give the same answers: Run checks one of them against the table.
//
// To change the rules, change a case here, not a test of one of them.
package vfstest

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"waymark/host/vfs"
)

// FS is one of the ways to the file system. Each method returns the name of an
// errno ("ENOENT"), or "" for success.
type FS interface {
	// Read opens a file and reads up to n bytes from an offset; fewer only
	// at its end.
	Read(path string, off int64, n int) (data []byte, errno string)
	// List opens a directory and returns all entries but "." and "..", in the
	// order of the FS.
	List(path string) (entries []Entry, errno string)
	// Stat follows links.
	Stat(path string) (info Info, errno string)
}

// LinkFS is an FS that can describe links too.
type LinkFS interface {
	FS
	Lstat(path string) (info Info, errno string)
	Readlink(path string) (target string, errno string)
}

// The types of Entry and Info, for systems that spell them differently.
const (
	File  = "file"
	Dir   = "dir"
	Link  = "link"
	Other = "other" // FIFO, socket, device
)

// Entry is an entry of a directory.
type Entry struct{ Name, Type string }

// Info is the result of Stat; Size is that of files and links.
type Info struct {
	Type string
	Size int64
}

// Config is what an FS is opened with.
type Config struct {
	// Dir is the root's path: a directory, or one file.
	Dir     string
	Options vfs.RootOptions
	View    vfs.View
	Limits  vfs.Limits
}

// Opener opens an FS for one test. It closes it with t.Cleanup.
type Opener func(t *testing.T, c Config) FS

// Case is one row of the table.
type Case struct {
	Name string
	// Tree is what there is; see Build.
	Tree []string
	// File makes the root this one file of the tree.
	File string
	// Reads defaults to "**".
	Reads   []string
	View    vfs.View
	Options vfs.RootOptions
	// Ordinary runs the case without root's power to read everything.
	Ordinary bool
	Steps    []Step
}

// Step is one operation: "read", "list", "stat", "lstat" or "readlink".
type Step struct {
	Op, Path string
	Off      int64
	N        int // of a read; 0 means 1000
	// Want is what comes out: the bytes read, the entries as "name:type"
	// separated by blanks, "type size", or a link's target.
	Want string
	// Errno is the failure that is expected instead.
	Errno string
}

// Run checks an FS against the table. ordinary is that package's Run.
func Run(t *testing.T, open Opener, ordinary func(t *testing.T, f func(t *testing.T))) {
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) {
			run := func(t *testing.T) { c.run(t, open) }
			if c.Ordinary {
				ordinary(t, run)
				return
			}
			run(t)
		})
	}
}

func (c Case) run(t *testing.T, open Opener) {
	dir := Build(t, c.Tree)
	config := Config{Dir: filepath.Join(dir, c.File), Options: c.Options, View: c.View}
	if config.View.Reads = c.Reads; c.Reads == nil {
		config.View.Reads = []string{"**"}
	}
	fsys := open(t, config)
	for _, s := range c.Steps {
		got, errno, ok := s.do(fsys)
		if !ok {
			continue // the FS has no such operation
		}
		want := strings.ReplaceAll(s.Want, "$ROOT", dir)
		if errno != s.Errno || errno == "" && got != want {
			t.Errorf("%s %q: got %q %s, want %q %s", s.Op, s.Path, got, errno, want, s.Errno)
		}
	}
}

func (s Step) do(d FS) (got, errno string, ok bool) {
	links, hasLinks := d.(LinkFS)
	switch s.Op {
	case "read":
		n := s.N
		if n == 0 {
			n = 1000
		}
		data, errno := d.Read(s.Path, s.Off, n)
		return string(data), errno, true
	case "list":
		entries, errno := d.List(s.Path)
		var words []string
		for _, e := range entries {
			words = append(words, e.Name+":"+e.Type)
		}
		return strings.Join(words, " "), errno, true
	case "stat":
		info, errno := d.Stat(s.Path)
		return info.String(), errno, true
	case "lstat":
		if !hasLinks {
			return "", "", false
		}
		info, errno := links.Lstat(s.Path)
		return info.String(), errno, true
	case "readlink":
		if !hasLinks {
			return "", "", false
		}
		target, errno := links.Readlink(s.Path)
		return target, errno, true
	}
	panic("vfstest: no operation " + s.Op)
}

// String is how a Step spells it.
func (i Info) String() string {
	if i.Type == File || i.Type == Link {
		return fmt.Sprintf("%s %d", i.Type, i.Size)
	}
	return i.Type
}

// Build makes a tree in a new directory and returns its link-resolved path.
// Each line is one of
//
//	path = content      (also "path = 1000*x": so many of that character)
//	path/               a directory
//	path -> target      a link; $ROOT and $OUT are the root and a directory beside it
//	path => existing    a hard link
//	path |              a FIFO
//	path ^              a socket
//	path # size         a sparse file
//	path ! mode         an octal mode for what exists; the test's end reopens it
//
// $OUT holds a file "secret.txt" and a directory "dir" with "file".
func Build(t testing.TB, lines []string) string {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root, out := filepath.Join(top, "root"), filepath.Join(top, "out")
	for path, content := range map[string]string{
		filepath.Join(out, "secret.txt"):  "outside",
		filepath.Join(out, "dir", "file"): "outside",
	} {
		put(t, path, content)
	}
	if err := os.MkdirAll(root, 0o755); err != nil {
		t.Fatal(err)
	}
	vars := strings.NewReplacer("$ROOT", root, "$OUT", out)
	t.Cleanup(func() { // or what was closed can't be removed
		if slices.ContainsFunc(lines, func(line string) bool { return strings.Contains(line, " ! ") }) {
			Reopen(root)
		}
	})
	for _, line := range lines {
		if err := build(t, root, vars.Replace(line)); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
	return root
}

// Inside reports whether what is written to a path ends up in a directory,
// wherever links lead, that of the path's own name too. Where only an entry is
// made or removed, the path to ask about is that of its directory. Tests that
// change trees with random links in them must ask: such links lead to what is
// the machine's, and a test may run as root. The directory is free of links.
func Inside(dir, path string) bool {
	target, err := filepath.EvalSymlinks(path)
	if err == nil {
		return target == dir || strings.HasPrefix(target, dir+"/")
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	text, err := os.Readlink(path)
	switch {
	case err != nil: // there is nothing of that name
		up := filepath.Dir(path)
		return up != path && Inside(dir, up)
	case filepath.IsAbs(text) || strings.Contains(text, ".."):
		return false // what it leads to once it exists, the file system decides
	}
	return Inside(dir, filepath.Join(filepath.Dir(path), text))
}

// Reopen undoes what changes of modes did to a tree and to the directory that it
// lies in, so that it can be looked at, and removed.
func Reopen(dir string) {
	_ = os.Chmod(filepath.Dir(dir), 0o755)
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, _ error) error {
		switch {
		case d == nil:
		case d.IsDir():
			_ = os.Chmod(path, 0o755) // before it is listed
		case d.Type().IsRegular():
			_ = os.Chmod(path, 0o644)
		}
		return nil
	})
}

func build(t testing.TB, root, line string) error {
	at := func(p string) string { return filepath.Join(root, filepath.FromSlash(p)) }
	for _, op := range []string{" => ", " -> ", " = ", " # ", " ! "} {
		name, arg, ok := strings.Cut(line, op)
		if !ok {
			continue
		}
		if op != " ! " {
			if err := os.MkdirAll(filepath.Dir(at(name)), 0o755); err != nil {
				return err
			}
		}
		switch op {
		case " => ":
			return os.Link(at(arg), at(name))
		case " -> ":
			return os.Symlink(arg, at(name))
		case " = ":
			put(t, at(name), expand(arg))
			return nil
		case " # ":
			return sparse(at(name), arg)
		}
		var mode os.FileMode
		if _, err := fmt.Sscanf(arg, "%o", &mode); err != nil {
			return err
		}
		return os.Chmod(at(name), mode)
	}
	if name, ok := strings.CutSuffix(line, "/"); ok {
		return os.MkdirAll(at(name), 0o755)
	}
	name, kind, ok := strings.Cut(line, " ")
	if !ok {
		return fmt.Errorf("unknown line")
	}
	return special(t, at(name), kind)
}

// expand turns "3*x" into "xxx".
func expand(content string) string {
	var n int
	var c rune
	if _, err := fmt.Sscanf(content, "%d*%c", &n, &c); err == nil {
		return strings.Repeat(string(c), n)
	}
	return content
}

func put(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func sparse(path, size string) error {
	var n int64
	if _, err := fmt.Sscanf(size, "%d", &n); err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Truncate(n)
}

// special makes a FIFO or a socket.
func special(t testing.TB, path, kind string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	switch kind {
	case "|":
		return unix.Mkfifo(path, 0o644)
	case "^":
		// A socket's path must be short, and a test's directory isn't: make
		// it elsewhere and move it.
		dir, err := os.MkdirTemp("", "s")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, "s")})
		if err != nil {
			return err
		}
		l.SetUnlinkOnClose(false)
		t.Cleanup(func() { _ = l.Close() })
		return os.Rename(filepath.Join(dir, "s"), path)
	}
	return fmt.Errorf("unknown kind %q", kind)
}
