package metrics

import "github.com/prometheus/client_golang/prometheus"

// Gatherer gives the metrics to tests, which don't go through HTTP.
func (m *Metrics) Gatherer() prometheus.Gatherer { return m.registry }
