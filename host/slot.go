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
	// maxChildren bounds how many projects in a root are searched. Each costs as much as a
	// root.
	maxChildren = 64
	// maxMaybeChildren bounds how many directories are checked for being projects. Each needs
	// a watch.
	maxMaybeChildren = 256
)

// rootSlot is one RootSpec with its open root, and the resolvers' last outcomes in it. Slots
// belong to the holder of Host.turn.
type rootSlot struct {
	spec   RootSpec
	owner  string    // its name among the watches
	way    []string  // the paths to watch for the root itself
	open   *vfs.Root // nil while it is missing or refused
	opened bool      // whether it was ever open
	err    error     // why it isn't open
	logged string    // the text of err that was last logged

	// outcomes are those of the last refresh that looked here; nil if unknown.
	outcomes []resolve.Outcome
	known    bool
	watched  watchedRoot // what the current watch set was made from

	children children
	nested   nested
	adapted  *adapted // nil if the slot uses the resolvers of all roots
	blank    blank
	installs installs
}

// wholeBelow is the length of a root's traces from which on an event leads to two checks, of what
// lies near it and soon after of the rest. Checking a shorter one takes less than the second
// time takes to begin, a millisecond at most.
const wholeBelow = 400

// traced returns the length of all traces of the root.
func (s *rootSlot) traced() (n int) {
	for i := range s.outcomes {
		n += len(s.outcomes[i].Trace)
	}
	return n
}

// refused reports whether the root exists but isn't looked at. A file in the place of a
// directory on the path counts as missing, because it may still make room.
func (s *rootSlot) refused() bool {
	return s.err != nil && !errors.Is(s.err, fs.ErrNotExist) && !errors.Is(s.err, syscall.ENOTDIR)
}

// refresh opens the root again and keeps the new one only if it differs. A path can lead to
// another place or another type of file without any change in the open root.
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

// close closes the root and forgets what was found in it.
func (s *rootSlot) close() {
	if s.open != nil {
		_ = s.open.Close()
	}
	s.open, s.outcomes, s.known = nil, nil, false
	s.children, s.nested, s.adapted, s.blank, s.installs = children{}, nested{}, nil, blank{}, installs{}
}

// usedRoot is a slot that resolvers look at.
type usedRoot struct {
	slot *rootSlot
	root resolve.Root
}

// ErrRoot says that a required root can't be used.
var ErrRoot = errors.New("root")

// required returns why a required root can't be used.
func (s *rootSlot) required() error {
	switch {
	case s.open != nil || s.spec.Optional:
		return nil
	case errors.Is(s.err, fs.ErrNotExist):
		return fmt.Errorf("%w %s does not exist: name an existing directory", ErrRoot, s.spec.Path)
	}
	return fmt.Errorf("%w %s can't be used: %w", ErrRoot, s.spec.Path, s.err)
}

// lookedAt lists the roots that a refresh looked at, as paths, and those that it refused.
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

// below lists the paths in the root, relative to it. It is nil if none is in it, or if one
// may concern the root itself or the path to it.
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
	known  bool     // whether they were looked for
	names  []string // the searched ones, in byte order
	looked []string // directories that are watched because they may become projects
	// more counts further projects, unasked the directories that weren't checked.
	more, unasked int
	logged        string // the last logged problem
}

// Children are the projects in a root. Their finds are separate from the root's own.
type Children struct {
	Root  string   // its path
	Names []string // the searched directories at its top, in byte order
	// More counts further projects, Unasked the directories that weren't checked for being
	// projects.
	More, Unasked int
}

// problem describes what isn't searched; empty if everything is.
func (c *children) problem(root string) string {
	var unasked string
	if c.unasked > 0 {
		unasked = fmt.Sprintf("%s in %s not asked whether they are projects: only the first %d are",
			text.Count(c.unasked, "directory is", "directories are"), root, maxMaybeChildren)
	}
	return problems(c.lost(root), unasked)
}

// lost describes the projects that are known but not searched.
func (c *children) lost(root string) string {
	if c.more == 0 {
		return ""
	}
	return fmt.Sprintf("%s not looked into in %s: only the first %d are", text.Count(c.more, "project is", "projects are"), root, maxChildren)
}

// concerned reports whether events near some paths can change the projects in a root. Nil
// stands for all paths. A file at the top can't, and is what people edit most.
func (c *children) concerned(root string, near []string) bool {
	return near == nil || slices.ContainsFunc(near, func(p string) bool {
		_, below, deep := strings.Cut(p, "/")
		if deep {
			return below == ".git"
		}
		return slices.Contains(c.looked, p) || isDir(filepath.Join(root, p))
	})
}

// adapted holds the resolvers as one root needs them.
type adapted struct {
	plugins   *plugin.List
	children  []string
	nested    []string
	installed []installed.Plugin
	resolvers []resolve.Resolver
	// For a home directory: what the resolvers together see in it, and the same resolvers
	// switched off, for use while none of that exists.
	sees *vfs.Filter
	off  []resolve.Resolver
}

// blank is the state of a home directory that has nothing for any resolver.
type blank struct {
	filter *vfs.Filter // nil if the directory isn't blank
	trace  []vfs.Dep
}

// resolversFor returns the resolvers for a home directory. Running three of them in each home
// without agent files would make every start as expensive as a workspace, so they are
// switched off while nothing that they see exists.
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
	known     bool // whether they were looked for
	workspace string
	list      []installed.Plugin
	// trace is what the list depends on. A project has no list; its trace is what the users'
	// lists depend on.
	trace []vfs.Dep
}

// concerned reports whether events near some paths can change the list. Nil stands for all
// paths.
func (i *installs) concerned(near []string) bool {
	return near == nil || slices.ContainsFunc(near, func(p string) bool {
		return slices.ContainsFunc(i.trace, func(d vfs.Dep) bool {
			return d.Path == p || p == "." || strings.HasPrefix(d.Path, p+"/") || d.Kind == vfs.DepListed && strings.HasPrefix(p, d.Path+"/")
		})
	})
}

// watchedRoot is what the watch set of a slot depends on: while it is equal, so is the set.
type watchedRoot struct {
	by        *watch.Watcher
	open      *vfs.Root
	way       []string
	looked    []string         // directories that may be projects
	indexes   []string         // of git, see nested
	blank     []vfs.Dep        // see rootSlot
	installed []vfs.Dep        // dependencies of what is installed
	shapes    []*resolve.Shape // of the outcomes
}

func (w *watchedRoot) same(other *watchedRoot) bool {
	return w.by == other.by && w.open == other.open && slices.Equal(w.way, other.way) && slices.Equal(w.looked, other.looked) && slices.Equal(w.indexes, other.indexes) && slices.EqualFunc(w.blank, other.blank, samePlace) &&
		slices.EqualFunc(w.installed, other.installed, samePlace) &&
		slices.Equal(w.shapes, other.shapes) &&
		!slices.Contains(w.shapes, nil)
}

// samePlace reports whether two trace entries need the same watches.
func samePlace(a, b vfs.Dep) bool { return a.Kind == b.Kind && a.Path == b.Path && a.As == b.As }

// isWorking reports whether the root is the working directory.
func (u *usedRoot) isWorking() bool {
	return !u.slot.spec.Source && !u.slot.spec.Optional && u.root.Role == abi.RoleNone && u.root.Scope != snapshot.ScopeUser && u.root.FS.File() == ""
}
