package host

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// survey is one look at all plugin files.
type survey struct {
	*shelf
	opts   *Options
	now    time.Time
	atOnce bool // take what has changed without waiting for it to settle
	due    []*pluginFile
	next   time.Time // when to look again, even if nothing happens; or zero
	busy   bool      // a file is on its way
	gone   []string  // paths of files that exist no more
}

// survey looks at the plugin files and says which are to be read.
func (s *shelf) survey(opts *Options, now time.Time, atOnce bool) *survey {
	v := &survey{shelf: s, opts: opts, now: now, atOnce: atOnce}
	if s.files == nil {
		s.files = map[string]*pluginFile{}
	}
	present := v.list()
	for _, place := range s.places {
		for _, f := range place.files {
			v.look(f)
		}
	}
	v.missing(present)
	return v
}

// list finds out which files there are.
func (v *survey) list() map[string]bool {
	present := map[string]bool{}
	v.places = nil
	add := func(place *pluginPlace, p pluginPath) {
		if present[p.path] {
			return // named twice
		}
		present[p.path] = true
		f := v.files[p.path]
		if f == nil || f.named != p.named {
			f = &pluginFile{pluginPath: p}
			v.files[p.path] = f
		}
		f.gone = time.Time{}
		place.files = append(place.files, f)
	}
	var named pluginPlace
	for _, path := range v.opts.PluginFiles {
		add(&named, pluginPath{path, true})
	}
	v.places = append(v.places, named)
	for _, dir := range v.opts.PluginDirs {
		place := pluginPlace{dir: dir}
		var paths []string
		paths, place.err = moduleFiles(dir)
		if unreliable(place.err) {
			paths = v.knownIn(dir)
		}
		for _, path := range paths {
			add(&place, pluginPath{path, false})
		}
		v.places = append(v.places, place)
	}
	return present
}

// unreliable reports whether an error says nothing of what a directory holds.
func unreliable(err error) bool {
	var untrusted untrustedError
	return err != nil && !errors.As(err, &untrusted)
}

func (s *shelf) knownIn(dir string) []string {
	var paths []string
	for path := range s.files {
		if filepath.Dir(path) == filepath.Clean(dir) {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

// look decides whether a file is to be read now.
func (v *survey) look(f *pluginFile) {
	if st := f.look(); st != f.seen || f.since.IsZero() {
		f.seen, f.since = st, v.now
	}
	settled := v.atOnce || f.seen.untrusted || v.now.Sub(f.since) >= v.opts.PluginSettle
	same := f.took && f.seen == f.taken
	switch {
	case same && f.again(v.now), !same && settled, same && v.atOnce && f.newest.passing:
		v.due = append(v.due, f)
	case same:
		f.moving = time.Time{}
		v.again(f.verify)
		v.again(f.retry)
	default:
		v.busy = true
		f.moving = cmp.Or(f.moving, v.now)
		if v.now.Sub(f.moving) >= movingFor {
			f.newest = &version{err: errChanging}
		} else {
			v.again(f.moving.Add(movingFor))
		}
		v.again(f.since.Add(v.opts.PluginSettle))
	}
	v.busy = v.busy || f.newest != nil && f.newest.pending()
}

// pending reports whether a version hasn't been judged yet.
func (v *version) pending() bool { return v.desc == nil && v.err == nil }

// again reports whether a file that looks the same is to be read all the same.
func (f *pluginFile) again(now time.Time) bool {
	due := func(at time.Time) bool { return !at.IsZero() && !now.Before(at) }
	return due(f.verify) || due(f.retry)
}

// again has the next survey come at that time, or before.
func (v *survey) again(at time.Time) {
	if !at.IsZero() && (v.next.IsZero() || at.Before(v.next)) {
		v.next = at
	}
}

// missing decides about files that are gone.
func (v *survey) missing(present map[string]bool) {
	v.held = nil
	v.busy = v.busy || len(v.due) > 0
	for _, path := range slices.Sorted(maps.Keys(v.files)) {
		f := v.files[path]
		if present[path] {
			continue
		}
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			if v.misses(f) {
				continue
			}
			v.gone = append(v.gone, path)
		}
		delete(v.files, path)
	}
}

// misses reports whether a file that has vanished is still used.
func (v *survey) misses(f *pluginFile) bool {
	if f.used == nil || v.atOnce {
		return false
	}
	f.gone = cmp.Or(f.gone, v.now)
	until := f.gone.Add(v.opts.PluginSettle)
	if v.busy {
		until = f.gone.Add(max(missedFor, v.opts.PluginSettle))
	}
	if !v.now.Before(until) {
		return false
	}
	// What is on its way may be there soon.
	v.again(v.now.Add(min(v.opts.PluginSettle, until.Sub(v.now))))
	v.held = append(v.held, f)
	return true
}
