// Package metrics counts what a hub does, for Prometheus.
//
// Labels are words of this program, never names or ids of agents or readers: whoever may
// scrape a hub learns nothing about its content, and nobody can create an unlimited number
// of series. docs/hub.md explains each metric.
//
// All methods are safe for concurrent use.
package metrics

import (
	"context"
	"math"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"waymark/hub"
	"waymark/hub/ingest"
	"waymark/hub/store"
	"waymark/internal/metricset"
)

// Buckets. A delta takes a millisecond; a full push of 4 MiB on a busy database takes
// seconds. A message has at most 4 MiB.
var (
	seconds = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}
	sizes   = metrics.ExponentialBuckets(256, 4, 8) // up to 4 MiB
)

// Options configure a Metrics. The zero value works.
type Options struct {
	// Version is the program's version, for waymark_hub_build_info.
	Version string
}

// Metrics counts what a hub does. Make one with New.
type Metrics struct {
	set *metricset.Set

	pushes, requests       *metricset.Vec[*metrics.Counter]
	pushSeconds, pushBytes *metricset.Vec[*metrics.PrometheusHistogram]
	requestSeconds         *metrics.PrometheusHistogram
}

// New makes a Metrics.
func New(opts Options) *Metrics {
	set := metricset.New("waymark_hub")
	build := set.Gauges("build_info", "What the hub was built from; always 1.", "version", "go_version")
	build.With(strings.ToValidUTF8(opts.Version, "?"), runtime.Version()).Set(1)
	return &Metrics{
		set:            set,
		pushes:         set.Counters("pushes_total", "Calls for a push, by protocol, form (full, delta) and how they ended.", "protocol", "form", "result"),
		pushSeconds:    set.Histograms("push_duration_seconds", "From the last byte of a push to its answer, for those that were accepted.", seconds, "form"),
		pushBytes:      set.Histograms("push_bytes", "Lengths of the messages of accepted pushes.", sizes, "form"),
		requests:       set.Counters("http_requests_total", "Answers to HTTP requests, by what was asked and status code.", "route", "code"),
		requestSeconds: set.Histograms("api_duration_seconds", "How long the answers to readers took, but for streams of events and requests that wait for news.", seconds).With(),
	}
}

// Push counts a push; it is for hub.Options.Observe.
func (m *Metrics) Push(o ingest.PushObserved) {
	form := "full"
	if o.Delta {
		form = "delta"
	}
	m.pushes.With(string(o.Protocol), form, string(o.Result)).Inc()
	if o.Result == ingest.PushAccepted {
		m.pushSeconds.With(form).Update(o.Duration.Seconds())
		m.pushBytes.With(form).Update(float64(o.Bytes))
	}
}

// Request counts an answer; it is for hub.ListenOptions.ObserveRequest.
func (m *Metrics) Request(o hub.RequestObserved) {
	m.requests.With(o.Route, strconv.Itoa(o.Code)).Inc()
	if o.Route == "api" && !o.Waited {
		m.requestSeconds.Update(o.Duration.Seconds())
	}
}

// Handler serves the metrics.
func (m *Metrics) Handler() http.Handler { return m.set.Handler() }

// Source is what Watch queries; a *hub.Server is one.
type Source interface {
	Stats() hub.Stats
	Ready(ctx context.Context) error
	CertificateExpires() time.Time
	Fleet(ctx context.Context) (store.AgentCounts, error)
}

// Watch adds metrics that are queried at each scrape. Call it once.
func (m *Metrics) Watch(s Source) {
	for _, g := range []struct {
		name, help string
		value      func() float64
	}{
		{"agent_connections", "Connections of agents.", func() float64 { return float64(s.Stats().Connections) }},
		{"agent_connections_max", "How many of them this hub takes.", func() float64 { return float64(s.Stats().MaxConnections) }},
		{"agents_connected", "Agents that have a connection to this hub.", func() float64 { return float64(s.Stats().Agents) }},
		{"reverse_channels", "Reverse channels that are open: one for each agent that takes approvals.", func() float64 { return float64(s.Stats().Channels) }},
		{"agents_not_heard", "Agents that are told that another one with their token has taken over.", func() float64 { return float64(s.Stats().NotHeard) }},
		{"large_messages", "Messages over 64 KiB that are being received or stored.", func() float64 { return float64(s.Stats().Large) }},
		{"event_streams", "Streams of events and requests that wait for news.", func() float64 { return float64(s.Stats().Streams) }},
		{"ready", "1 when the hub can take agents: its store can write, it isn't full, and it isn't about to stop.", func() float64 { return truth(s.Ready(context.Background()) == nil) }},
		{"events_behind_seconds", "How long events have been visible to readers without being settled, because of a long transaction.", func() float64 { return s.Stats().Behind.Seconds() }},
		{"clock_off_seconds", "How far the database's clock is ahead of this machine's.", func() float64 { return s.Stats().ClockOff.Seconds() }},
		{"draining", "1 when the hub is about to stop.", func() float64 { return truth(s.Stats().Draining) }},
		{"tls_certificate_expiry_timestamp_seconds", "When the TLS certificate in force expires; 0 without TLS.", func() float64 { return stamp(s.CertificateExpires()) }},
	} {
		m.set.Func(g.name, g.help, g.value)
	}
	m.watchFleet(s)
}

// watchFleet adds metrics about all agents in the store. They are NaN while the store
// doesn't answer.
func (m *Metrics) watchFleet(s Source) {
	add := func(name, help, label, value string, of func(*store.AgentCounts) int) {
		m.set.Func(name, help, func() float64 {
			fleet, err := s.Fleet(context.Background())
			if err != nil {
				return math.NaN()
			}
			return float64(of(&fleet))
		}, label, value)
	}
	for state, of := range map[store.AgentState]func(*store.AgentCounts) int{
		store.AgentConnected:      func(f *store.AgentCounts) int { return f.Connected },
		store.AgentAway:           func(f *store.AgentCounts) int { return f.Agents - f.NeverSeen - f.Connected },
		store.AgentNeverConnected: func(f *store.AgentCounts) int { return f.NeverSeen },
	} {
		add("agents", "Agents that the store knows, by state.", "state", string(state), of)
	}
	for _, code := range store.Attentions() {
		add("agents_needing_attention", "Agents that somebody should look at, by reason.", "code", string(code), func(f *store.AgentCounts) int { return f.Attention[code] })
	}
}

func truth(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

func stamp(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.Unix())
}
