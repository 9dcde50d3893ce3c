package sources

import (
	"errors"
	"fmt"
	"path/filepath"

	"waymark/host/vfs"
)

// Allowed reports whether a source may be looked at now: it is trusted, or leads to where a
// request may lead, and no link of the working directory redirects it. Call it before each
// opening, because links change.
//
// # Errors
//
// ErrNotAllowed, and what Canonical reports.
func (l *List) Allowed(path string) error {
	if e := l.state.Load().find(path); e != nil {
		return l.mayOpen(e)
	}
	e, err := l.entryOf(path)
	if err != nil {
		return err
	}
	return l.allowed(&e)
}

// mayOpen is Allowed for an entry of the list.
func (l *List) mayOpen(e *entry) error {
	if e.trusted {
		return l.astray(e)
	}
	return l.allowed(e)
}

// allowed judges what a request names.
func (l *List) allowed(e *entry) error {
	target, err := Canonical(e.open, "")
	if err == nil {
		err = l.inPlaces(e.named, target)
	}
	if err == nil {
		err = l.astray(e)
	}
	return err
}

// astray checks the targets of links in the working directory.
func (l *List) astray(e *entry) error {
	root, err := vfs.OpenRoot(e.open, vfs.RootOptions{Within: bounds(l.state.Load().workDir, e.within)})
	if err == nil {
		err = root.Close()
	}
	if errors.As(err, new(*vfs.LinkError)) {
		return fmt.Errorf("%w: %w", ErrNotAllowed, err)
	}
	return nil
}

// AllowedAt is Allowed for a source that has been opened; target is the link-free path of
// what was opened. A link can be swapped between a check and the opening, but not after it.
func (l *List) AllowedAt(path, target string) error {
	if e := l.state.Load().find(path); e != nil && e.trusted {
		return nil
	}
	return l.inPlaces(path, target)
}

// inPlaces compares a link-free path with the places that requests may add from. The error
// doesn't reveal where a link leads, because the caller may not be allowed to know.
func (l *List) inPlaces(path, target string) error {
	for _, place := range l.places() {
		if within(place, target) {
			return nil
		}
	}
	return fmt.Errorf("%w: %s, with its links resolved, is neither in the home nor in the working directory: name it with --source when the agent starts",
		ErrNotAllowed, path)
}

// places resolves the allowed places each time, because they may be links, too. Links in a
// working directory don't count: if the home directory is one, and ~/.claude a link out of
// it, ~/.claude allows nothing.
func (l *List) places() []string {
	workDir := l.state.Load().workDir
	within := bounds(workDir, "")
	var list []string
	add := func(dir string) {
		if !filepath.IsAbs(dir) {
			return
		}
		root, err := vfs.OpenRoot(dir, vfs.RootOptions{Within: within})
		if err != nil {
			return
		}
		if place := filepath.Join(root.Path(), root.File()); place != "/" {
			list = append(list, place)
		}
		_ = root.Close()
	}
	if home := l.opts.Home; home != "" {
		for _, name := range []string{"", ".waymark", ".coder", ".claude"} {
			add(filepath.Join(home, name))
		}
	}
	add(workDir)
	return list
}
