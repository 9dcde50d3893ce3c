package metrics

import "github.com/prometheus/client_golang/prometheus"

// Gatherer returns what the handler serves.
func (m *Metrics) Gatherer() prometheus.Gatherer { return m.registry }
