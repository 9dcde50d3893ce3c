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

// Places are those that profiles are made of: absolute paths, which may lead over
// links. Only Home and Own have to be set.
type Places struct {
	// Home is the user's home directory, in which the places of the secret list are.
	Home string
	// Own are the agent's own places, files and directories, whether they are there or
	// not: those that package places says are hidden.
	Own []string
	// Root is the workspace's directory.
	Root string
	// Tmp is a directory for temporary files, which the caller has made and names
	// in TMPDIR. It may be in one of Own.
	Tmp string
	// Granted are the entries of vfs.SecretPatterns that aren't hidden.
	Granted []string
}

// HideSecrets returns the profile "secrets": everything may be read and written
// that the user can, but
//
//   - the places of the secret list below Home that are there now, and those of
//     entries without a directory (*.pem) that lie in Home itself. What git and its
//     like keep isn't hidden from programs; resolvers are another matter;
//   - the places of the agent, whether they are there or not;
//   - /proc for root and /sys, which can be read only, and devices but the harmless
//     ones: what is in them could undo the rest.
//
// Landlock can only allow. So everything is allowed that isn't on the way to one of
// these: in the directories that are on the way, from "/" over Home down, nothing
// can be made, renamed or removed, and what others make there later is out of
// reach. Names can be listed everywhere, since listing a directory can't be allowed
// without all below it. Root keeps the capabilities of CapabilityNames.
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
	// Who isn't root can write what belongs to its own processes, and tools that
	// make namespaces have to. Root could have the kernel run programs.
	if os.Geteuid() == 0 {
		profile.Read = append(profile.Read, "/proc")
	} else {
		profile.Write = append(profile.Write, "/proc")
	}
	return profile, nil
}

// Plan returns the profile "plan": everything may be read that HideSecrets doesn't
// hide, and nothing written but the plan's file, Tmp, and devices that keep
// nothing. Unix sockets are cut, and modes and owners of files stay what they are,
// those of Tmp included.
//
// The plan is written in place: a file that isn't there yet can't be made, and one
// that has been replaced since by another of its name is out of reach. Without a
// plan, "", there is no such file.
//
// # Errors
//
// The plan lies where it would be hidden, or isn't a regular file with one name.
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

// Devices that programs need. No others are given: a disk's has all files in it.
var (
	readable  = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}
	terminals = []string{"/dev/tty", "/dev/ptmx", "/dev/pts"}
	shared    = []string{"/dev/shm", "/dev/mqueue"}
	computing = []string{"/dev/kvm", "/dev/kfd", "/dev/dri", "/dev/nvidia*"}
)

// walk finds what can be opened so that the rest stays hidden.
type walk struct {
	hidden map[string]bool // real paths
	closed map[string]bool // those of them that nobody can choose to work in: the agent's, and the kernel's
	way    map[string]bool // real paths of the directories above them
	mounts []mount
	home   string // real
	opened []string

	listed map[string][]fs.DirEntry // nil for what can't be listed
}

// list returns what is in a directory, which is asked for once for each entry of the
// secret list.
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
	for i := range mounts { // a second /proc, say, in a directory for containers
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

// versioned are entries that programs in a workspace live on.
var versioned = []string{".git/**", ".hg/**", ".svn/**", ".jj/**"}

// expand returns what there is below a directory that a pattern names, whose names
// are compared in any case.
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

// hideAgent hides a place of the agent. One that isn't there mustn't be made by a
// program, unless nobody but root could make it.
func (w *walk) hideAgent(place string) {
	path, links := resolve(place)
	for _, link := range links {
		w.hidePath(link) // or another one could be put in its place
	}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) && unix.Access(existing(path), unix.W_OK) != nil {
		return
	}
	w.closed[path] = true
	w.hide(path)
}

// hide hides a place, under all paths that lead to it, and what links in it lead to
// below the home directory.
func (w *walk) hide(path string) {
	target := realPath(path)
	if within(w.home, target) {
		return // a link to everything hides nothing: that is an accident
	}
	for _, target := range append([]string{target}, w.linked(target, maxDepth)...) {
		w.hidePath(target)
	}
}

// hidePath hides what a path without links names, wherever it is mounted.
func (w *walk) hidePath(path string) {
	for _, path := range w.everywhere(path) {
		w.hidden[path] = true
		for above := filepath.Dir(path); !w.way[above]; above = filepath.Dir(above) {
			w.way[above] = true
		}
	}
}

const (
	// maxDepth is how deep links are looked for in hidden directories, and maxLinked
	// in how many entries of each. Those of a home that is kept in a repository lie
	// at the top.
	maxDepth  = 3
	maxLinked = 1024
)

// linked returns the files below the home directory that links in a hidden
// directory lead to: a home is often kept in a repository, with links to it. Links
// to elsewhere, and to programs, are those of installed software.
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

// open gives a place and all below it, as far as it isn't hidden.
func (w *walk) open(path string) {
	switch {
	case w.hidden[path], slices.Contains(special, path):
	case !w.way[path]:
		w.opened = append(w.opened, path)
	default:
		entries, ok := w.list(path)
		for _, entry := range entries {
			if entry.Type()&fs.ModeSymlink == 0 { // where one leads is given by its own path
				w.open(filepath.Join(path, entry.Name()))
			}
		}
		if ok {
			return
		}
		for below := range w.way { // it can be gone through, and not listed
			if below != "/" && filepath.Dir(below) == path {
				w.open(below)
			}
		}
	}
}

// openAll gives everything that isn't hidden, from the root directory down.
func (w *walk) openAll(p Places) {
	w.open("/")
	w.openChosen(p.Home)
	w.openChosen(p.Root)
}

// special are directories that are given in parts, or for reading only.
var special = []string{"/dev", "/proc", "/sys"}

// openChosen gives a directory that has been chosen to be worked in, also where it
// lies in a place of the secret list: its owner has chosen it. It doesn't give a
// directory of the agent, or of the kernel.
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
	delete(w.hidden, dir) // what is in it may still be
	w.open(dir)
}

// openTmp gives the directory for temporary files. It may be in a hidden one, and
// must not have one in it.
func (w *walk) openTmp(dir string) {
	if dir == "" {
		return
	}
	if dir = realPath(dir); !w.hidden[dir] && !w.way[dir] && !slices.Contains(special, dir) {
		w.opened = append(w.opened, dir)
	}
}

// checkPlan refuses what can't be the plan's file.
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

// within reports whether a path is a directory or below it. Both are clean.
func within(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// realPath is where an absolute path leads, as far as there is something; the rest of
// it is kept.
func realPath(path string) string {
	at, _ := resolve(path)
	return at
}

// maxLinks is how many links the kernel follows in one path.
const maxLinks = 40

// resolve follows the links of an absolute path, and returns where it leads with
// the paths of the links, which themselves lead over none. Links that lead to what
// isn't there are followed as well, since somebody could make it. (That is why this
// isn't beneath.Resolve, which ends there.)
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

// names splits a path. It isn't cleaned: ".." after a link is above where that leads.
func names(path string) []string {
	return slices.DeleteFunc(strings.Split(path, "/"), func(name string) bool { return name == "" || name == "." })
}

// existing returns the path, or the nearest directory above it that is there.
func existing(path string) string {
	for ; path != "/"; path = filepath.Dir(path) {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return path
}

// globbed returns what there is of some patterns.
func globbed(patterns []string) []string {
	var list []string
	for _, pattern := range patterns {
		matches, _ := filepath.Glob(pattern) // the patterns are good
		list = append(list, matches...)
	}
	return list
}
