package metrics_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"

	hostmetrics "waymark/host/metrics"
	"waymark/hub"
	"waymark/hub/ingest"
	"waymark/hub/metrics"
	"waymark/hub/store"
	"waymark/wire"
)

// still is a hub in which nothing happens.
type still struct{}

func (still) Stats() hub.Stats                                 { return hub.Stats{} }
func (still) Ready(context.Context) error                      { return nil }
func (still) CertificateExpires() time.Time                    { return time.Time{} }
func (still) Fleet(context.Context) (store.AgentCounts, error) { return store.AgentCounts{}, nil }

// TestRules: what the rules for alerts name is what hubs and agents say, down to the
// values of labels.
func TestRules(t *testing.T) {
	t.Parallel()
	m := metrics.New(metrics.Options{})
	m.Watch(still{})
	for _, result := range []ingest.PushResult{ingest.PushAccepted, ingest.PushNotAccepted, ingest.PushFullNeeded, ingest.PushContinues, ingest.PushRefused, ingest.PushUnauthorized, ingest.PushBusy, ingest.PushTooLarge, ingest.PushCanceled, ingest.PushFailed} {
		m.Push(ingest.PushObserved{Result: result, Protocol: wire.ProtocolWaymark})
	}
	var said strings.Builder
	for _, handler := range []http.Handler{m.Handler(), hostmetrics.New(hostmetrics.Options{}).Handler()} {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
		said.WriteString(w.Body.String())
	}
	data, err := os.ReadFile("../../packaging/prometheus-rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Alert, Expr, For    string
				Labels, Annotations map[string]string
			}
		}
	}
	if err := yaml.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	metric := regexp.MustCompile(`\b(waymark_[a-z_]+)(?:\{([^}]*)\})?`)
	label := regexp.MustCompile(`([a-z_]+)=~?"([^"]*)"`)
	seen := 0
	for _, group := range file.Groups {
		for _, rule := range group.Rules {
			if rule.Alert == "" || rule.Annotations["summary"] == "" || rule.Labels["severity"] == "" {
				t.Errorf("%s: %+v", group.Name, rule)
			}
			found := metric.FindAllStringSubmatch(rule.Expr, -1)
			if len(found) == 0 {
				t.Errorf("%s looks at nothing", rule.Alert)
			}
			for _, use := range found {
				seen++
				if !regexp.MustCompile(`(?m)^` + use[1] + `[ {]`).MatchString(said.String()) {
					t.Errorf("%s: nobody says %s", rule.Alert, use[1])
				}
				for _, l := range label.FindAllStringSubmatch(use[2], -1) {
					for value := range strings.SplitSeq(l[2], "|") {
						if !regexp.MustCompile(`(?m)^` + use[1] + `\{(.*,)?` + l[1] + `="` + value + `"`).MatchString(said.String()) {
							t.Errorf("%s: nobody says %s{%s=%q}", rule.Alert, use[1], l[1], value)
						}
					}
				}
			}
		}
	}
	if seen < 10 {
		t.Errorf("%d metrics found in the rules", seen)
	}
}
