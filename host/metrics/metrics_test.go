package metrics_test

import (
	"fmt"
	"io"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"waymark/host/metrics"
	"waymark/snapshot"
)

// busy is a Metrics that has been told everything once.
func busy() *metrics.Metrics {
	m := metrics.New(metrics.Options{Version: "v1.2.3", Revision: "abc"})
	m.Refresh(metrics.RefreshInfo{
		Duration: 3 * time.Millisecond, Published: true, Snapshot: newest(3),
		Resolves: []metrics.ResolveInfo{
			{Resolver: "waymark/skills", Result: metrics.ResultReused},
			{Resolver: "waymark/skills", Result: metrics.ResultReused},
			{Resolver: "waymark/instructions", Result: metrics.ResultRun, Reason: metrics.ReasonFirst, Duration: 250 * time.Millisecond},
			{Resolver: "waymark/instructions", Result: metrics.ResultRun, Reason: metrics.ReasonChanged, Duration: 250 * time.Millisecond},
			{Resolver: "acme/rules", Result: metrics.ResultFailed, Reason: metrics.ReasonChanged, Kill: "deadline", Duration: 2 * time.Second},
			{Resolver: "acme/rules", Result: metrics.ResultQuarantined},
		},
	})
	m.Push(metrics.PushInfo{Result: "accepted", Duration: 4 * time.Millisecond, Bytes: 1000})
	m.Push(metrics.PushInfo{Result: "accepted", Duration: 2 * time.Millisecond, Bytes: 30, Delta: true})
	m.Push(metrics.PushInfo{Result: "lost", Duration: time.Second})
	m.PushState("connecting")
	m.PushState("connected")
	m.Batch("watches added")
	m.Batch("events")
	m.Watch(metrics.WatchInfo{Mode: "degraded", Directories: 2})
	m.Watch(metrics.WatchInfo{Mode: "notify", Directories: 14})
	return m
}

func newest(version uint64, statuses ...snapshot.Status) *snapshot.Snapshot {
	if statuses == nil {
		statuses = []snapshot.Status{snapshot.StatusOK, snapshot.StatusOK, snapshot.StatusOversize}
	}
	s := &snapshot.Snapshot{
		Version: version, PayloadBytes: 512,
		Plugins: snapshot.Plugins{{Name: "waymark", State: snapshot.PluginReady}, {Name: "acme", State: snapshot.PluginFailing}},
		Discovery: snapshot.Discovery{Phase: snapshot.PhasePending, Sources: snapshot.SourceOutcomes{
			{ID: "mcp_server:/secret#a", Name: "secret", Outcome: snapshot.OutcomePending}, {ID: "mcp_server:/secret#b", Outcome: snapshot.OutcomeConnected},
			{ID: "mcp_server:/secret#c", Outcome: snapshot.OutcomeConnected}, {ID: "mcp_server:/secret#d", Outcome: "secret"},
			{ID: "other:/secret", Outcome: snapshot.OutcomeConnected},
		}},
	}
	for i, status := range statuses {
		s.Resources = append(s.Resources, snapshot.Resource{Kind: "skill", Source: fmt.Sprintf("/secret/%d", i), Name: "secret", Status: status})
	}
	return s
}

const wanted = `
waymark_discovery_pending 1
waymark_mcp_servers{outcome="cached"} 0
waymark_mcp_servers{outcome="connected"} 2
waymark_mcp_servers{outcome="failed"} 0
waymark_mcp_servers{outcome="listed"} 0
waymark_mcp_servers{outcome="needs_approval"} 0
waymark_mcp_servers{outcome="needs_authorization"} 0
waymark_mcp_servers{outcome="other"} 1
waymark_mcp_servers{outcome="pending"} 1
waymark_mcp_servers{outcome="switched_off"} 0
waymark_plugins{state="compiling"} 0
waymark_plugins{state="failing"} 1
waymark_plugins{state="needs_approval"} 0
waymark_plugins{state="quarantined"} 0
waymark_plugins{state="ready"} 1
waymark_plugins{state="rejected"} 0
waymark_push_bytes_total{form="delta"} 30
waymark_push_bytes_total{form="full"} 1000
waymark_push_duration_seconds_count 3
waymark_push_state{state="connected"} 1
waymark_push_state{state="connecting"} 0
waymark_pushes_total{result="accepted"} 2
waymark_pushes_total{result="lost"} 1
waymark_refresh_duration_seconds_count 1
waymark_refreshes_total{published="true"} 1
waymark_resolver_kills_total{reason="deadline",resolver="acme/rules"} 1
waymark_resolver_run_seconds_total{resolver="acme/rules"} 2
waymark_resolver_run_seconds_total{resolver="waymark/instructions"} 0.5
waymark_resolver_runs_total{reason="changed",resolver="acme/rules"} 1
waymark_resolver_runs_total{reason="changed",resolver="waymark/instructions"} 1
waymark_resolver_runs_total{reason="first",resolver="waymark/instructions"} 1
waymark_resolves_total{resolver="acme/rules",result="failed"} 1
waymark_resolves_total{resolver="acme/rules",result="quarantined"} 1
waymark_resolves_total{resolver="waymark/instructions",result="run"} 2
waymark_resolves_total{resolver="waymark/skills",result="reused"} 2
waymark_snapshot_error 0
waymark_snapshot_payload_bytes 512
waymark_snapshot_resources{kind="skill",status="ok"} 2
waymark_snapshot_resources{kind="skill",status="oversize"} 1
waymark_snapshot_version 3
waymark_watch_batches_total{reason="events"} 1
waymark_watch_batches_total{reason="watches_added"} 1
waymark_watch_mode{mode="degraded"} 0
waymark_watch_mode{mode="notify"} 1
waymark_watched_directories 14
`

// TestAll: everything that is told shows up, over HTTP.
func TestAll(t *testing.T) {
	got := scrape(t, busy())
	for line := range strings.Lines(strings.TrimSpace(wanted)) {
		if line = strings.TrimSpace(line); !strings.Contains(got, line+"\n") {
			t.Errorf("there is no %s", line)
		}
	}
	for line := range strings.Lines(got) {
		mine := strings.HasPrefix(line, "waymark_") && !strings.HasPrefix(line, "waymark_build_info") &&
			!strings.Contains(line, "_bucket{") && !strings.Contains(line, "_seconds_sum")
		if mine && !strings.Contains(wanted, line) {
			t.Errorf("nobody expects %s", line)
		}
	}
	for _, name := range []string{
		`waymark_build_info{go_version="go1`, `revision="abc",version="v1.2.3"} 1`, "go_goroutines ", "process_resident_memory_bytes ",
	} {
		if !strings.Contains(got, name) {
			t.Errorf("there is no %s", name)
		}
	}
	if strings.Contains(got, "secret") {
		t.Error("a name of a file or a resource is shown")
	}
}

func scrape(t *testing.T, m *metrics.Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	data, err := io.ReadAll(w.Result().Body)
	if err != nil || w.Code != 200 {
		t.Fatal(w.Code, err)
	}
	return string(data)
}

// TestLint holds the names to the rules of Prometheus.
func TestLint(t *testing.T) {
	lint(t, busy())
}

// TestSnapshots: the gauges follow the newest snapshot, also when snapshots
// are told in the wrong order, and what isn't there any more is 0.
func TestSnapshots(t *testing.T) {
	m := busy()
	m.Snapshot(newest(5, snapshot.StatusOK))
	m.Snapshot(newest(4))
	m.Snapshot(nil)
	if got, want := scrape(t, m), `# HELP waymark_snapshot_resources Resources of the newest snapshot.
# TYPE waymark_snapshot_resources gauge
waymark_snapshot_resources{kind="skill",status="ok"} 1
waymark_snapshot_resources{kind="skill",status="oversize"} 0
# HELP waymark_snapshot_version Version of the newest snapshot; 0 when there is none yet.
# TYPE waymark_snapshot_version gauge
waymark_snapshot_version 5
`; !strings.Contains(got, want) {
		t.Errorf("got %s, want %s", got, want)
	}
	broken := newest(6)
	broken.SnapshotError, broken.Plugins = "no inotify", nil
	m.Snapshot(broken)
	if got, want := scrape(t, m), `# HELP waymark_snapshot_error 1 when something is wrong with the newest snapshot as a whole.
# TYPE waymark_snapshot_error gauge
waymark_snapshot_error 1
`; !strings.Contains(got, want) {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := scrape(t, m); !strings.Contains(got, `waymark_plugins{state="ready"} 0`) {
		t.Error("plugins that are gone are still counted")
	}
}

// TestSeriesAreBounded: a module that is given new names all the time doesn't
// fill the agent's memory, nor that of whoever scrapes it.
func TestSeriesAreBounded(t *testing.T) {
	m := metrics.New(metrics.Options{})
	for i := range 3000 {
		word := fmt.Sprintf("word%d", i)
		m.Refresh(metrics.RefreshInfo{
			Resolves: []metrics.ResolveInfo{{Resolver: "m/" + word, Result: "failed", Reason: "first", Kill: "fuel", Duration: 1}},
			Snapshot: &snapshot.Snapshot{
				Resources: snapshot.Resources{{Kind: "skill", Status: snapshot.Status(word)}},
				Plugins:   snapshot.Plugins{{State: snapshot.PluginState(word)}},
			},
		})
		m.Push(metrics.PushInfo{Result: word})
		m.PushState(word)
		m.Batch(word)
		m.Watch(metrics.WatchInfo{Mode: word})
	}
	got := scrape(t, m)
	if n := strings.Count(got, "\nwaymark_"); n > 700 {
		t.Errorf("%d series", n)
	}
	if !strings.Contains(got, `waymark_resolves_total{resolver="other",result="failed"} 2936`) {
		t.Error("what is one too many isn't counted as other")
	}
}

// TestTogether is for the race detector.
func TestTogether(t *testing.T) {
	m := metrics.New(metrics.Options{})
	var g sync.WaitGroup
	for i := range 8 {
		g.Go(func() {
			for j := range 50 {
				m.Refresh(metrics.RefreshInfo{
					Duration: time.Millisecond, Snapshot: newest(uint64(j)),
					Resolves: []metrics.ResolveInfo{{Resolver: fmt.Sprintf("m/%d", i), Result: metrics.ResultReused}},
				})
				m.Push(metrics.PushInfo{Result: "accepted"})
				m.PushState(fmt.Sprintf("s%d", j%3))
				m.Watch(metrics.WatchInfo{Mode: "notify", Directories: j})
			}
		})
	}
	g.Go(func() { scrape(t, m) })
	g.Wait()
	if got := scrape(t, m); !strings.Contains(got, "waymark_pushes_total{result=\"accepted\"} 400\n") || strings.Count(got, `waymark_push_state{state="s`) != 3 ||
		strings.Count(strings.Join(strings.Split(got, "waymark_push_state")[1:], ""), "} 1\n") < 1 {
		t.Error("counts are lost, or there is no state")
	}
}

// FuzzLabels: no word from outside can break the metrics.
func FuzzLabels(f *testing.F) {
	for _, s := range []string{"", "waymark/skills", "a b", "\xff", "x\n} 1\n", strings.Repeat("x", 200), `"`, "é", "other"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, word string) {
		m := metrics.New(metrics.Options{Version: word, Revision: word})
		m.Refresh(metrics.RefreshInfo{Resolves: []metrics.ResolveInfo{{Resolver: word, Result: word, Reason: word, Kill: word}}})
		m.Snapshot(&snapshot.Snapshot{
			Resources: snapshot.Resources{{Kind: "skill", Status: snapshot.Status(word)}}, Plugins: snapshot.Plugins{{State: snapshot.PluginState(word)}},
		})
		m.Push(metrics.PushInfo{Result: word})
		m.PushState(word)
		m.Batch(word)
		m.Watch(metrics.WatchInfo{Mode: word})
		lint(t, m)
	})
}

// lint judges what is ours as Prometheus does.
func lint(t *testing.T, m *metrics.Metrics) {
	t.Helper()
	problems, err := promlint.New(strings.NewReader(scrape(t, m))).Lint()
	if err != nil {
		t.Error(err)
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, "waymark_") {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
}
