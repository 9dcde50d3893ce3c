package sources

import (
	"fmt"
	"path/filepath"
	"strings"
)

// Allowed tells whether a source may be looked at now: it is trusted, or leads
// to where a request may lead. Ask before each opening, since links change.
//
// # Errors
//
// ErrNotAllowed, and what Canonical reports.
func (l *List) Allowed(path string) error {
	if e := l.state.Load().find(path); e != nil && e.trusted {
		return nil
	}
	target, err := Canonical(path, l.opts.Home)
	if err != nil {
		return err
	}
	return l.within(path, target)
}

// AllowedAt is Allowed for a source that has been opened, where target is the
// link-free path of what was opened. Between a question and an opening a link
// can be swapped; after the opening it can't.
func (l *List) AllowedAt(path, target string) error {
	if e := l.state.Load().find(path); e != nil && e.trusted {
		return nil
	}
	return l.within(path, target)
}

// within compares a link-free path with the places that requests may add from.
// The error doesn't tell where a link leads: who asks may not know.
func (l *List) within(path, target string) error {
	for _, place := range l.places() {
		if target == place || strings.HasPrefix(target, place+"/") {
			return nil
		}
	}
	return fmt.Errorf("%w: %s, with its links resolved, is neither in the home nor in the working directory: name it with --source when the agent starts",
		ErrNotAllowed, path)
}

// places resolves the allowed places anew, since they may be links, too.
func (l *List) places() []string {
	var list []string
	add := func(dir string) {
		if !filepath.IsAbs(dir) {
			return
		}
		place, err := filepath.EvalSymlinks(dir)
		if err == nil && place != "/" {
			list = append(list, place)
		}
	}
	if home := l.opts.Home; home != "" {
		for _, name := range []string{"", ".waymark", ".coder", ".claude"} {
			add(filepath.Join(home, name))
		}
	}
	add(l.state.Load().workDir)
	return list
}
