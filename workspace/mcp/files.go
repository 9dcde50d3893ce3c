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

// maxFile limits a configuration file, in bytes. Real ones have a few KiB.
const maxFile = 1 << 20

var (
	errFileChanged = errors.New("it has changed since it was found, and is looked at again")
	errFileLarge   = errors.New("it has more than 1 MiB")
	errNotRegular  = errors.New("it isn't a regular file")
)

// kept is the last usable content of a file; data is nil if it never was usable.
type kept struct {
	hash string
	data []byte
	// problem says why the current content is rejected; empty if it isn't.
	problem string
}

// fileReader reads files for entry.Load. For an unusable file it returns the last usable
// content.
type fileReader struct {
	files map[string]*kept // by path, from the last reload
	next  map[string]*kept // from the current reload
}

func (r *fileReader) begin() { r.next = make(map[string]*kept) }

func (r *fileReader) end() { r.files, r.next = r.next, nil }

// problem says why the current content of a file is rejected; empty if it isn't.
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

// invalid lists what can't be used in files and entries. A file that will be read again
// isn't listed.
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

// readFile reads a file, and checks that its content is what the host has found.
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

// readGuarded reads a file by a path without links. It fails if a link has been put there
// meanwhile.
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
