package watch

// retryUnwatched has the next pass try again what couldn't be added.
func (k *watches) retryUnwatched() {
	for path, e := range k.entries {
		if e.how == unwatched {
			k.w.mark(path)
		}
	}
}

// revise forgets the watches that ended without an event, as at an unmount.
func (k *watches) revise() {
	clear(k.silent) // a device number may be another's by now
	list := k.backend.WatchList()
	still := make(map[string]struct{}, len(list))
	for _, path := range list {
		still[path] = struct{}{}
	}
	for path, e := range k.entries {
		if _, ok := still[path]; !ok && e.how == watched {
			k.drop(path)
			k.w.mark(path)
		}
	}
}

// survey counts the watches, and forgets a failure that is mended.
func (k *watches) survey() State {
	var s State
	unmended := false
	for path, e := range k.entries {
		switch e.how {
		case watched, aliased:
			s.Dirs++
			s.Silent = s.Silent || e.silent
		case unreadable:
			s.Silent = s.Silent || k.w.needs(path, k.entries)
		case unwatched:
			unmended = true
		}
	}
	if !unmended {
		k.failed = nil
	}
	return s
}
