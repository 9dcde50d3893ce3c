package fake

import (
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Files is a tree of files in memory, as the fake agent has it. Paths are
// absolute, and links are followed on the way. It may be used by any number of
// goroutines.
//
// There are no owners, no hard links and no devices; of a mode only the owner's
// right to read and to write counts. Nothing is ever half written.
type Files struct {
	mu    sync.Mutex       // guards nodes and what is in them
	nodes map[string]*node // by clean path
	now   func() time.Time
}

// node is a file, a directory or a link. Data isn't changed, but replaced.
type node struct {
	mode     fs.FileMode
	data     []byte
	target   string // of a link
	modified time.Time
}

const (
	dirMode  = fs.ModeDir | 0o755
	fileMode = fs.FileMode(0o644)
	// maxLinks is how many links a path may lead through, as in Linux.
	maxLinks = 40
)

func newFiles(now func() time.Time, dirs ...string) *Files {
	f := &Files{nodes: map[string]*node{"/": {mode: dirMode}}, now: now}
	for _, dir := range dirs {
		_ = f.Mkdir(dir)
	}
	return f
}

// pathError is an error as package os has it.
func pathError(op, name string, err error) error { return &fs.PathError{Op: op, Path: name, Err: err} }

// resolve returns the path of a node without links. What isn't there is no error,
// if its directory is.
func (f *Files) resolve(op, name string, last bool) (string, error) {
	if !path.IsAbs(name) {
		return "", pathError(op, name, errors.New("is not absolute"))
	}
	todo, at := strings.Split(path.Clean(name)[1:], "/"), "/"
	for links := 0; len(todo) > 0; {
		part := todo[0]
		todo = todo[1:]
		if part == "" {
			continue
		}
		if part == ".." {
			at = path.Dir(at)
			continue
		}
		next := path.Join(at, part)
		n := f.nodes[next]
		switch {
		case n == nil && len(todo) > 0:
			return "", pathError(op, name, fs.ErrNotExist)
		case n != nil && n.mode&fs.ModeSymlink != 0 && (last || len(todo) > 0):
			if links++; links > maxLinks {
				return "", pathError(op, name, syscall.ELOOP)
			}
			if path.IsAbs(n.target) {
				next = "/"
			} else {
				next = at
			}
			todo = slices.Concat(strings.Split(n.target, "/"), todo)
		case n != nil && !n.mode.IsDir() && n.mode&fs.ModeSymlink == 0 && len(todo) > 0:
			return "", pathError(op, name, syscall.ENOTDIR)
		}
		at = next
	}
	return at, nil
}

// find returns what is at a path.
func (f *Files) find(op, name string, last bool) (*node, string, error) {
	at, err := f.resolve(op, name, last)
	if err != nil {
		return nil, "", err
	}
	n := f.nodes[at]
	if n == nil {
		return nil, at, pathError(op, name, fs.ErrNotExist)
	}
	return n, at, nil
}

// Read returns a file's content.
func (f *Files) Read(name string) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, _, err := f.find("open", name, true)
	switch {
	case err != nil:
		return "", err
	case n.mode.IsDir():
		return "", pathError("read", name, syscall.EISDIR)
	case n.mode&0o400 == 0:
		return "", pathError("open", name, fs.ErrPermission)
	}
	return string(n.data), nil
}

// Write makes or replaces a file, and the directories on the way.
func (f *Files) Write(name, content string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.makeDirs(path.Dir(path.Clean(name))); err != nil {
		return err
	}
	n, at, err := f.find("open", name, true)
	switch {
	case err == nil && n.mode.IsDir():
		return pathError("open", name, syscall.EISDIR)
	case err == nil && n.mode&0o200 == 0:
		return pathError("open", name, fs.ErrPermission)
	case err == nil:
		n.data, n.modified = []byte(content), f.now()
		return nil
	case at == "": // or what it links to can't be made
		return err
	}
	f.nodes[at] = &node{mode: fileMode, data: []byte(content), modified: f.now()}
	return nil
}

// Mkdir makes a directory and those on the way.
func (f *Files) Mkdir(name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.makeDirs(name)
}

func (f *Files) makeDirs(name string) error {
	if !path.IsAbs(name) {
		return pathError("mkdir", name, errors.New("is not absolute"))
	}
	at := "/"
	for part := range strings.SplitSeq(path.Clean(name)[1:], "/") {
		next, err := f.resolve("mkdir", path.Join(at, part), true)
		if err != nil {
			return err
		}
		if n := f.nodes[next]; n == nil {
			f.nodes[next] = &node{mode: dirMode, modified: f.now()}
		} else if !n.mode.IsDir() {
			return pathError("mkdir", name, syscall.ENOTDIR)
		}
		at = next
	}
	return nil
}

// Link makes a symbolic link.
func (f *Files) Link(target, name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.makeDirs(path.Dir(path.Clean(name))); err != nil {
		return err
	}
	at, err := f.resolve("symlink", name, false)
	if err != nil {
		return err
	}
	if f.nodes[at] != nil {
		return pathError("symlink", name, fs.ErrExist)
	}
	f.nodes[at] = &node{mode: fs.ModeSymlink | 0o777, target: target, modified: f.now()}
	return nil
}

// Chmod sets the mode of a file.
func (f *Files) Chmod(name string, mode fs.FileMode) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, _, err := f.find("chmod", name, true)
	if err == nil {
		n.mode = n.mode.Type() | mode.Perm()
	}
	return err
}

// Remove removes a file, or a directory with all that is in it.
func (f *Files) Remove(name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, at, err := f.find("remove", name, false)
	if err != nil {
		return err
	}
	maps.DeleteFunc(f.nodes, func(p string, _ *node) bool { return p == at || strings.HasPrefix(p, at+"/") })
	return nil
}

// Resolve returns the path of what is there, or could be made there, without
// links.
func (f *Files) Resolve(name string) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.resolve("open", name, true)
}

// info describes what is at a path.
func (f *Files) info(name string, last bool) (fs.FileInfo, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, at, err := f.find("stat", name, last)
	if err != nil {
		return nil, err
	}
	return fileInfo{path.Base(at), *n}, nil
}

// list returns what is in a directory, by name.
func (f *Files) list(name string) ([]fs.DirEntry, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, at, err := f.find("open", name, true)
	switch {
	case err != nil:
		return nil, err
	case !n.mode.IsDir():
		return nil, pathError("open", name, syscall.ENOTDIR)
	}
	var entries []fs.DirEntry
	for _, p := range slices.Sorted(maps.Keys(f.nodes)) {
		if p != "/" && path.Dir(p) == at {
			entries = append(entries, fs.FileInfoToDirEntry(fileInfo{path.Base(p), *f.nodes[p]}))
		}
	}
	return entries, nil
}

// fileInfo is a node as package os describes it.
type fileInfo struct {
	name string
	node node
}

func (i fileInfo) Name() string       { return i.name }
func (i fileInfo) Size() int64        { return int64(len(i.node.data)) }
func (i fileInfo) Mode() fs.FileMode  { return i.node.mode }
func (i fileInfo) ModTime() time.Time { return i.node.modified }
func (i fileInfo) IsDir() bool        { return i.node.mode.IsDir() }
func (i fileInfo) Sys() any           { return nil }
