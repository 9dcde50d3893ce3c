package vfs

import (
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"waymark/internal/beneath"
)

// AllSecrets grants every entry of the secret list.
const AllSecrets = "*"

// SecretGuard judges paths by the secret list alone. It is for code that opens files by other
// rules than a Root's, and still must not show secrets. It is immutable.
type SecretGuard struct {
	filter  *Filter // nil if everything is granted
	granted []string
}

// NewSecretGuard returns a guard of all entries whose Pattern isn't granted. Its error is a
// *PatternError.
func NewSecretGuard(granted []string) (*SecretGuard, error) {
	if slices.Contains(granted, AllSecrets) {
		return &SecretGuard{}, nil
	}
	guard, err := guardFor(granted)
	if err != nil {
		return nil, err
	}
	return &SecretGuard{filter: &Filter{reads: noPatterns, guard: guard, mcpOnly: true}, granted: granted}, nil
}

// Entry returns the entry of the list that a clean path below a directory matches, in any
// spelling; ok is false if there is none. As in a Root, the names of the directory's own path
// count only for entries of several names. A path that takes too long to match counts as
// secret.
func (g *SecretGuard) Entry(below beneath.Base, path string) (entry Secret, ok bool) {
	if g.filter == nil || path == "." {
		return Secret{}, false
	}
	root := &Root{base: below, exclude: noPatterns, mcp: noPatterns}
	at, done := root.scopeTo(g.filter, path)
	if done && at.guard.ends&groupSecret == 0 {
		return Secret{}, false
	}
	list := SecretPatterns()
	for i, guard := range secretGuards() {
		if slices.Contains(g.granted, list[i].Pattern) {
			continue
		}
		if at, _ := root.scopeTo(&Filter{reads: noPatterns, guard: guard}, path); at.guard.ends != 0 {
			return list[i], true
		}
	}
	return Secret{Pattern: "?", What: "too long to compare"}, true
}

// PlacesIn lists the existing paths in a directory that ungranted entries of the list name,
// as absolute paths. Case is ignored.
func (g *SecretGuard) PlacesIn(dir string) (list []string) {
	if g.filter == nil || dir == "" {
		return nil
	}
	for _, s := range SecretPatterns() {
		if !slices.Contains(g.granted, s.Pattern) {
			list = append(list, expand(dir, strings.TrimSuffix(s.Pattern, "/**"))...)
		}
	}
	return list
}

// expand returns the existing paths below a directory that match a pattern.
func expand(dir, pattern string) (list []string) {
	first, rest, more := strings.Cut(strings.ToLower(pattern), "/")
	entries, _ := os.ReadDir(dir) // a directory that can't be listed yields nothing
	for _, entry := range entries {
		if ok, err := path.Match(first, strings.ToLower(entry.Name())); err != nil || !ok {
			continue
		}
		at := filepath.Join(dir, entry.Name())
		if more {
			list = append(list, expand(at, rest)...)
		} else {
			list = append(list, at)
		}
	}
	return list
}

// ErrSecretLink says that another name of the file is on the secret list.
var ErrSecretLink = errors.New("is a hard link to what is on the secret list")

// SecretLinks finds out which files with several names are on the secret list by a name in a
// root. It searches the root once, as a run does for such a file, for up to 50 ms. It belongs
// to one goroutine.
type SecretLinks struct{ run *Run }

// SecretLinks makes a SecretLinks, which the caller closes before the root.
func (r *Root) SecretLinks(g *SecretGuard) *SecretLinks {
	if g.filter == nil {
		return &SecretLinks{}
	}
	return &SecretLinks{run: r.Begin(g.filter, Limits{})}
}

// Close frees what it holds.
func (s *SecretLinks) Close() {
	if s.run != nil {
		s.run.Close()
	}
}

// Check judges a file by its description.
//
// # Errors
//
// ErrSecretLink, or ErrManyNames if there is too much to search.
func (s *SecretLinks) Check(st *unix.Stat_t) error {
	if s.run == nil {
		return nil
	}
	switch f := s.run.hardLinked(".", st); {
	case f.errno == 0:
		return nil
	case f.reason == ReasonSecret:
		return ErrSecretLink
	}
	return ErrManyNames
}
