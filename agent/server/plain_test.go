package server_test

import (
	"encoding/json"
	"net/url"
	"testing"

	"waymark/agent/server"
	"waymark/agent/server/servertest"
	"waymark/test/goisms"
)

// TestPlainErrors: whatever a body or a query holds, the error is for people:
// commands print its text. Requests that help have a place of their own in it.
func TestPlainErrors(t *testing.T) {
	check := func(method, target, content string) {
		t.Helper()
		r := request(method, target, content, "Content-Type", "application/json")
		text := body(t, serve(server.New(server.Options{Backend: servertest.New()}), r))
		var e server.Error
		if json.Unmarshal([]byte(text), &e) != nil || e.Message == "" || e.Message == "no such route" {
			return // it went well, or no command asks that
		}
		for _, find := range []func(string) string{goisms.Find, goisms.FindRequest} {
			if found := find(e.Error()); found != "" {
				t.Errorf("%s %s with %.60q says %q: %s", method, target, content, found, text)
			}
		}
	}
	for _, body := range goisms.Bodies("path", "persist", "name", "digest") {
		check("POST", sourcesPath, body)
		check("PUT", "/api/v0/context/root", body)
		check("POST", "/api/v0/plugins/approve", body)
		check("POST", "/api/v0/plugins/retry", body)
		check("POST", "/api/v0/context/ready", body)
		check("POST", resyncPath, body)
	}
	for _, value := range goisms.Values() {
		for _, target := range []string{
			"/api/v0/context/snapshot?wait=" + value, "/api/v0/context/snapshot?wait=1ms&after=" + value, resyncPath + "?timeout=" + value,
			whyPath + "?path=" + value, "/api/v0/context/resources/" + value, sourcesPath + "/" + value, "/" + value,
		} {
			if _, err := url.ParseRequestURI(target); err != nil {
				continue // nobody can ask that
			}
			for _, method := range []string{"GET", "POST", "DELETE", "PATCH"} {
				check(method, target, "")
			}
		}
	}
}
