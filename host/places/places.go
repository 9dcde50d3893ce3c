// Package places is the single list of the files and directories that an agent trusts or
// keeps secret. All code that hides them from processes, files, git or resolvers uses it.
//
// # Guarantees
//
//   - A [Place] comes only from a [Registry]. Code that reads a configuration, a token or a
//     module, or keeps state, takes a Place, so it can't use an unregistered path.
//   - A place of kind [State], [Sockets], [Config], [Plugins] or [Token] is hidden from every
//     profile of package launch, the files API, git, and resolvers.
//   - What can't be hidden isn't trusted. Landlock can only allow: to hide a name, nothing
//     may be created or renamed in the directories on the way to it, but chats have to work
//     in theirs. [Registry.Add] reports that ([ErrExposed]), and the caller refuses the place
//     or requires approval of its content.
//   - A registered place stays so until the process ends, even if the configuration no longer
//     names it.
//   - What one agent of a user trusts is hidden from the chats of the others
//     ([Registry.Share]).
//
// # Concurrency
//
// A Registry may be used by any number of goroutines.
//
// # Limits
//
// Programs that a user starts by hand have no profile, and may write to all of it.
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

// Kind is the kind of a place.
type Kind string

// The kinds. [Registry.Add] has to handle each one, and the table of test/chats tries each
// in every way.
const (
	// State is a directory with tokens, keys, approvals, journals, stores of sign-ins and
	// databases, and native code until it is sealed.
	State Kind = "state"
	// Cache is a directory whose content is sealed by a key in State. It isn't hidden, and
	// nothing in it is trusted.
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

// Hidden reports whether places of this kind are hidden from what runs for chats.
func (k Kind) Hidden() bool { return k != Cache }

// Place is one of the agent's own places. The zero value is none.
type Place struct {
	kind Kind
	path string
}

// Kind returns the kind of the place.
func (p Place) Kind() Kind { return p.kind }

// Path is absolute and clean. It may contain links, and need not exist.
func (p Place) Path() string { return p.path }

// In returns a place by its names in a place that is a directory.
func (p Place) In(names ...string) Place {
	return Place{p.kind, filepath.Join(append([]string{p.path}, names...)...)}
}

// ErrExposed matches the error of Registry.Add for a place that can't be hidden.
var ErrExposed = errors.New("it can't be kept from what runs for chats")

// Registry is the list. Make one with New.
type Registry struct {
	home string // link-free; "" if there is none

	mu    sync.Mutex // guards what follows
	list  []Place
	roots []string // link-free
	// file and pattern are those of Share; empty before.
	file, pattern string
}

// New returns an empty list. Directories on the way to places below home never count as
// directories in which everybody works, even if home is below one.
func New(home string) *Registry {
	r := &Registry{}
	if filepath.IsAbs(home) {
		r.home = Real(filepath.Clean(home))
	}
	return r
}

// Work sets the directory in which chats work, by its path without links; "" means none.
// Earlier ones stay untrusted, because chats may have written there.
//
// # Errors
//
// ErrExposed if a directory of modules, a token or a configuration that is in use lies there.
// Nothing is then changed.
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

// Add registers a place, which needn't exist. A relative path is relative to the working
// directory.
//
// # Errors
//
// ErrExposed if it lies where chats work, and not in another place that is hidden as a whole.
// The place is then returned for callers that can trust its content in another way, but isn't
// in the list. Sockets can be elsewhere, so they are also exposed below a directory in which
// every user may create files: a process that must not rename their names can't create
// anything there. The only other error is a working directory that can't be found.
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
		_ = r.write() // others use what was written last
	}
	return p, nil
}

// exposed returns why a place can't be hidden.
func (r *Registry) exposed(p Place) error {
	if !p.kind.Hidden() {
		return nil
	}
	at := Real(p.path)
	kept := slices.ContainsFunc(r.list, func(other Place) bool {
		return other.kind.Hidden() && other != p && within(at, Real(other.path))
	})
	roots := r.roots
	for _, w := range r.others() { // they may have ended, but what they started continues
		roots = append(slices.Clip(roots), w.Roots...)
	}
	for _, root := range roots {
		switch {
		case within(r.home, root): // all directories above the home are already restricted
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

// linked reports whether a link on the way to a path lies in a workspace, so that somebody
// who works there can redirect it.
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

// All lists the places in the order of registration, and then those of the user's other
// agents.
func (r *Registry) All() []Place {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append(slices.Clone(r.list), r.foreign()...)
}

// Paths lists the paths of all places.
func (r *Registry) Paths() (paths []string) {
	for _, p := range r.All() {
		paths = append(paths, p.path)
	}
	return paths
}

// Hidden lists the paths of the hidden places.
func (r *Registry) Hidden() (paths []string) {
	for _, p := range r.All() {
		if p.kind.Hidden() {
			paths = append(paths, p.path)
		}
	}
	return paths
}

// Real resolves a path as far as it exists, and keeps the rest.
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

// shared returns the nearest directory above a path in which everybody may create files, such
// as /tmp; "" if there is none.
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
