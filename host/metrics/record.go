package metrics

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"waymark/abi"
	"waymark/snapshot"
)

// The results of a resolver's turn in one root.
const (
	ResultReused      = "reused"      // the memo holds
	ResultRun         = "run"         // it ran
	ResultFailed      = "failed"      // it ran, and failed
	ResultQuarantined = "quarantined" // it wasn't run, having failed too often, or run for too long
	ResultPostponed   = "postponed"   // it wasn't waited for, and runs later
)

// The reasons of a run.
const (
	ReasonFirst   = "first"   // there was no memo
	ReasonChanged = "changed" // something that the memo depends on
)

// RefreshInfo is what one refresh did.
type RefreshInfo struct {
	Duration time.Duration
	// Published says that there is a new snapshot.
	Published bool
	// Resolves is what it looked at: one for each resolver and root.
	Resolves []ResolveInfo
	// Snapshot is the newest one; nil leaves the gauges as they are.
	Snapshot *snapshot.Snapshot
}

// ResolveInfo is one resolver's turn in one root.
type ResolveInfo struct {
	// Resolver is "module/resolver".
	Resolver string
	// Result is one of the Result constants.
	Result string
	// Reason is one of the Reason constants where it ran; empty otherwise.
	Reason string
	// Kill is the word for what ended a run that failed: deadline, fuel,
	// memory, crashed, answer, limit…; empty where nothing did.
	Kill string
	// Duration is that of the run; 0 where there was none.
	Duration time.Duration
}

// PushInfo is one attempt to push.
type PushInfo struct {
	// Result is the word for how it ended, such as accepted.
	Result   string
	Duration time.Duration
	// Bytes is the length of the encoded message.
	Bytes int
	// Delta says that only what has changed was sent.
	Delta bool
}

// WatchInfo is how changes are noticed.
type WatchInfo struct {
	// Mode is off, notify or degraded.
	Mode string
	// Directories counts those that are watched.
	Directories int
}

// Refresh counts a refresh.
func (m *Metrics) Refresh(info RefreshInfo) {
	m.refreshes.With(strconv.FormatBool(info.Published)).Inc()
	m.refreshSeconds.Update(info.Duration.Seconds())
	for _, r := range info.Resolves {
		m.resolve(r)
	}
	m.Snapshot(info.Snapshot)
}

func (m *Metrics) resolve(r ResolveInfo) {
	name := m.resolverNames.label(r.Resolver)
	m.resolves.With(name, m.resultNames.label(r.Result)).Inc()
	if r.Reason != "" {
		m.reruns.With(name, m.reasonNames.label(r.Reason)).Inc()
	}
	if r.Kill != "" {
		m.kills.With(name, m.killNames.label(r.Kill)).Inc()
	}
	if r.Duration > 0 {
		m.runSeconds.With(name).Add(r.Duration.Seconds())
	}
}

// Snapshot sets the gauges to a snapshot, unless it is nil or no newer than theirs.
func (m *Metrics) Snapshot(s *snapshot.Snapshot) {
	if s == nil || m.has(s.Version) {
		return
	}
	type form struct {
		kind   abi.Kind
		status snapshot.Status
	}
	forms := map[form]int{}
	for i := range s.Resources {
		forms[form{s.Resources[i].Kind, s.Resources[i].Status}]++
	}
	count := map[[2]string]int{}
	for f, n := range forms {
		count[[2]string{m.kindNames.label(string(f.kind)), m.statusNames.label(string(f.status))}] += n
	}
	servers := serversOf(s.Discovery)
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
	m.pending.Set(0)
	if s.Discovery.Pending() {
		m.pending.Set(1)
	}
	for _, o := range append(snapshot.Outcomes(), other) {
		m.servers.With(string(o)).Set(float64(servers[o]))
	}
	// What there was and isn't any more is 0: a series that ends says less.
	for key := range count {
		m.counted[key] = struct{}{}
	}
	for key := range m.counted {
		m.resources.With(key[0], key[1]).Set(float64(count[key]))
	}
	for state := range states {
		m.states[state] = struct{}{}
	}
	for state := range m.states {
		m.plugins.With(state).Set(float64(states[state]))
	}
}

// has reports whether the gauges are those of a version, or of a later one. Most refreshes
// find nothing new.
func (m *Metrics) has(version uint64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return version > 0 && version <= m.newest
}

// serversOf counts the MCP servers among the sources of a discovery. Their names
// are no labels: there may be any number of them, and a workspace chooses them.
func serversOf(d snapshot.Discovery) snapshot.OutcomeCounts {
	d.Sources = slices.DeleteFunc(slices.Clone(d.Sources), func(s snapshot.SourceOutcome) bool {
		return !strings.HasPrefix(s.ID, string(abi.KindMCPServer)+":")
	})
	return d.Summary().Outcomes
}

// Push counts an attempt to push.
func (m *Metrics) Push(info PushInfo) {
	m.pushes.With(m.pushResults.label(info.Result)).Inc()
	m.pushSeconds.Update(info.Duration.Seconds())
	form := "full"
	if info.Delta {
		form = "delta"
	}
	if info.Bytes > 0 {
		m.pushBytes.With(form).Add(info.Bytes)
	}
}

// PushState sets the state in which pushing is.
func (m *Metrics) PushState(state string) { m.pushState.set(state) }

// Batch counts a batch of hints.
func (m *Metrics) Batch(reason string) { m.batches.With(m.batchReasons.label(reason)).Inc() }

// Watch sets how changes are noticed.
func (m *Metrics) Watch(info WatchInfo) {
	m.watchMode.set(info.Mode)
	m.directories.Set(float64(info.Directories))
}
