package metrics

import (
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

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

// valid makes a label value of what isn't chosen by others: the client library
// panics at what isn't UTF-8.
func valid(s string) string { return strings.ToValidUTF8(s, "?") }

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
