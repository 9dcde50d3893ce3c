package host

import (
	"slices"
	"strings"

	"waymark/host/push"
	"waymark/host/watch"
	"waymark/snapshot"
)

// Status is the state of a Host, as the local API shows it.
type Status struct {
	Roots   []string
	Refused []RefusedRoot
	Version uint64
	Push    *push.Status // nil when nothing is pushed
	Watch   watch.State
	Plugins []snapshot.Plugin
	// Held says that the first snapshot is held back; see Ready.
	Held bool
}

// Status returns the state as it is now.
func (h *Host) Status() Status {
	h.mu.Lock()
	s := Status{Roots: h.paths, Refused: h.refused, Plugins: slices.Clone(h.shown)}
	watcher, pusher := h.watcher, h.pusher
	h.mu.Unlock()
	s.Version = h.Current().Version
	s.Watch = watch.State{Mode: "off"}
	if watcher != nil {
		s.Watch, _ = watcher.State()
	}
	if pusher != nil {
		p := pusher.Status()
		s.Push = &p
	}
	select {
	case <-h.ready:
	default:
		s.Held = true
	}
	return s
}

// watchProblem is what a snapshot says of watching; empty while it works.
func (h *Host) watchProblem() string {
	h.mu.Lock()
	watcher := h.watcher
	h.mu.Unlock()
	if watcher == nil {
		return ""
	}
	state, _ := watcher.State()
	return state.Error
}

// problems joins those that there are.
func problems(list ...string) string {
	return strings.Join(slices.DeleteFunc(list, func(s string) bool { return s == "" }), "; ")
}
