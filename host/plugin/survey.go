package plugin

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	// movingFor is how long a file may keep changing before its state says so.
	movingFor = 2 * time.Second
	// youngFor is how old a file's times must be to be trusted. On coarse clocks a second
	// write doesn't change them.
	youngFor = 2 * time.Second
	// keptFor is how long a vanished file is still used while another one is arriving that
	// may be its next version under another name.
	keptFor = 10 * time.Second
	// A module that failed for a reason that may not be its own is retried after firstRetry,
	// and then after twice the time each, up to longestRetry.
	firstRetry, longestRetry = 30 * time.Second, time.Hour
)

// directory is a plugin directory, or the files that were named individually.
type directory struct {
	path  string // empty for named files
	err   error  // why it can't be read
	files []*file
}

// store is what is known of all module files.
type store struct {
	files    map[string]*file // by path
	dirs     []directory      // in order
	vanished []*file          // files that are gone, and are used for a moment longer
}

// survey is one look at all module files.
type survey struct {
	*store
	config *Config
	settle time.Duration // see Options
	now    time.Time
	atOnce bool      // take changes without waiting for them to settle
	due    []*file   // to be read now
	next   time.Time // when to look again, even without an event; or zero
	busy   bool      // whether a file is arriving
	gone   []string  // paths of files that no longer exist
}

// newSurvey looks at the module files and finds out which are to be read.
func newSurvey(s *store, config *Config, settle time.Duration, now time.Time, atOnce bool) *survey {
	v := &survey{store: s, config: config, settle: settle, now: now, atOnce: atOnce}
	if s.files == nil {
		s.files = map[string]*file{}
	}
	present := v.list()
	for _, dir := range s.dirs {
		for _, f := range dir.files {
			v.examine(f)
		}
	}
	v.missing(present)
	return v
}

// list returns the existing files. A file with several names counts under the first of them.
func (v *survey) list() map[string]bool {
	present, seen := map[string]bool{}, map[string]bool{}
	v.dirs = nil
	add := func(dir *directory, p modulePath) {
		target := realPath(p.path)
		if seen[target] {
			return
		}
		seen[target], present[p.path] = true, true
		f := v.files[p.path]
		if f == nil || f.named != p.named {
			f = &file{modulePath: p}
			v.files[p.path] = f
		}
		f.gone = time.Time{}
		dir.files = append(dir.files, f)
	}
	var named directory
	for _, path := range v.config.Files {
		add(&named, modulePath{path, true})
	}
	v.dirs = append(v.dirs, named)
	for _, path := range v.config.Dirs {
		dir := directory{path: path}
		var paths []string
		dir.err = v.refuse(path)
		if dir.err == nil {
			paths, dir.err = moduleFiles(path)
		}
		if unreliable(dir.err) {
			paths = v.knownIn(path)
		}
		for _, path := range paths {
			if err := v.refuseLink(path); err != nil {
				v.dirs = append(v.dirs, directory{path: path, err: err})
				continue
			}
			add(&dir, modulePath{path, false})
		}
		v.dirs = append(v.dirs, dir)
	}
	return present
}

// refuse returns why nothing is loaded from a place.
func (v *survey) refuse(path string) error {
	if v.config.Refuse == nil {
		return nil
	}
	if err := v.config.Refuse(path); err != nil {
		return untrustedError(err.Error())
	}
	return nil
}

// refuseLink is refuse for the target of a module's link.
func (v *survey) refuseLink(path string) error {
	if v.config.Refuse == nil || !isLink(path) {
		return nil
	}
	return v.refuse(realPath(path))
}

// realPath returns the target of a path. Use it only to compare paths.
func realPath(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		return target
	}
	return path
}

// unreliable reports whether an error says nothing about the content of a directory.
func unreliable(err error) bool {
	var untrusted untrustedError
	return err != nil && !errors.As(err, &untrusted)
}

// knownIn lists the known files of a directory.
func (s *store) knownIn(dir string) []string {
	var paths []string
	for path := range s.files {
		if filepath.Dir(path) == filepath.Clean(dir) {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

// examine decides whether a file is to be read now.
func (v *survey) examine(f *file) {
	if st := f.stat(); st != f.seen || f.since.IsZero() {
		f.seen, f.since = st, v.now
	}
	settled := v.atOnce || f.seen.untrusted || v.now.Sub(f.since) >= v.settle
	same := f.took && f.seen == f.taken
	switch {
	case same && f.retryDue(v.now), !same && settled, same && v.atOnce && f.newest.passing:
		v.due = append(v.due, f)
	case same:
		f.moving = time.Time{}
		v.schedule(f.verify)
		v.schedule(f.retry)
	default:
		v.busy = true
		f.moving = cmp.Or(f.moving, v.now)
		if v.now.Sub(f.moving) >= movingFor {
			f.newest = &version{err: errChanging}
		} else {
			v.schedule(f.moving.Add(movingFor))
		}
		v.schedule(f.since.Add(v.settle))
	}
	v.busy = v.busy || f.newest != nil && f.newest.pending()
}

// retryDue reports whether an unchanged file is to be reread.
func (f *file) retryDue(now time.Time) bool {
	due := func(at time.Time) bool { return !at.IsZero() && !now.Before(at) }
	return due(f.verify) || due(f.retry)
}

// schedule makes the next survey happen at that time or before.
func (v *survey) schedule(at time.Time) {
	if !at.IsZero() && (v.next.IsZero() || at.Before(v.next)) {
		v.next = at
	}
}

// missing decides about files that are gone.
func (v *survey) missing(present map[string]bool) {
	v.vanished = nil
	v.busy = v.busy || len(v.due) > 0
	for _, path := range slices.Sorted(maps.Keys(v.files)) {
		f := v.files[path]
		if present[path] {
			continue
		}
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			if v.stillUsed(f) {
				continue
			}
			v.gone = append(v.gone, path)
		}
		delete(v.files, path)
	}
}

// stillUsed reports whether a vanished file is used for a moment longer.
func (v *survey) stillUsed(f *file) bool {
	if f.used == nil || v.atOnce {
		return false
	}
	f.gone = cmp.Or(f.gone, v.now)
	until := f.gone.Add(v.settle)
	if v.busy {
		until = f.gone.Add(max(keptFor, v.settle))
	}
	if !v.now.Before(until) {
		return false
	}
	// An arriving file may be complete soon.
	v.schedule(v.now.Add(min(v.settle, until.Sub(v.now))))
	v.vanished = append(v.vanished, f)
	return true
}

// CheckDir says why no module of a directory would be taken: it can't be read, or somebody
// else could put a module there or swap the directory. A missing directory counts as empty.
// The files themselves are checked when they are opened.
func CheckDir(dir string) error {
	_, err := moduleFiles(dir)
	return err
}

// moduleFiles lists the modules of a directory, in order of names. A missing directory has
// none.
func moduleFiles(dir string) ([]string, error) {
	if err := checkLinks(dir); err != nil {
		return nil, err
	}
	info, err := os.Stat(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, untrustedError("not a directory: name the directory that holds the .wasm files")
	}
	if err := checkDir(dir, info); err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(escapeGlob(dir), "*.wasm"))
	slices.Sort(files)
	return files, err
}

func escapeGlob(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(s)
}

// dropUnused clears the used version of files that no row of the list uses.
func (s *store) dropUnused(rows []*row) {
	for _, f := range s.files {
		if f.used != nil && !slices.ContainsFunc(rows, func(p *row) bool { return p.version == f.used && p.handle != nil }) {
			f.used = nil
		}
	}
}

// Watched is what has to be watched so that no change of a module file goes unnoticed.
type Watched struct {
	// Paths are names to watch whether or not they exist: those of directories, and of every
	// link that leads to one of them or to a file.
	Paths []string
	// Dirs are directories in which every name matters.
	Dirs []string
}

// watched lists what to watch for the known files.
func (s *store) watched() Watched {
	var w Watched
	follow := func(path string) string {
		links, target := route(path)
		w.Paths = append(append(w.Paths, links...), target)
		return target
	}
	for _, dir := range s.dirs {
		if dir.path != "" {
			w.Dirs = append(w.Dirs, follow(dir.path))
		}
		for _, f := range dir.files {
			if f.named || isLink(f.path) {
				follow(f.path)
			}
		}
	}
	return w
}
