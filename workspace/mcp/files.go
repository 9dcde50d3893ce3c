package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"waymark/agentapi"
	"waymark/internal/beneath"
	"waymark/internal/errtext"
	"waymark/plugins/mcpconfig/servers"
	"waymark/workspace/mcp/entry"
)

// maxFile bounds a configuration file. Real ones have a few KiB.
const maxFile = 1 << 20

var (
	errFileChanged = errors.New("it has changed since it was found, and is looked at again")
	errFileLarge   = errors.New("it has more than 1 MiB")
	errNotRegular  = errors.New("it isn't a regular file")
)

// kept is what a file was when it could be used last; data is nil where it never could.
type kept struct {
	hash string
	data []byte
	// problem says why what it is now isn't taken; empty when it is.
	problem string
}

// fileReader gives entry.Load the files. One that can't be used is given as it was
// when it could be.
type fileReader struct {
	files map[string]*kept // by path; those of the last reload
	next  map[string]*kept // those of the one that goes on
}

func (r *fileReader) begin() { r.next = make(map[string]*kept) }

func (r *fileReader) end() { r.files, r.next = r.next, nil }

// problem says why a file isn't taken as it is; empty when it is.
func (r *fileReader) problem(path string) string {
	if k := r.files[path]; k != nil {
		return k.problem
	}
	return ""
}

// read implements the callback of entry.Load.
func (r *fileReader) read(f entry.File) ([]byte, error) {
	before := r.files[f.Path]
	if before != nil && before.data != nil && f.Problem == "" && f.Hash != "" && f.Hash == before.hash {
		r.next[f.Path] = &kept{hash: before.hash, data: before.data}
		return before.data, nil
	}
	data, err := readFile(f)
	if err == nil {
		r.next[f.Path] = &kept{hash: f.Hash, data: data}
		return data, nil
	}
	now := &kept{problem: errtext.Of(err)}
	if before != nil {
		now.hash, now.data = before.hash, before.data
	}
	if r.next[f.Path] = now; now.data == nil {
		return nil, err
	}
	return now.data, nil
}

// invalid returns what of files, with their entries, can't be used. A file that is about
// to be read again isn't said to be one of them.
func (r *fileReader) invalid(files []entry.File, entries []entry.Entry) []agentapi.MCPInvalid {
	list := []agentapi.MCPInvalid{}
	seen := map[string]bool{}
	for _, f := range files {
		if problem := r.problem(f.Path); !seen[f.Path] && problem != "" && problem != errFileChanged.Error() {
			list = append(list, agentapi.MCPInvalid{Source: f.Path, Error: problem})
		}
		seen[f.Path] = true
	}
	for i := range entries {
		if e := &entries[i]; e.Problem != "" {
			list = append(list, agentapi.MCPInvalid{Source: e.Source, Name: e.Name, Error: e.Problem})
		}
	}
	return list
}

// readFile reads a file that the host has found, and what is in it is what the host
// has found.
func readFile(f entry.File) ([]byte, error) {
	if f.Problem != "" {
		return nil, errors.New(f.Problem)
	}
	data, err := readGuarded(f.Path)
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(data); f.Hash != "" && hex.EncodeToString(sum[:]) != f.Hash {
		return nil, errFileChanged
	}
	if problem := servers.Check(f.Shape, data); problem != "" {
		return nil, errors.New(problem)
	}
	return data, nil
}

// readGuarded reads a file by a path without links: whoever has put one there
// meanwhile gets an error.
func readGuarded(path string) (_ []byte, err error) {
	root, err := beneath.Retry(func() (int, error) { return unix.Open("/", unix.O_DIRECTORY|unix.O_CLOEXEC, 0) })
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(root) }()
	w := beneath.Walker{Root: root}
	defer w.Forget()
	fd, _, errno := w.Open(strings.TrimPrefix(path, "/"))
	if errno != 0 {
		return nil, &os.PathError{Op: "open", Path: path, Err: errno}
	}
	f := os.NewFile(uintptr(fd), path)
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, errNotRegular)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = errFileLarge
	}
	return data, err
}
