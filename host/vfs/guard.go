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

// AllSecrets stands for every entry of the secret list where one is granted.
const AllSecrets = "*"

// SecretGuard judges paths by the secret list alone. It is for what opens files
// by other rules than a Root's, and still must not show secrets. It is immutable.
type SecretGuard struct {
	filter  *Filter // nil when everything is granted
	granted []string
}

// NewSecretGuard returns a guard of all entries that aren't granted by their
// Pattern. Its error is a *PatternError.
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

// Entry returns the entry of the list that a clean path below a directory
// matches, in whatever spelling; ok is false when there is none. As in a Root,
// names of the directory's own path count for entries of several names only. A
// path for which matching takes too long counts as secret.
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

// PlacesIn lists what there is in a directory that entries of the list name which aren't
// granted, by absolute paths; names are compared in any case.
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

// expand returns what there is below a directory that a pattern names.
func expand(dir, pattern string) (list []string) {
	first, rest, more := strings.Cut(strings.ToLower(pattern), "/")
	entries, _ := os.ReadDir(dir) // what can't be listed holds nothing that is known here
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

// ErrSecretLink says that a file is on the secret list by another of its names.
var ErrSecretLink = errors.New("is a hard link to what is on the secret list")

// SecretLink finds out whether a file with several names is on the secret list
// by one of those that lie in this root. st is its description. It searches the
// root, as a run does that meets such a file: up to 50 ms.
//
// # Errors
//
// ErrSecretLink, or ErrManyNames where there is too much to search.
func (r *Root) SecretLink(g *SecretGuard, st *unix.Stat_t) error {
	if g.filter == nil {
		return nil
	}
	run := r.Begin(g.filter, Limits{})
	defer run.Close()
	switch f := run.hardLinked(".", st); {
	case f.errno == 0:
		return nil
	case f.reason == ReasonSecret:
		return ErrSecretLink
	}
	return ErrManyNames
}
