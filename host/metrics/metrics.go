package metrics

import (
	"net/http"
	"runtime"
	"sync"

	"github.com/VictoriaMetrics/metrics"

	"waymark/internal/metricset"
	"waymark/internal/text"
	"waymark/snapshot"
)

// Options configures a Metrics. The zero value works.
type Options struct {
	// Version is that of the program, for waymark_build_info.
	Version string
	// Revision is the commit it was built from; may be empty.
	Revision string
}

// Metrics counts what one agent does. Make one with New.
type Metrics struct {
	set *metricset.Set

	resolves, reruns, kills *counters
	runSeconds              *metricset.Vec[*metrics.FloatCounter]
	refreshes               *counters
	refreshSeconds          *metrics.PrometheusHistogram

	version, payloadBytes, degraded, pending *metrics.Gauge
	resources, plugins, servers              *gauges

	pushes      *counters
	pushSeconds *metrics.PrometheusHistogram
	pushBytes   *counters
	pushState   *oneOf

	batches     *counters
	watchMode   *oneOf
	directories *metrics.Gauge

	resolverNames, resultNames, reasonNames, killNames              *words
	pushResults, batchReasons, kindNames, statusNames, pluginStates *words

	mu      sync.Mutex             // guards what follows, and orders gauges
	newest  uint64                 // the version that the gauges show
	counted map[[2]string]struct{} // kinds and statuses that have a series
	states  map[string]struct{}    // the same for states of plugins
}

type (
	counters = metricset.Vec[*metrics.Counter]
	gauges   = metricset.Vec[*metrics.Gauge]
)

// The buckets of durations, in seconds. Re-checking memos takes a fraction of a
// millisecond, a first resolve of a large workspace some hundred.
var (
	refreshBuckets = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}
	pushBuckets    = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}
)

// New makes a Metrics.
func New(opts Options) *Metrics {
	m := &Metrics{
		set:           metricset.New("waymark"),
		resolverNames: newWords(maxResolvers), resultNames: newWords(maxWords), reasonNames: newWords(maxWords),
		killNames: newWords(maxWords), pushResults: newWords(maxWords), batchReasons: newWords(maxWords),
		kindNames: newWords(maxWords), statusNames: newWords(maxWords), pluginStates: newWords(maxWords),
		counted: map[[2]string]struct{}{}, states: map[string]struct{}{},
	}
	m.makeResolve()
	m.makeSnapshot()
	m.makePush()
	m.makeWatch()
	build := m.set.Gauges("build_info", "What the agent was built from; always 1.", "version", "revision", "go_version")
	build.With(text.Printable(opts.Version), text.Printable(opts.Revision), runtime.Version()).Set(1)
	return m
}

func (m *Metrics) makeResolve() {
	m.resolves = m.set.Counters("resolves_total", "Turns of a resolver in a root, by what came of them.", "resolver", "result")
	m.reruns = m.set.Counters("resolver_runs_total", "Runs of a resolver, by why its memo didn't do.", "resolver", "reason")
	m.kills = m.set.Counters("resolver_kills_total", "Runs that were ended, by what ended them.", "resolver", "reason")
	m.runSeconds = m.set.FloatCounters("resolver_run_seconds_total", "Time that runs of a resolver took.", "resolver")
	m.refreshes = m.set.Counters("refreshes_total", "Refreshes, by whether they made a new snapshot.", "published")
	m.refreshSeconds = m.set.Histograms("refresh_duration_seconds", "How long a refresh takes.", refreshBuckets).With()
}

func (m *Metrics) makeSnapshot() {
	m.version = m.set.Gauges("snapshot_version", "Version of the newest snapshot; 0 when there is none yet.").With()
	m.payloadBytes = m.set.Gauges("snapshot_payload_bytes", "Sum of the lengths of all payloads of the newest snapshot.").With()
	m.degraded = m.set.Gauges("snapshot_error", "1 when something is wrong with the newest snapshot as a whole.").With()
	m.resources = m.set.Gauges("snapshot_resources", "Resources of the newest snapshot.", "kind", "status")
	m.pending = m.set.Gauges("discovery_pending", "1 while more is still to come than the newest snapshot has.").With()
	m.servers = m.set.Gauges("mcp_servers", "MCP servers of the newest snapshot, by what became of them.", "outcome")
	for _, o := range append(snapshot.Outcomes(), other) {
		m.servers.With(string(o)) // 0 is worth showing
	}
	m.plugins = m.set.Gauges("plugins", "Resolver modules, by their state.", "state")
	for _, s := range []snapshot.PluginState{
		snapshot.PluginCompiling, snapshot.PluginReady, snapshot.PluginFailing,
		snapshot.PluginQuarantined, snapshot.PluginRejected, snapshot.PluginNeedsApproval,
	} {
		m.states[m.pluginStates.label(string(s))] = struct{}{}
		m.plugins.With(string(s)) // 0 is worth showing
	}
}

func (m *Metrics) makePush() {
	m.pushes = m.set.Counters("pushes_total", "Attempts to push a snapshot, by how they ended.", "result")
	m.pushSeconds = m.set.Histograms("push_duration_seconds", "How long an attempt to push takes.", pushBuckets).With()
	m.pushBytes = m.set.Counters("push_bytes_total", "Bytes of encoded snapshots that were sent, whole ones (full) or changes (delta).", "form")
	m.pushState = newOneOf(m.set.Gauges("push_state", "1 for the state in which pushing is.", "state"))
}

func (m *Metrics) makeWatch() {
	m.batches = m.set.Counters("watch_batches_total", "Batches of hints that something may have changed, by why.", "reason")
	m.watchMode = newOneOf(m.set.Gauges("watch_mode", "1 for the mode in which changes are noticed.", "mode"))
	m.directories = m.set.Gauges("watched_directories", "Directories that are watched.").With()
}

// Handler serves the metrics.
func (m *Metrics) Handler() http.Handler { return m.set.Handler() }

// oneOf is a gauge for each of some states, of which one is 1.
type oneOf struct {
	gauges *gauges
	names  *words

	mu      sync.Mutex // guards current
	current string
}

func newOneOf(gauges *gauges) *oneOf {
	return &oneOf{gauges: gauges, names: newWords(maxWords)}
}

func (o *oneOf) set(state string) {
	state = o.names.label(state)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.current != "" {
		o.gauges.With(o.current).Set(0)
	}
	o.gauges.With(state).Set(1)
	o.current = state
}
