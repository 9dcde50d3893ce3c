// Package metricset keeps the metrics of a program and serves them for Prometheus, in its
// text format, with those of the Go runtime and the process.
//
// It is a thin layer above github.com/VictoriaMetrics/metrics, which costs the start of a
// process a fraction of what Prometheus's own client does: families with named labels and
// a text for people, which that library doesn't have.
//
// # Guarantees
//
// A Set shares nothing with other sets. The names of labels are in the order of the alphabet,
// as Prometheus's client has them.
//
// # Concurrency
//
// All methods of a Vec and the handler may be called from any goroutine, as may those of the
// metrics. Families are made one after the other, before the handler serves.
//
// # Limits
//
// Values of labels are the caller's to bound: each combination is a series for good.
package metricset

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/VictoriaMetrics/metrics"
)

// Set is the metrics of a program. Make one with New.
type Set struct {
	set       *metrics.Set
	namespace string
	help      map[string]string // by the family's name
}

// New returns a set whose names begin with namespace and an underscore.
func New(namespace string) *Set {
	metrics.ExposeMetadata(true)
	return &Set{set: metrics.NewSet(), namespace: namespace, help: map[string]string{}}
}

// Vec is a family of metrics, which differ by the values of their labels.
type Vec[M any] struct {
	name   string
	labels []string
	order  []int // of the labels, by name
	metric func(series string) M
}

// With returns the metric with the values of the labels, in the order in which the labels
// were named. It panics if there are more or fewer.
func (v *Vec[M]) With(values ...string) M {
	if len(values) != len(v.labels) {
		panic(fmt.Sprintf("metricset: %s has the labels %q: got %d values", v.name, v.labels, len(values)))
	}
	if len(values) == 0 {
		return v.metric(v.name)
	}
	pairs := make([]string, len(v.order))
	for i, k := range v.order {
		pairs[i] = v.labels[k] + `="` + escape.Replace(values[k]) + `"`
	}
	return v.metric(v.name + "{" + strings.Join(pairs, ",") + "}")
}

// escape makes a value of a label as the format has it.
var escape = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)

func family[M any](s *Set, name, help string, labels []string, metric func(series string) M) *Vec[M] {
	name = s.namespace + "_" + name
	s.help[name] = help
	order := make([]int, len(labels))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(labels[a], labels[b]) })
	return &Vec[M]{name, labels, order, metric}
}

// Counters makes a family of counters.
func (s *Set) Counters(name, help string, labels ...string) *Vec[*metrics.Counter] {
	return family(s, name, help, labels, s.set.GetOrCreateCounter)
}

// FloatCounters makes a family of counters of seconds and the like.
func (s *Set) FloatCounters(name, help string, labels ...string) *Vec[*metrics.FloatCounter] {
	return family(s, name, help, labels, s.set.GetOrCreateFloatCounter)
}

// Gauges makes a family of gauges.
func (s *Set) Gauges(name, help string, labels ...string) *Vec[*metrics.Gauge] {
	return family(s, name, help, labels, func(series string) *metrics.Gauge { return s.set.GetOrCreateGauge(series, nil) })
}

// Func adds a gauge that is asked at each scrape; labels are names and values in turn.
func (s *Set) Func(name, help string, value func() float64, labels ...string) {
	var names, values []string
	for pair := range slices.Chunk(labels, 2) {
		names, values = append(names, pair[0]), append(values, pair[1])
	}
	family(s, name, help, names, func(series string) *metrics.Gauge { return s.set.NewGauge(series, value) }).With(values...)
}

// Histograms makes a family of histograms with the upper bounds of their buckets.
func (s *Set) Histograms(name, help string, buckets []float64, labels ...string) *Vec[*metrics.PrometheusHistogram] {
	return family(s, name, help, labels, func(series string) *metrics.PrometheusHistogram {
		return s.set.GetOrCreatePrometheusHistogramExt(series, buckets)
	})
}

// maxScrapes is how many scrapes are answered at a time.
const maxScrapes = 4

// Handler answers scrapes.
func (s *Set) Handler() http.Handler {
	slots := make(chan struct{}, maxScrapes)
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
		default:
			http.Error(w, "too many scrapes at a time", http.StatusServiceUnavailable)
			return
		}
		var all, out bytes.Buffer
		s.set.WritePrometheus(&all)
		metrics.WriteProcessMetrics(&all)
		metrics.WriteFDMetrics(&all)
		for line := range bytes.Lines(all.Bytes()) {
			if name, ok := bytes.CutPrefix(line, []byte("# HELP ")); ok { // the library has no texts
				name = bytes.TrimSpace(name)
				line = fmt.Appendf(nil, "# HELP %s %s\n", name, s.help[string(name)])
			}
			out.Write(line)
		}
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_, _ = out.WriteTo(w)
	})
}
