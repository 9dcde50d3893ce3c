package server_test

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"waymark/hub/api"
	"waymark/hub/server"
	"waymark/hub/store"
)

// TestShare: a token that asks for more than its share is refused, and another one isn't.
func TestShare(t *testing.T) {
	f := newFixture(t, server.Limits{ListRate: 0.001, ListBurst: 3})
	other := f.token(store.RoleReader, "")
	for range 3 {
		f.want(200, "GET", "/api/v0/agents", "")
	}
	for _, path := range []string{"/api/v0/agents", "/api/v0/search?q=xyz"} {
		f.want(429, "GET", path, "")
		f.want(200, "GET", path, "", "Authorization", "Bearer "+other)
	}
	f.want(200, "GET", "/api/v0/pins", "")
}

// TestListEncoding: a list is sent once, and small to those who accept that.
func TestListEncoding(t *testing.T) {
	f := newFixture(t, server.Limits{})
	for i := range 40 {
		f.token(store.RoleAgent, strings.Repeat("a", i+1))
	}
	plain := f.want(200, "GET", "/api/v0/agents", "", "Accept-Encoding", "gzip;q=0, br")
	resp, err := f.transport.RoundTrip(f.request("GET", "/api/v0/agents", "", "Accept-Encoding", "br, gzip"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	small, err := gzip.NewReader(resp.Body)
	if err != nil || resp.Header.Get("Content-Encoding") != "gzip" || resp.Header.Get("Vary") == "" {
		t.Fatal(err, resp.Header)
	}
	got, err := io.ReadAll(small)
	var list []api.Agent
	if err != nil || string(got) != plain || json.Unmarshal(got, &list) != nil || len(list) != 40 {
		t.Errorf("compressed is another list: %v", err)
	}
	tag := resp.Header.Get("ETag")
	f.want(http.StatusNotModified, "GET", "/api/v0/agents", "", "If-None-Match", tag)
	f.token(store.RoleAgent, "b")
	f.want(200, "GET", "/api/v0/agents", "", "If-None-Match", tag)
}
