package server_test

import (
	"encoding/json"
	"io"
	"testing"

	"waymark/hub/server"
	"waymark/internal/httpapi/problem"
	"waymark/test/goisms"
)

// TestPlainErrors: whatever a body or a query holds, the error is for people:
// commands print its text.
func TestPlainErrors(t *testing.T) {
	f := newFixture(t, server.Limits{})
	f.push("a", text("/w/x", "1"))
	pinned := f.pin("a")
	check := func(method, target, content string) {
		t.Helper()
		resp := f.do(method, target, content)
		defer func() { _ = resp.Body.Close() }()
		if resp.StatusCode < 400 {
			return
		}
		answer, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		var e problem.Error
		_ = json.Unmarshal(answer, &e)
		for _, find := range []func(string) string{goisms.Find, goisms.FindRequest} {
			if found := find(e.Error()); found != "" {
				t.Errorf("%s %s with %.60q says %q: %s", method, target, content, found, answer)
			}
		}
	}
	for _, content := range goisms.Bodies("agent_id", "name") {
		check("POST", "/api/v0/pins", content)
		check("POST", "/api/v0/pins/"+pinned.ID+"/refresh", content)
	}
	for _, value := range goisms.Values() {
		for _, target := range []string{
			"/api/v0/agents/a/context?revision=" + value, "/api/v0/agents/a/context?after=" + value + "&wait=1ms", "/api/v0/agents/a/context?format=" + value,
			"/api/v0/agents/a/history?limit=" + value, "/api/v0/agents/a/diff?from=" + value, "/api/v0/pins?agent_id=" + value + "&x=" + value,
		} {
			check("GET", target, "")
		}
	}
}
