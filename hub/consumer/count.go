package consumer

// Streams returns how many streams of events and waiting requests there are.
func (a *API) Streams() int {
	a.sessions.mu.Lock()
	defer a.sessions.mu.Unlock()
	return a.sessions.total
}
