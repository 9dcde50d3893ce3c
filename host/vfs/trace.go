package vfs

import (
	"bytes"
	"cmp"
	"io/fs"
	"slices"
	"strings"
	"syscall"
)

// DepKind says what was observed.
type DepKind string

// The kinds of deps.
const (
	// DepRead: the file was read: content and size.
	DepRead DepKind = "read"
	// DepListed: the directory was listed: the visible names, their types,
	// and how many names aren't UTF-8.
	DepListed DepKind = "listed"
	// DepStat: the path was looked at: type and size.
	DepStat DepKind = "stat"
	// DepLink: the link was followed or read: its target.
	DepLink DepKind = "link"
	// DepMissing: the path doesn't exist, but its directory does.
	DepMissing DepKind = "missing"
)

// Dep is one entry of a trace: one thing that a run observed, with what is
// needed to see whether it is still so. It is plain data, to be kept; only
// Root.Check gives it a meaning.
type Dep struct {
	Kind DepKind `json:"kind"`
	// Path is relative to the root and free of links: what leads there
	// through links has a dep for each of them.
	Path string `json:"path"`
	// As is the path a listed directory was asked for by, which decides what
	// is visible in it.
	As string `json:"as,omitempty"`
	// Errno, when not 0, is the failure that was observed instead.
	Errno syscall.Errno `json:"errno,omitempty"`
	// Type holds the type bits of a stat.
	Type fs.FileMode `json:"type,omitempty"`
	// Size is that of a file or a link looked at; -1 when it doesn't matter.
	Size int64 `json:"size,omitempty"`
	// Target is a link's text.
	Target string `json:"target,omitempty"`
	// Hash is the SHA-256 of a whole file or of a listing. A file without
	// one can be re-checked by its identity only.
	Hash []byte `json:"hash,omitempty"`
	// ID identifies the file read.
	ID Identity `json:"id,omitzero"`
	// Young says that the file was so young that its identity proves
	// nothing.
	Young bool `json:"young,omitempty"`
	// Unstable says that what was observed can't be observed again, for
	// example a file that kept changing: never fresh.
	Unstable bool `json:"unstable,omitempty"`
}

// dep records an observation.
func (r *Run) dep(d Dep) { r.deps = append(r.deps, d) }

// depFailed records that looking at a path failed.
func (r *Run) depFailed(kind DepKind, path string, errno syscall.Errno) {
	switch {
	case errno == syscall.ENOENT:
		r.dep(Dep{Kind: DepMissing, Path: path})
	case lasting(errno):
		r.dep(Dep{Kind: kind, Path: path, Errno: errno})
	default:
		r.unstable(path)
	}
}

// unstable records that nothing is certain about a path.
func (r *Run) unstable(path string) { r.dep(Dep{Kind: DepStat, Path: path, Unstable: true}) }

// lasting reports whether an errno says something about the file rather than
// about the moment, such as EMFILE does.
func lasting(errno syscall.Errno) bool {
	switch errno {
	case syscall.EACCES, syscall.EPERM, syscall.ENAMETOOLONG, syscall.ELOOP, syscall.ENOTDIR, syscall.ENXIO:
		return true
	}
	return false
}

// Trace returns everything that the answers of this run depend on, sorted by
// path and without duplicates. It waits for the hashes.
func (r *Run) Trace() []Dep {
	r.hashing.Wait()
	deps := slices.Clone(r.deps)
	read := make(map[string]int64, len(r.nodes))
	for path, n := range r.nodes {
		d := n.dep()
		if !d.Unstable && d.Errno == 0 {
			read[path] = n.id.Size
		}
		deps = append(deps, d)
	}
	// A look at a file that was read too says nothing more.
	deps = slices.DeleteFunc(deps, func(d Dep) bool {
		size, ok := read[d.Path]
		return ok && d.Kind == DepStat && d.Type == 0 && d.Errno == 0 && !d.Unstable && (d.Size == size || d.Size < 0)
	})
	slices.SortFunc(deps, compareDeps)
	return slices.CompactFunc(deps, func(a, b Dep) bool { return compareDeps(a, b) == 0 })
}

// compareDeps orders deps; equal ones say the same.
func compareDeps(a, b Dep) int {
	if c := strings.Compare(a.Path, b.Path); c != 0 {
		return c
	}
	return cmp.Or(
		strings.Compare(string(a.Kind), string(b.Kind)),
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
