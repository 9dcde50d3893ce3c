package metrics_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"waymark/host/push"
	"waymark/hub"
	"waymark/hub/ingest"
	"waymark/hub/metrics"
	"waymark/hub/store"
	"waymark/snapshot"
)

// TestMetrics has a real hub be pushed to and asked, and looks at what its
// port for machines says.
func TestMetrics(t *testing.T) {
	m := metrics.New(metrics.Options{Version: "v1\xff"})
	server, err := hub.Listen(t.Context(), hub.ListenOptions{
		DB: "sqlite:" + filepath.Join(t.TempDir(), "hub.db"), HTTP: "127.0.0.1:0", Monitor: "127.0.0.1:0",
		Metrics: m.Handler(), Observe: m.Push, ObserveRequest: m.Request,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	m.Watch(server)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Run(ctx) }()

	const agentID = "agent-with-a-name"
	token, _, err := hub.CreateToken(t.Context(), server.Store(), store.NewToken{Role: store.RoleAgent, AgentID: agentID})
	if err != nil {
		t.Fatal(err)
	}
	opts, err := push.Remote(server.HTTPURL(), push.RemoteOptions{Token: token})
	if err != nil {
		t.Fatal(err)
	}
	opts.Reverse.SetApprovals = func(context.Context, [][]byte) error { return nil }
	opts.CallTimeout, opts.DialTimeout = time.Hour, time.Hour // each push comes once, also on a slow machine
	pusher := push.New(opts)
	pushed := make(chan error, 1)
	go func() { pushed <- pusher.Run(ctx) }()
	for version := uint64(1); version <= 3; version++ {
		s := &snapshot.Snapshot{Version: version, SnapshotError: strings.Repeat("x", int(version)), Resources: snapshot.Resources{
			{Kind: "skill", Source: "/w/secret-name", Status: snapshot.StatusOK, Payload: []byte("payload")},
		}}
		pusher.Publish(s)
		if err := pusher.Accepted(t.Context(), version); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"/api/v0/agents", "/api/v0/agents/" + agentID + "/context", "/healthz", "/readyz", "/api/v0/events"} {
		get(t, server.HTTPURL()+path)
	}
	want := []string{
		`waymark_hub_pushes_total{form="full",protocol="waymark.v1",result="accepted"} 1`,
		`waymark_hub_pushes_total{form="delta",protocol="waymark.v1",result="accepted"} 2`,
		`waymark_hub_push_duration_seconds_count{form="delta"} 2`,
		`waymark_hub_push_bytes_count{form="full"} 1`,
		`waymark_hub_http_requests_total{code="401",route="api"} 2`,
		`waymark_hub_http_requests_total{code="401",route="events"} 1`,
		`waymark_hub_http_requests_total{code="200",route="probe"} 2`,
		`waymark_hub_api_duration_seconds_count 2`,
		`waymark_hub_agent_connections 1`, `waymark_hub_agents_connected 1`, `waymark_hub_reverse_channels 1`, `waymark_hub_event_streams 0`, `waymark_hub_large_messages 0`,
		`waymark_hub_agents{state="away"} 0`, `waymark_hub_agents_needing_attention{code="failing_plugins"} 0`, `waymark_hub_agents_needing_attention{code="waiting_servers"} 0`,
		`waymark_hub_ready 1`, `waymark_hub_draining 0`, `waymark_hub_tls_certificate_expiry_timestamp_seconds 0`,
	}
	// Counted is after the answer: it may take a moment.
	text, missing := "", want
	for deadline := time.Now().Add(5 * time.Minute); len(missing) > 0 && time.Now().Before(deadline); {
		text, missing = get(t, server.MonitorURL()+"/metrics"), nil
		for _, line := range want {
			if !strings.Contains(text, line+"\n") {
				missing = append(missing, line)
			}
		}
	}
	if len(missing) > 0 {
		t.Errorf("missing:\n%s", strings.Join(missing, "\n"))
	}
	if !regexp.MustCompile(`waymark_hub_build_info\{go_version="go1[^"]*",version="v1\?"\} 1`).MatchString(text) {
		t.Error("no build info")
	}
	for _, secret := range []string{agentID, token, "secret-name", "payload"} {
		if strings.Contains(text, secret) {
			t.Errorf("%q is in the metrics", secret)
		}
	}
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	if err != nil {
		t.Error(err)
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, "waymark_") {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
	cancel()
	if err := <-pushed; err != nil {
		t.Error(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func get(t *testing.T, url string) string {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestDocumented: docs/hub.md has every metric of ours, and no others.
func TestDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/hub.md")
	if err != nil {
		t.Fatal(err)
	}
	m := metrics.New(metrics.Options{})
	m.Push(ingest.PushObserved{Result: ingest.PushAccepted, Protocol: "waymark.v1"})
	m.Request(hub.RequestObserved{Route: "api", Code: 200})
	server, err := hub.Listen(t.Context(), hub.ListenOptions{DB: "sqlite:" + filepath.Join(t.TempDir(), "hub.db"), HTTP: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	m.Watch(server)
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	there := map[string]bool{}
	for _, family := range regexp.MustCompile(`(?m)^# TYPE (waymark_\w+) `).FindAllStringSubmatch(w.Body.String(), -1) {
		name := family[1]
		there[name] = true
		if !strings.Contains(string(page), "`"+name+"`") && !strings.Contains(string(page), "`"+name+"{") {
			t.Errorf("%s isn't in docs/hub.md", name)
		}
	}
	for _, name := range regexp.MustCompile("waymark_hub_[a-z_]+").FindAllString(string(page), -1) {
		if !there[name] {
			t.Errorf("docs/hub.md tells of %s, which there isn't", name)
		}
	}
}
