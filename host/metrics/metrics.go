package metrics

import (
	"net/http"
	"runtime"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

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
	registry *prometheus.Registry

	resolves, reruns, kills, runSeconds *prometheus.CounterVec
	refreshes                           *prometheus.CounterVec
	refreshSeconds                      prometheus.Histogram

	version, payloadBytes, degraded, pending prometheus.Gauge
	resources, plugins, servers              *prometheus.GaugeVec

	pushes      *prometheus.CounterVec
	pushSeconds prometheus.Histogram
	pushBytes   *prometheus.CounterVec
	pushState   *oneOf

	batches     *prometheus.CounterVec
	watchMode   *oneOf
	directories prometheus.Gauge

	resolverNames, resultNames, reasonNames, killNames              *words
	pushResults, batchReasons, kindNames, statusNames, pluginStates *words

	mu      sync.Mutex             // guards what follows, and orders gauges
	newest  uint64                 // the version that the gauges show
	counted map[[2]string]struct{} // kinds and statuses that have a series
	states  map[string]struct{}    // the same for states of plugins
}

// The buckets of durations, in seconds. Re-checking memos takes a fraction of a
// millisecond, a first resolve of a large workspace some hundred.
var (
	refreshBuckets = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}
	pushBuckets    = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}
)

// New makes a Metrics.
func New(opts Options) *Metrics {
	m := &Metrics{
		registry:      prometheus.NewRegistry(),
		resolverNames: newWords(maxResolvers), resultNames: newWords(maxWords), reasonNames: newWords(maxWords),
		killNames: newWords(maxWords), pushResults: newWords(maxWords), batchReasons: newWords(maxWords),
		kindNames: newWords(maxWords), statusNames: newWords(maxWords), pluginStates: newWords(maxWords),
		counted: map[[2]string]struct{}{}, states: map[string]struct{}{},
	}
	m.makeResolve()
	m.makeSnapshot()
	m.makePush()
	m.makeWatch()
	build := m.gauges("build_info", "What the agent was built from; always 1.", "version", "revision", "go_version")
	// The client library panics at what isn't UTF-8.
	build.WithLabelValues(text.Printable(opts.Version), text.Printable(opts.Revision), runtime.Version()).Set(1)
	m.registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return m
}

func (m *Metrics) makeResolve() {
	m.resolves = m.counters("resolves_total", "Turns of a resolver in a root, by what came of them.", "resolver", "result")
	m.reruns = m.counters("resolver_runs_total", "Runs of a resolver, by why its memo didn't do.", "resolver", "reason")
	m.kills = m.counters("resolver_kills_total", "Runs that were ended, by what ended them.", "resolver", "reason")
	m.runSeconds = m.counters("resolver_run_seconds_total", "Time that runs of a resolver took.", "resolver")
	m.refreshes = m.counters("refreshes_total", "Refreshes, by whether they made a new snapshot.", "published")
	m.refreshSeconds = m.histogram("refresh_duration_seconds", "How long a refresh takes.", refreshBuckets)
}

func (m *Metrics) makeSnapshot() {
	m.version = m.gauge("snapshot_version", "Version of the newest snapshot; 0 when there is none yet.")
	m.payloadBytes = m.gauge("snapshot_payload_bytes", "Sum of the lengths of all payloads of the newest snapshot.")
	m.degraded = m.gauge("snapshot_error", "1 when something is wrong with the newest snapshot as a whole.")
	m.resources = m.gauges("snapshot_resources", "Resources of the newest snapshot.", "kind", "status")
	m.pending = m.gauge("discovery_pending", "1 while more is still to come than the newest snapshot has.")
	m.servers = m.gauges("mcp_servers", "MCP servers of the newest snapshot, by what became of them.", "outcome")
	for _, o := range append(snapshot.Outcomes(), other) {
		m.servers.WithLabelValues(string(o)) // 0 is worth showing
	}
	m.plugins = m.gauges("plugins", "Resolver modules, by their state.", "state")
	for _, s := range []snapshot.PluginState{
		snapshot.PluginCompiling, snapshot.PluginReady, snapshot.PluginFailing,
		snapshot.PluginQuarantined, snapshot.PluginRejected, snapshot.PluginNeedsApproval,
	} {
		m.states[m.pluginStates.label(string(s))] = struct{}{}
		m.plugins.WithLabelValues(string(s)) // 0 is worth showing
	}
}

func (m *Metrics) makePush() {
	m.pushes = m.counters("pushes_total", "Attempts to push a snapshot, by how they ended.", "result")
	m.pushSeconds = m.histogram("push_duration_seconds", "How long an attempt to push takes.", pushBuckets)
	m.pushBytes = m.counters("push_bytes_total", "Bytes of encoded snapshots that were sent, whole ones (full) or changes (delta).", "form")
	m.pushState = newOneOf(m.gauges("push_state", "1 for the state in which pushing is.", "state"))
}

func (m *Metrics) makeWatch() {
	m.batches = m.counters("watch_batches_total", "Batches of hints that something may have changed, by why.", "reason")
	m.watchMode = newOneOf(m.gauges("watch_mode", "1 for the mode in which changes are noticed.", "mode"))
	m.directories = m.gauge("watched_directories", "Directories that are watched.")
}

// Handler serves the metrics.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

const namespace = "waymark"

func (m *Metrics) counters(name, help string, labels ...string) *prometheus.CounterVec {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
	m.registry.MustRegister(v)
	return v
}

func (m *Metrics) gauges(name, help string, labels ...string) *prometheus.GaugeVec {
	v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}, labels)
	m.registry.MustRegister(v)
	return v
}

func (m *Metrics) gauge(name, help string) prometheus.Gauge {
	g := prometheus.NewGauge(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help})
	m.registry.MustRegister(g)
	return g
}

func (m *Metrics) histogram(name, help string, buckets []float64) prometheus.Histogram {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets})
	m.registry.MustRegister(h)
	return h
}

// oneOf is a gauge for each of some states, of which one is 1.
type oneOf struct {
	gauges *prometheus.GaugeVec
	names  *words

	mu      sync.Mutex // guards current
	current string
}

func newOneOf(gauges *prometheus.GaugeVec) *oneOf {
	return &oneOf{gauges: gauges, names: newWords(maxWords)}
}

func (o *oneOf) set(state string) {
	state = o.names.label(state)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.current != "" {
		o.gauges.WithLabelValues(o.current).Set(0)
	}
	o.gauges.WithLabelValues(state).Set(1)
	o.current = state
}
