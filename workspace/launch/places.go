package launch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"waymark/host/vfs"
)

// Places are the absolute paths from which profiles are made. They may contain links. Only
// Home and Own are required.
type Places struct {
	// Home is the user's home directory, to which the secret list is relative.
	Home string
	// Own are the agent's own files and directories that package places hides, whether they
	// exist or not.
	Own []string
	// Root is the workspace's directory.
	Root string
	// Tmp is a directory for temporary files. The caller has created it and sets TMPDIR. It
	// may be in one of Own.
	Tmp string
	// Granted are entries of vfs.SecretPatterns that aren't hidden.
	Granted []string
}

// HideSecrets returns the profile "secrets". It allows reading and writing everything that
// the user can, except
//
//   - existing places of the secret list below Home, and, for entries without a directory
//     (*.pem), files directly in Home. What git and similar programs keep isn't hidden from
//     programs, unlike from resolvers;
//   - the agent's own places, whether they exist or not;
//   - /proc for root and /sys, which are read-only, and devices except harmless ones: they could
//     be used to undo the restrictions.
//
// Landlock can only allow. So the profile allows everything that isn't above one of these
// places. In the directories above them, from "/" to Home and below, nothing can be
// created, renamed or removed, and what others create there later is inaccessible. Names
// can be listed everywhere, because Landlock can't allow listing a directory without
// everything below it. Root keeps the capabilities of CapabilityNames.
func HideSecrets(p Places) (*Profile, error) {
	w, err := newWalk(p)
	if err != nil {
		return nil, err
	}
	profile := &Profile{Name: "secrets", List: []string{"/"}, Read: []string{"/sys"}, Capabilities: CapabilityNames()}
	w.openAll(p)
	for _, device := range append(slices.Concat(readable, terminals, shared), globbed(computing)...) {
		w.open(device)
	}
	w.openTmp(p.Tmp)
	profile.Write = w.opened
	// An ordinary user can write only to its own processes there, which tools that create
	// namespaces need. Root could make the kernel execute programs.
	if os.Geteuid() == 0 {
		profile.Read = append(profile.Read, "/proc")
	} else {
		profile.Write = append(profile.Write, "/proc")
	}
	return profile, nil
}

// Plan returns the profile "plan". It allows reading everything that HideSecrets doesn't
// hide, and writing only the plan's file, Tmp, and devices that store nothing. It forbids
// Unix sockets, and changes of modes and owners, even in Tmp.
//
// The plan is written in place. A file that doesn't exist can't be created, and a file that
// has replaced it under the same name is inaccessible. If plan is "", there is no such
// file.
//
// # Errors
//
// The plan is in a hidden place, or isn't a regular file with one name.
func Plan(plan string, p Places) (*Profile, error) {
	w, err := newWalk(p)
	if err != nil {
		return nil, err
	}
	write := append(slices.Clone(readable), "/dev/tty")
	if plan != "" {
		if err := w.checkPlan(plan); err != nil {
			return nil, err
		}
		write = append(write, plan)
	}
	w.openTmp(p.Tmp)
	write = append(write, w.opened...)
	w.opened = nil
	w.openAll(p)
	return &Profile{
		Name: "plan", List: []string{"/"}, Read: append(w.opened, "/proc", "/sys"), Write: write,
		NoUnix: true, KeepModes: true, Capabilities: []string{overrideModes},
	}, nil
}

// Devices that programs need. No others are allowed: a disk contains all its files.
var (
	readable  = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}
	terminals = []string{"/dev/tty", "/dev/ptmx", "/dev/pts"}
	shared    = []string{"/dev/shm", "/dev/mqueue"}
	computing = []string{"/dev/kvm", "/dev/kfd", "/dev/dri", "/dev/nvidia*"}
)

// walk determines what to allow so that the rest stays hidden.
type walk struct {
	hidden map[string]bool // real paths
	closed map[string]bool // those that can't be chosen as a working directory: the agent's, and the kernel's
	way    map[string]bool // real paths of the directories above hidden ones
	mounts []mount
	home   string // real path
	opened []string

	listed map[string][]fs.DirEntry // nil for unreadable directories
}

// list returns the entries of a directory. It caches them, because each entry of the secret
// list asks for them.
func (w *walk) list(dir string) ([]fs.DirEntry, bool) {
	entries, ok := w.listed[dir]
	if !ok {
		var err error
		if entries, err = os.ReadDir(dir); err != nil {
			entries = nil
		} else if entries == nil {
			entries = []fs.DirEntry{}
		}
		w.listed[dir] = entries
	}
	return entries, entries != nil
}

func newWalk(p Places) (*walk, error) {
	for _, path := range append([]string{p.Home, p.Root, p.Tmp}, p.Own...) {
		if path != "" && !filepath.IsAbs(path) {
			return nil, fmt.Errorf("%s: a profile takes absolute paths", path)
		}
	}
	if p.Home == "" || len(p.Own) == 0 {
		return nil, errors.New("a profile needs the home directory and the agent's own: set HOME")
	}
	for _, dir := range p.Own {
		if within(realPath(p.Home), realPath(dir)) {
			return nil, fmt.Errorf("%s: a directory of the agent holds the home directory %s, and can't be hidden", dir, p.Home)
		}
	}
	mounts, err := readMounts()
	if err != nil {
		return nil, err
	}
	w := &walk{hidden: map[string]bool{}, closed: map[string]bool{}, listed: map[string][]fs.DirEntry{}, way: map[string]bool{"/": true}, mounts: mounts, home: realPath(p.Home)}
	for _, path := range p.Own {
		w.hideAgent(path)
	}
	for i := range mounts { // another /proc, for example, in a directory for containers
		if m := &mounts[i]; m.kernel && !slices.ContainsFunc(special, func(dir string) bool { return within(m.point, dir) }) {
			w.closed[m.point] = true
			w.hide(m.point)
		}
	}
	for _, s := range vfs.SecretPatterns() {
		if !slices.Contains(p.Granted, s.Pattern) && !slices.Contains(versioned, s.Pattern) {
			for _, path := range w.expand(w.home, strings.TrimSuffix(s.Pattern, "/**")) {
				w.hide(path)
			}
		}
	}
	return w, nil
}

// versioned are entries of the secret list that programs in a workspace need.
var versioned = []string{".git/**", ".hg/**", ".svn/**", ".jj/**"}

// expand returns the existing paths below a directory that match a pattern, ignoring case.
func (w *walk) expand(dir, pattern string) []string {
	first, rest, more := strings.Cut(strings.ToLower(pattern), "/")
	entries, _ := w.list(dir)
	var list []string
	for _, entry := range entries {
		if ok, err := path.Match(first, strings.ToLower(entry.Name())); err != nil || !ok {
			continue
		}
		at := filepath.Join(dir, entry.Name())
		if more {
			list = append(list, w.expand(at, rest)...)
		} else {
			list = append(list, at)
		}
	}
	return list
}

// hideAgent hides a place of the agent. If it doesn't exist, it also prevents programs from
// creating it, unless only root could.
func (w *walk) hideAgent(place string) {
	path, links := resolve(place)
	for _, link := range links {
		w.hidePath(link) // otherwise the link could be replaced
	}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) && unix.Access(existing(path), unix.W_OK) != nil {
		return
	}
	w.closed[path] = true
	w.hide(path)
}

// hide hides a place under all paths that lead to it, and the targets of links in it that
// are below the home directory.
func (w *walk) hide(path string) {
	target := realPath(path)
	if within(w.home, target) {
		return // a link to the home or above is an accident: hiding everything is useless
	}
	for _, target := range append([]string{target}, w.linked(target, maxDepth)...) {
		w.hidePath(target)
	}
}

// hidePath hides a path without links, under all its mounts.
func (w *walk) hidePath(path string) {
	for _, path := range w.everywhere(path) {
		w.hidden[path] = true
		for above := filepath.Dir(path); !w.way[above]; above = filepath.Dir(above) {
			w.way[above] = true
		}
	}
}

const (
	// maxDepth limits how deep to look for links in hidden directories, maxLinked the
	// entries of each. Links to a repository with a user's home are at the top.
	maxDepth  = 3
	maxLinked = 1024
)

// linked returns the targets of links in a hidden directory that are files below the home
// directory: a home is often kept in a repository, with links to it. Other links, and those
// to programs, belong to installed software.
func (w *walk) linked(dir string, depth int) []string {
	entries, ok := w.list(dir)
	if !ok || depth == 0 {
		return nil
	}
	var list []string
	for _, entry := range entries[:min(len(entries), maxLinked)] {
		at := filepath.Join(dir, entry.Name())
		switch {
		case entry.IsDir():
			list = append(list, w.linked(at, depth-1)...)
		case entry.Type()&fs.ModeSymlink != 0:
			info, err := os.Stat(at)
			if err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 != 0 {
				continue
			}
			if target := realPath(at); within(target, w.home) {
				list = append(list, target)
			}
		}
	}
	return list
}

// open allows a place and everything below it that isn't hidden.
func (w *walk) open(path string) {
	switch {
	case w.hidden[path], slices.Contains(special, path):
	case !w.way[path]:
		w.opened = append(w.opened, path)
	default:
		entries, ok := w.list(path)
		for _, entry := range entries {
			if entry.Type()&fs.ModeSymlink == 0 { // the target of a link has its own path
				w.open(filepath.Join(path, entry.Name()))
			}
		}
		if ok {
			return
		}
		for below := range w.way { // it can be traversed, but not listed
			if below != "/" && filepath.Dir(below) == path {
				w.open(below)
			}
		}
	}
}

// openAll allows everything that isn't hidden, starting at the root directory.
func (w *walk) openAll(p Places) {
	w.open("/")
	w.openChosen(p.Home)
	w.openChosen(p.Root)
}

// special are directories that are allowed only in parts, or read-only.
var special = []string{"/dev", "/proc", "/sys"}

// openChosen allows a working directory even if it is in a place of the secret list,
// because its owner has chosen it. It doesn't allow a directory of the agent or the kernel.
func (w *walk) openChosen(dir string) {
	if dir == "" {
		return
	}
	dir = realPath(dir)
	for above := dir; ; above = filepath.Dir(above) {
		if w.closed[above] || slices.Contains(w.opened, above) || slices.Contains(special, above) {
			return
		}
		if above == "/" {
			break
		}
	}
	delete(w.hidden, dir) // hidden places in it stay hidden
	w.open(dir)
}

// openTmp allows the directory for temporary files. It may be in a hidden place, but must
// not contain one.
func (w *walk) openTmp(dir string) {
	if dir == "" {
		return
	}
	if dir = realPath(dir); !w.hidden[dir] && !w.way[dir] && !slices.Contains(special, dir) {
		w.opened = append(w.opened, dir)
	}
}

// checkPlan refuses an unsuitable plan's file.
func (w *walk) checkPlan(plan string) error {
	if !filepath.IsAbs(plan) || filepath.Clean(plan) != plan || realPath(plan) != plan {
		return fmt.Errorf("%s: the plan's file takes an absolute path without links", plan)
	}
	for above := plan; above != "/"; above = filepath.Dir(above) {
		if w.hidden[above] || slices.Contains(special, above) {
			return fmt.Errorf("%s: the plan's file lies in %s, which is hidden: name another one", plan, above)
		}
	}
	var stat unix.Stat_t
	switch err := unix.Lstat(plan, &stat); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("%s: %w", plan, err)
	case stat.Mode&unix.S_IFMT != unix.S_IFREG:
		return fmt.Errorf("%s: the plan's file isn't a regular file", plan)
	case stat.Nlink > 1:
		return fmt.Errorf("%s: the plan's file has other names (hard links), which would be written too: copy it", plan)
	}
	return nil
}

// within reports whether a path is dir or below it. Both must be clean.
func within(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// realPath returns where an absolute path leads. Parts that don't exist stay unchanged.
func realPath(path string) string {
	at, _ := resolve(path)
	return at
}

// maxLinks is how many links the kernel follows in a path.
const maxLinks = 40

// resolve follows the links of an absolute path. It returns where the path leads, and the
// paths of the links, without links themselves. It also follows links to targets that don't
// exist, because a program could create them. (beneath.Resolve stops there.)
func resolve(path string) (at string, links []string) {
	at = "/"
	for rest := names(path); len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		if name == ".." {
			at = filepath.Dir(at)
			continue
		}
		at = filepath.Join(at, name)
		target, err := os.Readlink(at)
		if err != nil || len(links) == maxLinks {
			continue
		}
		links = append(links, at)
		if at = filepath.Dir(at); filepath.IsAbs(target) {
			at = "/"
		}
		rest = append(names(target), rest...)
	}
	return at, links
}

// names splits a path without cleaning it: ".." after a link refers to the target's parent.
func names(path string) []string {
	return slices.DeleteFunc(strings.Split(path, "/"), func(name string) bool { return name == "" || name == "." })
}

// existing returns the path, or its nearest existing parent.
func existing(path string) string {
	for ; path != "/"; path = filepath.Dir(path) {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return path
}

// globbed returns the existing paths that match patterns.
func globbed(patterns []string) []string {
	var list []string
	for _, pattern := range patterns {
		matches, _ := filepath.Glob(pattern) // the patterns are valid
		list = append(list, matches...)
	}
	return list
}
