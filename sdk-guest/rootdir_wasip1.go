//go:build wasip1

package guest

import (
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"
)

// ReadDir implements fs.ReadDirFS.
func (rootFS) ReadDir(name string) ([]fs.DirEntry, error) {
	fd, err := open(name, syscall.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	entries, err := readEntries(fd, name)
	_ = syscall.Close(fd)
	return entries, err
}

// ReadDir implements fs.ReadDirFile.
func (f *file) ReadDir(n int) ([]fs.DirEntry, error) {
	if !f.listed {
		entries, err := readEntries(f.fd, f.name)
		if err != nil {
			return nil, err
		}
		f.entries, f.listed = entries, true
	}
	if n > 0 && len(f.entries) == 0 {
		return nil, io.EOF
	}
	if n <= 0 || n > len(f.entries) {
		n = len(f.entries)
	}
	list := f.entries[:n:n]
	f.entries = f.entries[n:]
	return list, nil
}

const (
	// direntSize is the fixed part of WASI's dirent: next cookie (8 bytes), inode (8), length
	// of the name (4), type (1), padding (3).
	direntSize   = 24
	direntNamlen = 16
	direntType   = 20

	// direntsMin holds some 200 entries of ordinary names, so that most directories take one
	// call; direntsMax holds a name longer than any.
	direntsMin = 8 << 10
	direntsMax = 1 << 20
)

// dirents is the buffer of all listings but those of directories with long names. It is part
// of a fresh instance, and needs no allocation. A guest has one thread, and a listing calls
// no other code.
var dirents [direntsMin]byte

// readEntries lists a directory, in byte order of the names.
func readEntries(fd int, dir string) ([]fs.DirEntry, error) {
	var (
		entries []fs.DirEntry
		cookie  syscall.Dircookie
		buf     = dirents[:]
	)
	for {
		n, err := syscall.ReadDir(fd, buf, cookie)
		if err != nil {
			return nil, pathError("readdir", dir, err)
		}
		list, next, used := parseDirents(buf[:n], dir, entries, cookie)
		entries, cookie = list, next
		if n < len(buf) { // less than there was room for: that was all
			break
		}
		if used == 0 { // not even one entry fits
			if len(buf) >= direntsMax {
				return nil, pathError("readdir", dir, syscall.ENAMETOOLONG)
			}
			buf = make([]byte, 2*len(buf))
		}
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// parseDirents appends the complete entries in buf and returns the cookie to continue with,
// and how many bytes were used. The last entry may be cut.
func parseDirents(buf []byte, dir string, entries []fs.DirEntry, cookie syscall.Dircookie) (
	list []fs.DirEntry, next syscall.Dircookie, used int,
) {
	for len(buf)-used >= direntSize {
		rec := buf[used:]
		namlen := int(rec[direntNamlen]) | int(rec[direntNamlen+1])<<8 | int(rec[direntNamlen+2])<<16
		if len(rec)-direntSize < namlen {
			break
		}
		cookie = wordOf(textOf(rec[:8]))
		used += direntSize + namlen
		name := string(rec[direntSize : direntSize+namlen])
		if name != "." && name != ".." {
			entries = append(entries, &dirEntry{dir, name, typeMode(rec[direntType])})
		}
	}
	return entries, cookie, used
}

type dirEntry struct {
	dir, name string
	typ       fs.FileMode
}

func (e *dirEntry) Name() string      { return e.name }
func (e *dirEntry) IsDir() bool       { return e.typ.IsDir() }
func (e *dirEntry) Type() fs.FileMode { return e.typ }
func (e *dirEntry) Info() (fs.FileInfo, error) {
	return rootFS{}.Lstat(path.Join(e.dir, e.name))
}
