package vfs

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// Class says what was found at a path that was named as content.
type Class int

// The classes.
const (
	ContentUnreadable Class = iota // broken or looping link, FIFO, no permission, changing, …
	ContentOK
	ContentOversize  // larger than KeepBytes: hash and size only
	ContentEscapes   // a link out of the root
	ContentDirectory // a directory, or a link to one
	ContentMissing   // nothing has this name
	ContentHidden    // the resolver may not read it
)

// String returns the class in one word.
func (c Class) String() string {
	names := [...]string{"unreadable", "ok", "oversize", "escapes", "directory", "missing", "hidden"}
	if c < 0 || int(c) >= len(names) {
		return fmt.Sprintf("Class(%d)", int(c))
	}
	return names[c]
}

// Content is a file as a resource's content.
type Content struct {
	// Path is free of links and relative to the root. If the file can't be reached, or is a
	// directory, it is the link-free path of the name itself, as far as known, and not the
	// target of a link at that name.
	Path  string
	Class Class
	// Size is the size of the whole file, in bytes, if OK or Oversize.
	Size int64
	// Hash is the SHA-256 of the whole file up to 16 MiB, and of "large:size:mtime-ns" for
	// larger files; nil unless OK or Oversize.
	Hash []byte
	// Settings says that the name asked for, or the one it leads to, is that of a settings
	// file.
	Settings bool
	// Data is the whole file, the same bytes that the guest saw; nil unless OK. It is shared:
	// don't modify it.
	Data []byte
}

// maxHashed is the size up to which a file is hashed whole.
const maxHashed = 16 << 20

// Content returns the content of a file that the resolver named. It sees no more than the
// resolver. The error, an *Error, says why the Class isn't ContentOK or ContentOversize. The
// Class is set in any case.
func (r *Run) Content(name string) (Content, error) {
	a := r.ask(verbOpen, name)
	if a.err != nil {
		return Content{Path: r.reached(name), Class: r.classOf(name, a.err)}, a.err
	}
	c := Content{Path: a.path, Settings: r.isSettings(a)}
	if c.Settings && !r.filter.mcpOnly { // a manifest, which says where content is and isn't content itself
		c.Class = ContentHidden
		return c, failure{errno: syscall.ENOENT, reason: ReasonMCP}.error(verbOpen, a.asked)
	}
	if a.info.IsDir() {
		c.Class, c.Path = ContentDirectory, r.reached(name)
		return c, failure{errno: syscall.EISDIR}.error(verbOpen, a.asked)
	}
	n := a.node
	n.used = true
	if n.id.Size > r.limits.KeepBytes {
		sum, f := r.sum(n)
		if f.errno != 0 {
			return c, f.error(verbOpen, a.asked)
		}
		c.Class, c.Size, c.Hash = ContentOversize, n.id.Size, sum
		return c, nil
	}
	r.waitHashes()
	c.Class, c.Size, c.Hash, c.Data = ContentOK, n.id.Size, slices.Clone(n.sum[:]), n.data
	if c.Data == nil {
		c.Data = []byte{}
	}
	return c, nil
}

// isSettings reports whether the opened file is a settings file. Most views see none.
func (r *Run) isSettings(a *answer) bool {
	if !r.filter.mcpOnly && (!r.filter.manifests || !isManifest(a.asked)) {
		return false
	}
	return r.scopeOf(a.asked).settings() || r.scopeOf(a.path).settings()
}

// classOf returns the class of a file that can't be read. A missing file and a link to one
// have different classes.
func (r *Run) classOf(name string, err *Error) Class {
	switch {
	case errors.Is(err, ErrHidden):
		return ContentHidden
	case errors.Is(err, ErrEscape):
		return ContentEscapes
	case err.Errno == syscall.ENOENT, err.Errno == syscall.ENOTDIR:
		if a := r.ask(verbLstat, name); a.err != nil {
			return ContentMissing
		}
	}
	return ContentUnreadable
}

// reached returns the link-free path of the last link that name leads through, or name
// itself.
func (r *Run) reached(name string) string {
	if a := r.ask(verbLstat, name); a.err == nil {
		return a.path
	}
	if clean, _, problem := cleanPath(name); problem.errno == 0 {
		return clean
	}
	return name
}

// Resolve returns where a path leads: the link-free path, relative to the root, and the type
// of the file there. It is recorded like a Stat. On failure, path is as in Content.
func (r *Run) Resolve(name string) (path string, typ fs.FileMode, err error) {
	a := r.ask(verbStat, name)
	if a.err != nil {
		return r.reached(name), 0, a.err
	}
	return a.path, a.info.Type, nil
}

// sum returns the content hash of a file that isn't kept whole.
func (r *Run) sum(n *node) ([]byte, failure) {
	if n.unstable {
		return nil, changed(n)
	}
	if !n.hashed {
		// Files of adopted units count as well, so that the same files are hashed as if all
		// were read anew.
		n.hashed, n.large = true, n.id.Size > min(maxHashed, r.hashLeft)
		if !n.large {
			r.hashLeft -= n.id.Size
		}
	}
	if n.large {
		large := sha256.Sum256(fmt.Appendf(nil, "large:%d:%d", n.id.Size, n.id.Mtime))
		return large[:], failure{}
	}
	if f := r.hashAll(n); f.errno != 0 {
		return nil, f
	}
	return slices.Clone(n.sum[:]), failure{}
}

// hashAll hashes a file that isn't kept whole, unless its hash is known.
func (r *Run) hashAll(n *node) failure {
	if n.whole {
		return failure{}
	}
	fd, f := r.reopen(n)
	if f.errno != 0 {
		return f
	}
	defer unix.Close(fd)
	sum, errno := hashFile(fd, n.id.Size)
	if errno != 0 {
		n.unstable = true
		return failure{errno: errno, at: n.path}
	}
	if f := r.same(n, fd); f.errno != 0 {
		return f
	}
	n.sum, n.whole = sum, true
	return failure{}
}

// hashFile hashes the first size bytes of a file; it returns EIO if there are fewer.
func hashFile(fd int, size int64) (sum [sha256.Size]byte, errno syscall.Errno) {
	h := sha256.New()
	buf := make([]byte, min(size, 64<<10))
	for off := int64(0); off < size; {
		n, errno := preadFull(fd, buf[:min(size-off, int64(len(buf)))], off)
		if errno != 0 {
			return sum, errno
		}
		if n == 0 {
			return sum, syscall.EIO
		}
		h.Write(buf[:n])
		off += int64(n)
	}
	h.Sum(sum[:0])
	return sum, 0
}
