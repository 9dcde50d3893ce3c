package host

import (
	"errors"
	"os"
	"time"
)

// take reads a file and notes what is in it now.
func (f *pluginFile) take(now time.Time, atOnce bool) {
	wasm, err := f.content(atOnce)
	if errors.Is(err, errChanging) {
		f.since, f.took = now, false
		if f.newest == nil {
			f.newest = &version{err: err}
		}
		return
	}
	f.took, f.taken = true, f.seen
	f.moving, f.verify = time.Time{}, time.Time{}
	// A time that lies ahead, of now and not of when the look began, says
	// nothing, however long one waits.
	if changed := f.seen.changed(); f.seen.problem == "" && now.Sub(changed) < youngFor && time.Since(changed) > -youngFor {
		f.verify = now.Add(youngFor)
	}
	next := &version{err: err, wasm: wasm}
	if wasm != nil {
		next.digest = digestOf(wasm)
	}
	old := f.newest
	retrying := old != nil && old.passing && (atOnce || !f.retry.IsZero() && !now.Before(f.retry))
	if old != nil && old.same(next) && !retrying {
		return
	}
	if old == nil || old.digest != next.digest {
		f.wait = 0
	}
	if retrying && old.digest == next.digest {
		next.was, next.desc = old.err, old.desc
	}
	f.retry, f.newest = time.Time{}, next
	if err != nil && f.seen.problem == "" {
		var system *os.PathError
		f.newest.fail(f, now, err, errors.As(err, &system))
	}
}

// content reads the file as it was seen. With atOnce any content is taken that
// was whole while it was read.
func (f *pluginFile) content(atOnce bool) ([]byte, error) {
	if f.seen.untrusted {
		return nil, untrustedError(f.seen.problem)
	}
	if f.seen.problem != "" {
		return nil, errors.New(f.seen.problem)
	}
	wasm, was, err := f.read()
	if was != (stamp{}) && was != f.seen {
		if !atOnce {
			return nil, errChanging
		}
		f.seen = was
	}
	if err != nil {
		return nil, err
	}
	return wasm, nil
}

// same reports whether two versions are of the same content, or can't be used
// for the same reason.
func (v *version) same(other *version) bool {
	if v.digest != "" || other.digest != "" {
		return v.digest == other.digest
	}
	return v.err != nil && other.err != nil && v.err.Error() == other.err.Error()
}

// fail notes why a version can't be used, and when it is to be tried again if
// the reason may pass.
func (v *version) fail(f *pluginFile, now time.Time, err error, passing bool) {
	v.err, v.passing, v.wasm = err, passing, nil
	if passing {
		f.wait = min(max(2*f.wait, firstRetry), longestRetry)
		f.retry = now.Add(f.wait)
	}
}
