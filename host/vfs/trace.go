package vfs

import (
	"bytes"
	"cmp"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"waymark/internal/beneath"
)

// DepKind says what was observed.
type DepKind string

// The kinds of deps.
const (
	// DepRead records that a file was read: content and size. With an Errno it is a regular
	// file that can't be opened.
	DepRead DepKind = "read"
	// DepListed records that a directory was listed: the visible names, their types, and how
	// many names aren't UTF-8.
	DepListed DepKind = "listed"
	// DepStat records type and size of a path.
	DepStat DepKind = "stat"
	// DepLink records the target of a link that was followed or read.
	DepLink DepKind = "link"
	// DepMissing records that the path doesn't exist, but its directory does.
	DepMissing DepKind = "missing"
)

// Dep is one entry of a trace: one thing that a run observed, with what is needed to check
// whether it still holds. It is plain data for storage; only Root.Check interprets it.
type Dep struct {
	Kind DepKind `json:"kind"`
	// Path is relative to the root and free of links. Each link on the way has a dep of its
	// own.
	Path string `json:"path"`
	// As is the path by which a listed directory was asked for, which decides what is visible
	// in it.
	As string `json:"as,omitempty"`
	// Errno, if not 0, is the failure that was observed instead.
	Errno syscall.Errno `json:"errno,omitempty"`
	// Type holds the type bits of a stat.
	Type fs.FileMode `json:"type,omitempty"`
	// Size is that of the file or link; -1 if it doesn't matter.
	Size int64 `json:"size,omitempty"`
	// Target is a link's text.
	Target string `json:"target,omitempty"`
	// Hash is the SHA-256 of a whole file or of a listing. A file without one can be
	// rechecked by its identity only.
	Hash []byte `json:"hash,omitempty"`
	// Unshown counts the names in a listing that aren't UTF-8. Hash covers the number.
	Unshown int `json:"unshown,omitempty"`
	// ID identifies the file read, or the directory listed.
	ID Identity `json:"id,omitzero"`
	// Young says that the file or directory was so young that its identity proves nothing.
	Young bool `json:"young,omitempty"`
	// Unstable says that the observation can't be repeated, for example of a file that kept
	// changing. It is never fresh.
	Unstable bool `json:"unstable,omitempty"`
}

// record records an observation.
func (r *Run) record(d Dep) { r.deps = append(r.deps, d) }

// recordFailure records that looking at a path failed.
func (r *Run) recordFailure(kind DepKind, path string, errno syscall.Errno) {
	switch {
	case errno == syscall.ENOENT:
		r.record(Dep{Kind: DepMissing, Path: path})
	case lasting(errno):
		r.record(Dep{Kind: kind, Path: path, Errno: errno})
	default:
		r.recordUnstable(path)
	}
}

// recordUnstable records that nothing is certain about a path.
func (r *Run) recordUnstable(path string) { r.record(Dep{Kind: DepStat, Path: path, Unstable: true}) }

// lasting reports whether an errno says something about the file and not only about the
// moment, as EMFILE does.
func lasting(errno syscall.Errno) bool {
	switch errno {
	case syscall.EACCES, syscall.EPERM, syscall.ENAMETOOLONG, syscall.ELOOP, syscall.ENOTDIR:
		return true
	}
	return false
}

// Trace returns everything that the answers of this run depend on, units included, sorted by
// path and without duplicates. It waits for the hashes.
func (r *Run) Trace() []Dep {
	r.waitHashes()
	deps := make([]Dep, 0, len(r.deps)+len(r.nodes)+len(r.units.done))
	for d := range r.observed() {
		deps = append(deps, *d)
	}
	for _, n := range r.nodes {
		deps = append(deps, n.toDep())
	}
	return simplify(deps, r.dirs)
}

// simplify sorts deps and drops those that others imply. dirs are directories that others
// among deps have traversed.
func simplify(deps []Dep, dirs map[string]struct{}) []Dep {
	var read map[string]int64
	for _, d := range deps {
		if d.isRead() && len(deps) > 1 {
			if read == nil {
				read = make(map[string]int64, len(deps))
			}
			read[d.Path] = d.Size
		}
	}
	deps = slices.DeleteFunc(deps, func(d Dep) bool {
		if d.Kind != DepStat || d.Errno != 0 || d.Unstable {
			return false
		}
		if d.Type == fs.ModeDir {
			_, ok := dirs[d.Path]
			return ok
		}
		size, ok := read[d.Path]
		return ok && d.Type == 0 && (d.Size == size || d.Size < 0)
	})
	slices.SortFunc(deps, func(a, b Dep) int { return compareDeps(&a, &b) })
	return slices.CompactFunc(deps, func(a, b Dep) bool { return compareDeps(&a, &b) == 0 })
}

// isRead reports whether a dep is a file that was read.
func (d *Dep) isRead() bool { return d.Kind == DepRead && d.Errno == 0 && !d.Unstable }

// isListing reports whether a dep is a directory that was listed.
func (d *Dep) isListing() bool { return d.Kind == DepListed && d.Errno == 0 && !d.Unstable }

// addParents adds the directories on the way to a link-free path that was opened.
func (r *Run) addParents(path string) { addDirs(r.dirs, path) }

// addDir adds a directory that was listed, and those on the way to it.
func (r *Run) addDir(path string) {
	r.addParents(path)
	r.dirs[path] = struct{}{}
}

func addDirs(dirs map[string]struct{}, path string) {
	for {
		dir, _ := beneath.Split(path)
		if dir == "." {
			return
		}
		if _, ok := dirs[dir]; ok {
			return
		}
		dirs[dir] = struct{}{}
		path = dir
	}
}

// compareDeps orders deps; it returns 0 for deps of the same observation.
func compareDeps(a, b *Dep) int {
	if c := strings.Compare(a.Path, b.Path); c != 0 {
		return c
	}
	if c := strings.Compare(string(a.Kind), string(b.Kind)); c != 0 {
		return c
	}
	return cmp.Or(
		strings.Compare(a.As, b.As),
		cmp.Compare(a.Errno, b.Errno),
		cmp.Compare(a.Type, b.Type),
		cmp.Compare(a.Size, b.Size),
		strings.Compare(a.Target, b.Target),
		bytes.Compare(a.Hash, b.Hash),
		compareBools(a.Unstable, b.Unstable),
	)
}

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// Identity is what the file system says of a file. If none of it has changed, and the file
// wasn't young, the content is unchanged, too. Ctime is part of it because any program can set
// Mtime back.
type Identity struct {
	Dev, Ino     uint64
	Size         int64
	Mtime, Ctime int64 // Unix time in ns
}

func identityOf(st *unix.Stat_t) Identity {
	return Identity{
		//nolint:unconvert // the types differ between platforms
		Dev: uint64(st.Dev), Ino: uint64(st.Ino), Size: st.Size,
		Mtime: st.Mtim.Nano(), Ctime: st.Ctim.Nano(),
	}
}

func (id Identity) sameFile(other Identity) bool {
	return id.Dev == other.Dev && id.Ino == other.Ino
}

// youngAge is how old a file's times must be to be trusted. On coarse clocks (2 s on FAT, 1 s
// on older NFS) a second edit doesn't change them.
const youngAge = 2 * time.Second

// young reports whether an edit after now could leave the identity unchanged.
func (id Identity) young(now time.Time) bool {
	return now.UnixNano()-max(id.Mtime, id.Ctime) < int64(youngAge)
}

// inoOf hashes a link-free path (FNV-1a), so that a guest can distinguish files without
// learning the real inode numbers, which no trace holds.
func inoOf(path string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(path) {
		h = (h ^ uint64(path[i])) * 1099511628211
	}
	return h | 1 // 0 means "unknown" to some guests
}
