package host

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"waymark/abi"
	"waymark/host/plugin"
	"waymark/host/resolve"
	"waymark/host/vfs"
	"waymark/host/watch"
	"waymark/internal/text"
	"waymark/plugins/installed"
	"waymark/snapshot"
)

const (
	// maxChildren is how many projects in a root are looked into: each is as much to look
	// at as a root is.
	maxChildren = 64
	// maxMaybeChildren is how many directories are asked whether they are a project, which
	// takes a watch for each.
	maxMaybeChildren = 256
)

// rootSlot is one RootSpec with the root that is open for it now, and what the
// resolvers found there last. Slots belong to whoever has the turn.
type rootSlot struct {
	spec   RootSpec
	owner  string    // its name among the watches
	way    []string  // the paths to watch for the root itself
	open   *vfs.Root // nil while it doesn't exist, or is refused
	opened bool      // it has been open
	err    error     // why it isn't open
	logged string    // of err, last

	// outcomes are those of the last refresh that looked here, while known.
	outcomes []resolve.Outcome
	known    bool
	watched  watchedRoot // what its watch set was made of, last

	children children
	adapted  *adapted // nil where the resolvers are those of all roots
	blank    blank
	installs installs
}

// refused reports whether the root isn't looked at although it is there. A file
// in the place of a directory on the way may still make room.
func (s *rootSlot) refused() bool {
	return s.err != nil && !errors.Is(s.err, fs.ErrNotExist) && !errors.Is(s.err, syscall.ENOTDIR)
}

// refresh opens the root again and keeps the new one only where it differs:
// a path may lead elsewhere, and to another type of file, without a trace in
// what is open.
func (s *rootSlot) refresh(opts vfs.RootOptions) {
	next, err := vfs.OpenRoot(s.spec.Path, opts)
	s.way = next.Way()
	if err == nil && s.spec.Check != nil {
		if err = s.spec.Check(filepath.Join(next.Path(), next.File())); err != nil {
			_ = next.Close()
		}
	}
	if err == nil && s.open != nil && next.Signature() == s.open.Signature() {
		_ = next.Close()
		return
	}
	s.close()
	s.err = err
	if err == nil {
		s.open, s.opened = next, true
	}
}

// close lets go of the root and of what was found in it.
func (s *rootSlot) close() {
	if s.open != nil {
		_ = s.open.Close()
	}
	s.open, s.outcomes, s.known = nil, nil, false
	s.children, s.adapted, s.blank, s.installs = children{}, nil, blank{}, installs{}
}

// usedRoot is a slot that resolvers look at.
type usedRoot struct {
	slot *rootSlot
	root resolve.Root
}

// ErrRoot says that a root that must be there can't be used.
var ErrRoot = errors.New("root")

// required is why a root that must be there isn't.
func (s *rootSlot) required() error {
	switch {
	case s.open != nil || s.spec.Optional:
		return nil
	case errors.Is(s.err, fs.ErrNotExist):
		return fmt.Errorf("%w %s does not exist: name an existing directory", ErrRoot, s.spec.Path)
	}
	return fmt.Errorf("%w %s can't be used: %w", ErrRoot, s.spec.Path, s.err)
}

// lookedAt is which roots a refresh looked at, as paths, and which it refused.
type lookedAt struct {
	paths    []string
	refused  []RefusedRoot
	children []Children
}

// touches reports whether one of the paths is the root, or in it.
func (s *rootSlot) touches(paths []string) bool {
	if len(paths) == 0 {
		return false
	}
	forms := []string{absolute(s.spec.Path)}
	if s.open != nil {
		forms = append(forms, filepath.Join(s.open.Path(), s.open.File()))
	}
	for _, path := range paths {
		for _, root := range forms {
			if leadsTo(root, path) {
				return true
			}
		}
	}
	return false
}

// below lists the paths that are in the root, relative to it. It is nil when one
// may say something of the root itself, or of the way to it, or none is in it.
func (s *rootSlot) below(paths []string) []string {
	root := s.open.Path()
	var list []string
	for _, path := range paths {
		if rel, ok := within(root, path); ok && rel != "" {
			list = append(list, rel)
			continue
		}
		if leadsTo(path, root) || slices.ContainsFunc(s.way, func(way string) bool { return leadsTo(path, way) }) {
			return nil
		}
	}
	return list
}

// children are the projects in a root.
type children struct {
	known  bool     // they were looked for
	names  []string // those that are looked into, in byte order
	looked []string // the directories that are watched, since they may become one
	// more is how many more there are, unasked how many directories weren't asked.
	more, unasked int
	logged        string // of problem, last
}

// Children are the projects in a root, which aren't the root's own finds.
type Children struct {
	Root  string   // its path
	Names []string // the directories at its top that are looked into, in byte order
	// More is how many more projects there are, Unasked how many directories weren't asked
	// whether they are one.
	More, Unasked int
}

// problem says for a person what isn't looked at; empty when all is.
func (c *children) problem(root string) string {
	var unasked string
	if c.unasked > 0 {
		unasked = fmt.Sprintf("%s in %s not asked whether they are projects: only the first %d are",
			text.Count(c.unasked, "directory is", "directories are"), root, maxMaybeChildren)
	}
	return problems(c.lost(root), unasked)
}

// lost says which projects are known, and not looked into.
func (c *children) lost(root string) string {
	if c.more == 0 {
		return ""
	}
	return fmt.Sprintf("%s not looked into in %s: only the first %d are", text.Count(c.more, "project is", "projects are"), root, maxChildren)
}

// concerned reports whether what has happened near some paths of a root can make other
// projects in it. Nil stands for all paths. A file at the top is edited more often than
// anything else, and is none.
func (c *children) concerned(root string, near []string) bool {
	return near == nil || slices.ContainsFunc(near, func(p string) bool {
		_, below, deep := strings.Cut(p, "/")
		if deep {
			return below == ".git"
		}
		return slices.Contains(c.looked, p) || isDir(filepath.Join(root, p))
	})
}

// adapted are the resolvers of all roots as one root needs them.
type adapted struct {
	plugins   *plugin.List
	children  []string
	installed []installed.Plugin
	resolvers []resolve.Resolver
	// Of a home directory: what they see in it, all together, and the same resolvers
	// switched off, for as long as there is nothing of that.
	sees *vfs.Filter
	off  []resolve.Resolver
}

// blank is what is known of a home directory in which there is nothing for any resolver.
type blank struct {
	filter *vfs.Filter // nil while that isn't so
	trace  []vfs.Dep
}

// resolversFor are those that a home directory is looked at with. To run three for each
// home that has nothing of any agent would cost every start as much as a workspace does;
// so as long as nothing was ever there, that is all that is asked.
func (a *adapted) resolversFor(slot *rootSlot) []resolve.Resolver {
	if a.sees == nil || slot.known && slot.blank.filter == nil {
		return a.resolvers
	}
	there, trace := slot.open.Anything(a.sees)
	if slot.blank = (blank{}); there {
		return a.resolvers
	}
	slot.blank = blank{a.sees, trace}
	return a.off
}

// installs are the plugins that are installed for the user of a home directory.
type installs struct {
	known     bool // they were looked for
	workspace string
	list      []installed.Plugin
	// trace is what the list depends on; of a project, which has no list, what the lists of
	// users do.
	trace []vfs.Dep
}

// concerned reports whether what has happened near some paths can change the list. Nil
// stands for all paths.
func (i *installs) concerned(near []string) bool {
	return near == nil || slices.ContainsFunc(near, func(p string) bool {
		return slices.ContainsFunc(i.trace, func(d vfs.Dep) bool {
			return d.Path == p || p == "." || strings.HasPrefix(d.Path, p+"/") || d.Kind == vfs.DepListed && strings.HasPrefix(p, d.Path+"/")
		})
	})
}

// watchedRoot is what the watch set of a slot depends on: as long as it is the same,
// so is the set.
type watchedRoot struct {
	by        *watch.Watcher
	open      *vfs.Root
	way       []string
	looked    []string         // directories that may be projects
	blank     []vfs.Dep        // see rootSlot
	installed []vfs.Dep        // what is installed depends on them
	shapes    []*resolve.Shape // of the outcomes
}

func (w *watchedRoot) same(other *watchedRoot) bool {
	return w.by == other.by && w.open == other.open && slices.Equal(w.way, other.way) && slices.Equal(w.looked, other.looked) && slices.EqualFunc(w.blank, other.blank, samePlace) &&
		slices.EqualFunc(w.installed, other.installed, samePlace) &&
		slices.Equal(w.shapes, other.shapes) &&
		!slices.Contains(w.shapes, nil)
}

// samePlace reports whether two entries of traces are watched for alike.
func samePlace(a, b vfs.Dep) bool { return a.Kind == b.Kind && a.Path == b.Path && a.As == b.As }

// isWorking reports whether a root is the working directory.
func (u *usedRoot) isWorking() bool {
	return !u.slot.spec.Source && !u.slot.spec.Optional && u.root.Role == abi.RoleNone && u.root.Scope != snapshot.ScopeUser && u.root.FS.File() == ""
}
