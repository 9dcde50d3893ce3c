// Package places is the one list of the files and directories that an agent trusts
// or keeps secret: whatever holds processes, files, git or resolvers back from them
// asks it, and nothing else.
//
// # Guarantees
//
//   - A [Place] comes from a [Registry] only. Who reads a configuration, a token or a
//     module, or keeps state, takes a Place: a path that nobody has registered can't be
//     used.
//   - A place of kind [State], [Sockets], [Config], [Plugins] or [Token] is hidden from
//     every profile of package launch, the files API, git, and resolvers.
//   - What can't be hidden isn't trusted. Landlock only allows: to hide a name, nothing
//     may be made or renamed in the directories on the way to it, and chats have to work
//     in theirs. [Registry.Add] says so ([ErrExposed]), and the caller refuses the place
//     or has its content approved.
//   - A place that has been registered stays so until the process ends, also when the
//     configuration names it no more.
//   - What one agent of a user trusts is kept from the chats of the others
//     ([Registry.Share]).
//
// # Concurrency
//
// A Registry may be used by any number of goroutines.
//
// # Limits
//
// What a user starts by hand isn't held by a profile, and may write all of it.
package places

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Kind is what lies at a place.
type Kind string

// The kinds. A new one is decided about by [Registry.Add], and by the table of
// test/places, which has each kind tried in every way.
const (
	// State is a directory with tokens, keys, approvals, journals, stores of sign-ins and
	// databases, and native code until it is sealed.
	State Kind = "state"
	// Cache is a directory whose content is sealed by a key in State. Nobody is kept from
	// it, and nothing in it is trusted.
	Cache Kind = "cache"
	// Sockets is the directory of the agent's sockets.
	Sockets Kind = "sockets"
	// Config is a configuration file, or a directory in which one is looked for.
	Config Kind = "configuration"
	// Plugins is a directory whose modules are loaded.
	Plugins Kind = "plugins"
	// Token is a file with a token, or with a key.
	Token Kind = "token"
)

// Hidden reports whether places of this kind are kept from those who act for chats.
func (k Kind) Hidden() bool { return k != Cache }

// Place is one of the agent's own places. The zero value is none.
type Place struct {
	kind Kind
	path string
}

// Kind is what lies there.
func (p Place) Kind() Kind { return p.kind }

// Path is absolute and clean. It may lead over links, and to what isn't there.
func (p Place) Path() string { return p.path }

// In is what has that name in a place that is a directory.
func (p Place) In(names ...string) Place {
	return Place{p.kind, filepath.Join(append([]string{p.path}, names...)...)}
}

// ErrExposed is matched by the error of Registry.Add for a place that can't be hidden.
var ErrExposed = errors.New("it can't be kept from what runs for chats")

// Registry is the list. New makes one.
type Registry struct {
	home string // link-free; "" when there is none

	mu    sync.Mutex // guards what follows
	list  []Place
	roots []string // link-free
	// file and pattern are those of Share; empty before.
	file, pattern string
}

// New returns an empty list. Directories on the way to places below home are never those
// in which everybody works, even if home is below one.
func New(home string) *Registry {
	r := &Registry{}
	if filepath.IsAbs(home) {
		r.home = Real(filepath.Clean(home))
	}
	return r
}

// Work says in which directory chats work, by its path without links; "" is none. Those
// that were named before go on being ones in which nothing is trusted: who could write
// there may have done so.
//
// # Errors
//
// ErrExposed: a directory of modules, a token or a configuration that is in use lies
// there. Nothing is changed then.
func (r *Registry) Work(root string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if root == "" || slices.Contains(r.roots, root) {
		return nil
	}
	before := r.roots
	r.roots = append(slices.Clip(before), root)
	for _, p := range r.list {
		if p.kind != Plugins && p.kind != Token && p.kind != Config {
			continue
		}
		if err := r.exposed(p); err != nil {
			r.roots = before
			return err
		}
	}
	return r.write()
}

// Add registers a place, which needn't exist. A relative path is one of the working
// directory.
//
// # Errors
//
// ErrExposed: it lies where chats work, and not in another place that is hidden as a
// whole. The place is returned, for a caller who has another way to trust what is there,
// and isn't in the list. Sockets, which can as well be elsewhere, are exposed also below a
// directory in which every user may make files, since nothing can be made there any more
// by who must not rename what is in it. Nothing else is an error but a working directory
// that can't be found.
func (r *Registry) Add(kind Kind, path string) (Place, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return Place{}, err
	}
	p := Place{kind, abs}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.exposed(p); err != nil {
		return p, err
	}
	if !slices.Contains(r.list, p) {
		r.list = append(r.list, p)
		_ = r.write() // the others go by what was written last
	}
	return p, nil
}

// exposed says why a place can't be hidden.
func (r *Registry) exposed(p Place) error {
	if !p.kind.Hidden() {
		return nil
	}
	at := Real(p.path)
	kept := slices.ContainsFunc(r.list, func(other Place) bool {
		return other.kind.Hidden() && other != p && within(at, Real(other.path))
	})
	roots := r.roots
	for _, w := range r.others() { // which may have ended, and what they have started goes on
		roots = append(slices.Clip(roots), w.Roots...)
	}
	for _, root := range roots {
		switch {
		case within(r.home, root): // all directories above the home have something to hide already
		case linked(p.path, root):
			return fmt.Errorf("%s leads over a link in %s, where chats work or have worked: %w", p.path, root, ErrExposed)
		case within(at, root) && !kept:
			return fmt.Errorf("%s lies in %s, where chats work or have worked: %w", p.path, root, ErrExposed)
		}
	}
	if kept {
		return nil
	}
	if dir := shared(at); p.kind == Sockets && dir != "" && (r.home == "" || !within(at, r.home)) {
		return fmt.Errorf("%s lies in %s, where every user may make files: %w", p.path, dir, ErrExposed)
	}
	return nil
}

// linked reports whether a link on the way to a path lies in a workspace: who works
// there can have it lead elsewhere.
func linked(path, root string) bool {
	for links := 0; links < maxLinks; links++ {
		link := ""
		for at := path; at != "/"; at = filepath.Dir(at) {
			if info, err := os.Lstat(at); err == nil && info.Mode()&os.ModeSymlink != 0 {
				link = at // the first of them, whose directory is no link
			}
		}
		if link == "" {
			return false
		}
		if within(link, root) {
			return true
		}
		target, err := os.Readlink(link)
		if err != nil {
			return false
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(link), target)
		}
		path = filepath.Join(target, strings.TrimPrefix(path, link))
	}
	return true
}

// maxLinks is how many links the kernel follows in one path.
const maxLinks = 40

// All lists the places in the order in which they were registered, and then those of the
// user's other agents.
func (r *Registry) All() []Place {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append(slices.Clone(r.list), r.foreign()...)
}

// Paths lists the paths of all.
func (r *Registry) Paths() (paths []string) {
	for _, p := range r.All() {
		paths = append(paths, p.path)
	}
	return paths
}

// Hidden lists the paths of those that are hidden.
func (r *Registry) Hidden() (paths []string) {
	for _, p := range r.All() {
		if p.kind.Hidden() {
			paths = append(paths, p.path)
		}
	}
	return paths
}

// Real is where a path leads as far as there is something; the rest of it is kept.
func Real(path string) string {
	for at, rest := path, ""; ; at, rest = filepath.Dir(at), filepath.Join(filepath.Base(at), rest) {
		if target, err := filepath.EvalSymlinks(at); err == nil {
			return filepath.Join(target, rest)
		}
		if at == filepath.Dir(at) {
			return path
		}
	}
}

// shared returns the nearest directory above a path in which everybody may make files,
// like /tmp; "" when there is none.
func shared(path string) string {
	for above := filepath.Dir(path); ; above = filepath.Dir(above) {
		if info, err := os.Stat(above); err == nil && info.Mode()&0o002 != 0 {
			return above
		}
		if above == filepath.Dir(above) {
			return ""
		}
	}
}

// within reports whether a path is a directory or below it. Both are clean.
func within(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}
