package server_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"waymark/hub/server"
)

// FuzzRequest asks for anything in any way. Whatever that is, the answer is
// one that the document knows, and an error has the form of one.
func FuzzRequest(f *testing.F) {
	for _, seed := range [][4]string{
		{"GET", "/api/v0/agents", "", ""}, {"GET", "/api/v0/agents/a/context", "revision=1&format=markdown", ""},
		{"GET", "/api/v0/agents/a/context", "wait=1ns&after=9223372036854775807", ""},
		{"GET", "/api/v0/agents/a/context/resources/instruction_file:%2Fw%2FAGENTS.md", "revision=%31", ""},
		{"GET", "/api/v0/agents/%00/diff", "from=1&to=-1", ""}, {"GET", "/api/v0/agents/../../x", ";", ""}, {"GET", "/api/v0//pins//", "agent_id=%ff", ""},
		{"GET", "/api/v0/events", "after=99999999999999999999", "1"}, {"GET", "/api/v0/events", "agent_id=a&pin_id=%00", "-1"},
		{"GET", "/api/v0/events", "", "0x1"}, {"POST", "/api/v0/pins", "", "\n"}, {"DELETE", "/api/v0/pins/%2e%2e", "", ""},
		{"HEAD", "/api/v0/events", "after=+1", " 1"}, {"POST", "/api/v0/pins/a%2Fb/refresh", "", "é"}, {"GET", "/api/v0/agents/a/history", "limit=1e3", ""},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3])
	}
	fix := newFixture(f, server.Limits{Heartbeat: time.Millisecond, MaxWait: time.Millisecond})
	fix.push("a", text("/w/AGENTS.md", "x"))
	f.Fuzz(func(t *testing.T, method, path, query, last string) {
		target, err := url.Parse(path)
		if err != nil || !strings.HasPrefix(path, "/") {
			return
		}
		// A stream ends at once: its client is gone.
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, method, "http://localhost/", nil)
		if err != nil {
			return
		}
		r.URL.Path, r.URL.RawPath, r.URL.RawQuery = target.Path, target.RawPath, query
		r.Header.Set("Authorization", "Bearer "+fix.reader)
		r.Header["Last-Event-Id"] = []string{last}
		recorder := httptest.NewRecorder()
		fix.api.ServeHTTP(recorder, r)
		switch recorder.Code {
		case 200, 204, 304:
			return
		case 400, 404, 405, 413, 415, 429:
		default:
			if ctx.Err() == nil {
				t.Errorf("%s %q?%q: %d %s", method, path, query, recorder.Code, recorder.Body)
			}
			return
		}
		var e struct{ Message, Detail *string }
		if err := json.Unmarshal(recorder.Body.Bytes(), &e); err != nil || e.Message == nil || e.Detail == nil {
			t.Errorf("%s %q?%q: %d %s", method, path, query, recorder.Code, recorder.Body)
		}
	})
}
