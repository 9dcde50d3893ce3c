package hub_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"waymark/hub"
	"waymark/hub/store"
	"waymark/test/pushtest"
	"waymark/wire/waymark"
)

func checkHeaders(t testing.TB, name string, response *http.Response) {
	t.Helper()
	header := response.Header
	if header.Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(header.Get("Content-Security-Policy"), "default-src 'none'") ||
		header.Get("Cache-Control") != "no-store" || header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("%s: headers are %v", name, header)
	}
}

func checkError(t testing.TB, name string, response *http.Response) {
	t.Helper()
	var e struct{ Message, Detail *string }
	if err := json.NewDecoder(response.Body).Decode(&e); err != nil || e.Message == nil || e.Detail == nil || *e.Message == "" {
		t.Errorf("%s: error is not {message, detail}: %v", name, err)
	}
}

func TestAPIContent(t *testing.T) {
	t.Parallel()
	f := newFixture(t, hub.Options{})
	reader := f.token(store.RoleReader, "")
	f.token(store.RoleAgent, "silent")
	p := f.dial(f.token(store.RoleAgent, "a"))
	list := file("/w/AGENTS.md", "<script>alert(1)</script>")
	list.Attributes = map[string]*waymark.Attribute{"mode": {Value: &waymark.Attribute_Text{Text: "always"}}}
	empty := file("/w/a b/?#%", "")
	gone := &pushtest.Resource{Kind: "mcp_config", Source: "/w/.mcp.json", Status: waymark.Status_STATUS_OK}
	p.mustPush(&pushtest.Push{
		Version: 3, AggregateHash: []byte{0xab}, Resources: []*pushtest.Resource{list, gone, empty},
		Plugins: []*waymark.Plugin{{Name: "waymark", State: "ready"}},
	}, true)

	agents := decode(t, f.do("GET", "/api/v0/agents", reader, ""))
	updated := agents.([]any)[0].(map[string]any)["updated_at"].(string)
	fresh := func(more map[string]any) map[string]any {
		row := map[string]any{
			"name": "", "not_heard": 0.0, "hostname": "", "root": "", "agent_version": "", "labels": map[string]any{},
			"away_since": nil, "failing_plugins": 0.0, "drifted_pins": 0.0,
			"invalid_resources": 0.0, "failing_servers": 0.0, "waiting_servers": 0.0, "attention": []any{},
		}
		maps.Copy(row, more)
		return row
	}
	want := []any{
		fresh(map[string]any{"id": "a", "connected": true, "state": "connected", "version": 3.0, "aggregate_hash": "ab", "resources": 3.0, "revision": 1.0, "updated_at": updated, "last_push_at": updated, "discovery": map[string]any{"phase": "complete", "outcomes": map[string]any{}}}),
		fresh(map[string]any{"id": "silent", "connected": false, "state": "never_connected", "version": 0.0, "aggregate_hash": "", "resources": 0.0, "revision": 0.0, "updated_at": nil, "last_push_at": nil, "discovery": map[string]any{"phase": "pending", "outcomes": map[string]any{}}}),
	}
	if d := cmp.Diff(any(want), agents); d != "" {
		t.Errorf("agents (-want +got):\n%s", d)
	}

	// The agent's snapshot JSON and three fields more.
	stored := f.snapshot("a")
	data, err := json.Marshal(stored.Snapshot)
	if err != nil {
		t.Fatal(err)
	}
	var whole map[string]any
	if err := json.Unmarshal(data, &whole); err != nil {
		t.Fatal(err)
	}
	whole["received_at"], whole["revision"], whole["agent_id"] = updated, float64(stored.Revision), "a"
	got := decode(t, f.do("GET", "/api/v0/agents/a/context", reader, ""))
	if d := cmp.Diff(any(whole), got); d != "" {
		t.Errorf("context (-want +got):\n%s", d)
	}
	if strings.Contains(fmt.Sprint(got), "alert") {
		t.Error("a payload is in the context")
	}

	for id, want := range map[string]string{"instruction_file:/w/AGENTS.md": "<script>alert(1)</script>", "instruction_file:/w/a b/?#%": ""} {
		response := f.do("GET", "/api/v0/agents/a/context/resources/"+url.PathEscape(id), reader, "")
		if got := body(t, response); got != want || response.StatusCode != 200 || response.Header.Get("Content-Type") != "text/plain; charset=utf-8" {
			t.Errorf("%s: %v %q %v", id, response.Status, got, response.Header)
		}
		checkHeaders(t, id, response)
	}
	if response := f.do("GET", "/api/v0/agents/a/context/resources/mcp_config:%2Fw%2F.mcp.json", reader, ""); response.StatusCode != 404 {
		t.Errorf("mcp_config: %v", response.Status)
	}
	if response := f.do("GET", "/api/v0/agents/silent/context", reader, ""); response.StatusCode != 404 || !strings.Contains(body(t, response), "has not pushed yet") {
		t.Errorf("silent: %v", response.Status)
	}
}
