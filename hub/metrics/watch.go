package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Watch adds what is asked of the hub at each scrape. Call it once.
func (m *Metrics) Watch(s Source) {
	for _, g := range []struct {
		name, help string
		value      func() float64
	}{
		{"agent_connections", "Connections of agents.", func() float64 { return float64(s.Stats().Connections) }},
		{"agents_connected", "Agents that have a connection to this hub.", func() float64 { return float64(s.Stats().Agents) }},
		{"large_messages", "Messages over 64 KiB that are being received or stored.", func() float64 { return float64(s.Stats().Large) }},
		{"event_streams", "Streams of events and requests that wait for news.", func() float64 { return float64(s.Stats().Streams) }},
		{"ready", "1 when the store answers and the hub isn't about to stop.", func() float64 { return truth(s.Ready(context.Background()) == nil) }},
		{"draining", "1 when the hub is about to stop.", func() float64 { return truth(s.Stats().Draining) }},
		{"tls_certificate_expiry_timestamp_seconds", "When the TLS certificate in force expires; 0 without TLS.", func() float64 { return stamp(s.CertificateExpires()) }},
	} {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: namespace, Name: g.name, Help: g.help}, g.value))
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
