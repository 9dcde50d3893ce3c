package metrics

import (
	"strconv"

	"waymark/snapshot"
)

// Refresh counts a refresh.
func (m *Metrics) Refresh(info RefreshInfo) {
	m.refreshes.WithLabelValues(strconv.FormatBool(info.Published)).Inc()
	m.refreshSeconds.Observe(info.Duration.Seconds())
	for _, r := range info.Resolves {
		m.resolve(r)
	}
	m.Snapshot(info.Snapshot)
}

func (m *Metrics) resolve(r ResolveInfo) {
	name := m.resolverNames.label(r.Resolver)
	m.resolves.WithLabelValues(name, m.resultNames.label(r.Result)).Inc()
	if r.Reason != "" {
		m.reruns.WithLabelValues(name, m.reasonNames.label(r.Reason)).Inc()
	}
	if r.Kill != "" {
		m.kills.WithLabelValues(name, m.killNames.label(r.Kill)).Inc()
	}
	if r.Duration > 0 {
		m.runSeconds.WithLabelValues(name).Add(r.Duration.Seconds())
	}
}

// Snapshot shows a snapshot, unless it is nil or older than the one shown.
func (m *Metrics) Snapshot(s *snapshot.Snapshot) {
	if s == nil {
		return
	}
	count := map[[2]string]int{}
	for i := range s.Resources {
		r := &s.Resources[i]
		count[[2]string{m.kindNames.label(string(r.Kind)), m.statusNames.label(string(r.Status))}]++
	}
	states := map[string]int{}
	for _, p := range s.Plugins {
		states[m.pluginStates.label(string(p.State))]++
	}

	m.mu.Lock()
	defer m.mu.Unlock()
	if s.Version < m.newest {
		return
	}
	m.newest = s.Version
	m.version.Set(float64(s.Version))
	m.payloadBytes.Set(float64(s.PayloadBytes))
	m.degraded.Set(0)
	if s.SnapshotError != "" {
		m.degraded.Set(1)
	}
	// What there was and isn't any more is 0: a series that ends says less.
	for key := range count {
		m.counted[key] = struct{}{}
	}
	for key := range m.counted {
		m.resources.WithLabelValues(key[0], key[1]).Set(float64(count[key]))
	}
	for state := range states {
		m.states[state] = struct{}{}
	}
	for state := range m.states {
		m.plugins.WithLabelValues(state).Set(float64(states[state]))
	}
}

// Push counts an attempt to push.
func (m *Metrics) Push(info PushInfo) {
	m.pushes.WithLabelValues(m.pushResults.label(info.Result)).Inc()
	m.pushSeconds.Observe(info.Duration.Seconds())
	form := "full"
	if info.Delta {
		form = "delta"
	}
	if info.Bytes > 0 {
		m.pushBytes.WithLabelValues(form).Add(float64(info.Bytes))
	}
}

// PushState shows in which state pushing is.
func (m *Metrics) PushState(state string) { m.pushState.set(state) }

// Batch counts a batch of hints.
func (m *Metrics) Batch(reason string) { m.batches.WithLabelValues(m.batchReasons.label(reason)).Inc() }

// Watch shows how changes are noticed.
func (m *Metrics) Watch(info WatchInfo) {
	m.watchMode.set(info.Mode)
	m.directories.Set(float64(info.Directories))
}
