package watch

// The modes of a State.
const (
	// ModeOff: Run hasn't begun or has ended.
	ModeOff = "off"
	// ModeNotify: every directory that exists is watched.
	ModeNotify = "notify"
	// ModeDegraded: there is no notifier, or not a watch for every directory.
	// What is watched is watched, and everything is polled.
	ModeDegraded = "degraded"
)

// State says how well the watching goes.
type State struct {
	Mode string
	// Dirs counts the directories that are watched.
	Dirs int
	// Silent says that a watched directory makes no events or not all of
	// them, so the safety re-check is quicker.
	Silent bool
	// Error says why the mode is degraded, and what to do about it.
	Error string
}

// State returns how well the watching goes, and a channel that is closed when
// this is no longer so.
func (w *Watcher) State() (State, <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.state, w.changed
}

// setState returns the state before.
func (w *Watcher) setState(s State) State {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.state
	if s != before {
		w.state = s
		close(w.changed)
		w.changed = make(chan struct{})
	}
	return before
}
