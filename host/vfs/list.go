package vfs

import (
	"crypto/sha256"
	"encoding/binary"
	"io/fs"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"waymark/internal/beneath"
)

// listing is a directory as a view sees it.
type listing struct {
	entries []Entry
	unshown int // number of names that aren't UTF-8
	id      Identity
	young   bool // also set if it changed while it was listed
	failed  failure
}

// list lists an opened directory and records it.
func (r *Run) list(a *answer) *listing {
	list := &listing{}
	now := r.root.now()
	var at string
	var before, after unix.Stat_t
	at, list.failed.errno = r.walker.List(a.path, &before, &after, func(name []byte, typ fs.FileMode) bool {
		if !r.chargeEntries(1) {
			return false
		}
		r.admit(list, a, name, typ)
		return r.over == nil
	})
	list.id = identityOf(&before)
	list.young = list.id != identityOf(&after) || list.id.young(now)
	if r.over != nil {
		return list
	}
	d := Dep{Kind: DepListed, Path: a.path, Errno: list.failed.errno}
	if a.asked != a.path {
		d.As = a.asked
	}
	switch errno := list.failed.errno; {
	case errno == 0:
		slices.SortFunc(list.entries, func(x, y Entry) int { return strings.Compare(x.Name, y.Name) })
		d.Hash = list.hash()
		d.Unshown, d.ID, d.Young = list.unshown, list.id, list.young
		r.addDir(a.path)
	case beneath.MaybeLink(errno), !lasting(errno):
		// It was a directory when it was opened.
		d.Unstable = true
		list.failed.at = at
	}
	r.record(d)
	return list
}

// admit adds an entry if it is visible.
func (r *Run) admit(list *listing, a *answer, name []byte, typ fs.FileMode) {
	if !utf8.Valid(name) {
		list.unshown++
		return
	}
	n := string(name)
	asked := beneath.Join(a.asked, n)
	r.leaf = r.filter.step(r.root, &r.matcher, r.dirScope(a.asked), r.leaf, n)
	s := r.root.visible(r.filter, asked, r.leaf)
	if r.chargeMatching(); r.over != nil {
		return
	}
	if !s.file && (!s.dir || typ != fs.ModeDir && typ != fs.ModeSymlink) {
		return
	}
	path := asked
	if a.path != a.asked {
		path = beneath.Join(a.path, n)
		r.leaf = r.filter.stepGuard(r.root, &r.matcher, r.dirScope(a.path), r.leaf, n)
		if r.chargeMatching(); r.protected(r.leaf) != ReasonNone {
			return
		}
	}
	list.entries = append(list.entries, Entry{Name: n, Type: typ, Ino: inoOf(path)})
}

// hash covers everything that a guest can see of a listing, and how many names weren't shown,
// because that number is reported.
func (l *listing) hash() []byte {
	h := sha256.New()
	var buf []byte
	buf = binary.AppendUvarint(buf, uint64(l.unshown)) //nolint:gosec // a count
	for _, e := range l.entries {
		buf = binary.AppendUvarint(buf, uint64(len(e.Name)))
		buf = append(buf, e.Name...)
		buf = binary.BigEndian.AppendUint32(buf, uint32(e.Type))
		if len(buf) > 4096 {
			h.Write(buf)
			buf = buf[:0]
		}
	}
	h.Write(buf)
	return h.Sum(nil)
}
