package httpapi_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"waymark/internal/httpapi"
)

const (
	first = `{"openapi":"3.1.0","info":{"title":"agent"},"tags":[{"name":"b"},{"name":"a"}],
		"paths":{"/z":{"get":{"operationId":"z"}},"/m":{"get":{"operationId":"get"}}},
		"components":{"schemas":{"Error":{"type":"object"}}}}`
	second = `{"openapi":"3.1.0","info":{"title":"processes"},"servers":[{"url":"http://x"}],"tags":[{"name":"a"},{"name":"c"}],
		"paths":{"/a/{id}/b":{"get":{"operationId":"b"}},"/m":{"put":{"operationId":"put"}}},
		"components":{"schemas":{"Error":{"type": "object"},"Own":{"type":"string"}},"parameters":{"id":{"in":"path"}}}}`
)

// TestMergeDocuments: everything is there, in order, and the first document says
// what the whole is.
func TestMergeDocuments(t *testing.T) {
	got, err := httpapi.MergeDocuments([]byte(first), []byte(second))
	if err != nil {
		t.Fatal(err)
	}
	var compact strings.Builder
	for line := range strings.Lines(string(got)) {
		compact.WriteString(strings.TrimSpace(line))
	}
	const want = `{"openapi": "3.1.0","info": {"title": "agent"},"tags": [{"name": "b"},{"name": "a"},{"name": "c"}],` +
		`"paths": {"/z": {"get": {"operationId": "z"}},"/m": {"get": {"operationId": "get"},"put": {"operationId": "put"}},"/a/{id}/b": {"get": {"operationId": "b"}}},` +
		`"components": {"schemas": {"Error": {"type": "object"},"Own": {"type": "string"}},"parameters": {"id": {"in": "path"}}}}`
	if d := cmp.Diff(want, compact.String()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for name, other := range map[string]string{
		"operation":   `{"paths":{"/z":{"get":{"operationId":"other"}}}}`,
		"half of one": `{"paths":{"/z":{"get":{"summary":"x"}}}}`,
		"schema":      `{"components":{"schemas":{"Error":{"type":"string"}}}}`,
		"kind":        `{"paths":[]}`,
		"tags":        `{"tags":{}}`,
		"no document": `[]`,
		"broken":      `{"paths":`,
	} {
		if got, err := httpapi.MergeDocuments([]byte(first), []byte(other)); err == nil {
			t.Errorf("%s: merged to %s", name, got)
		}
	}
	if alone, err := httpapi.MergeDocuments([]byte(first)); err != nil || string(alone) != first {
		t.Errorf("one document becomes %s, %v", alone, err)
	}
}

// TestServeDocument: what is mounted is described.
func TestServeDocument(t *testing.T) {
	router := httpapi.New(httpapi.Options{},
		httpapi.Service{Routes: []httpapi.Route{get("/openapi.json", httpapi.ServeDocument)}, Document: []byte(first)},
		httpapi.Service{Routes: []httpapi.Route{get("/a/{id}/b", echo("b"))}, Document: []byte(second)},
		httpapi.Service{Routes: []httpapi.Route{get("/other", echo("other"))}})
	code, body := serve(router, http.MethodGet, "/openapi.json", "")
	var document struct{ Paths map[string]any }
	if err := json.Unmarshal([]byte(body), &document); err != nil || code != http.StatusOK || len(document.Paths) != 3 {
		t.Errorf("got %d %s, %v", code, body, err)
	}
	router = httpapi.New(httpapi.Options{},
		httpapi.Service{Routes: []httpapi.Route{get("/openapi.json", httpapi.ServeDocument)}, Document: []byte(first)},
		httpapi.Service{Routes: []httpapi.Route{get("/other", echo("other"))}, Document: []byte(`{"paths":{"/z":{"get":{}}}}`)})
	if code, body := serve(router, http.MethodGet, "/openapi.json", ""); code != http.StatusInternalServerError {
		t.Errorf("documents that contradict each other: got %d %s", code, body)
	}
	if code, body := serve(router, http.MethodGet, "/other", ""); code != http.StatusOK {
		t.Errorf("what else is mounted: got %d %s", code, body)
	}
}

// TestServeDocumentAtOnce: whoever asks first waits, also when many do.
func TestServeDocumentAtOnce(t *testing.T) {
	router := httpapi.New(httpapi.Options{},
		httpapi.Service{Routes: []httpapi.Route{get("/openapi.json", httpapi.ServeDocument)}, Document: []byte(first)},
		httpapi.Service{Document: []byte(second)})
	bodies := make([]string, 8)
	var asking sync.WaitGroup
	for i := range bodies {
		asking.Go(func() { _, bodies[i] = serve(router, http.MethodGet, "/openapi.json", "") })
	}
	asking.Wait()
	for _, body := range bodies {
		if body == "" || body != bodies[0] {
			t.Errorf("got %q and %q", body, bodies[0])
		}
	}
}
