package server_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"waymark/agent/server"
	"waymark/agent/server/servertest"
	"waymark/internal/httpapi"
	"waymark/test/openapitest"
)

// output is what a service answers with.
type output struct {
	// Output is what it has written.
	Output string `json:"output"`
}

// outputParams are its parameters.
type outputParams struct {
	// The process.
	ID string `path:"id"`
}

// processes is a service as other packages contribute them.
func processes() httpapi.Service {
	return httpapi.Service{
		About: httpapi.About{Groups: []httpapi.Group{{Name: "processes", Text: "Them."}}},
		Routes: []httpapi.Route{{
			Method: http.MethodGet, Pattern: "/api/v0/processes/{id}/output", Failed: "there is no output to show",
			Handle:    func(c *httpapi.Call) error { return c.JSON(http.StatusOK, output{c.Arg("id")}) },
			Operation: &httpapi.Operation{ID: "processOutput", Summary: "What a process has written", Params: outputParams{}, Answers: []httpapi.Answer{httpapi.OK("It.", output{})}},
		}},
	}
}

// TestServices: what another package contributes is served and described as if
// it were the API's own, and under the same guard.
func TestServices(t *testing.T) {
	opts := server.Options{Backend: servertest.New(), Token: "x", Services: []httpapi.Service{processes()}}
	opts.Document = openapitest.Document(t, server.New(opts).Services()...)
	h := server.New(opts)
	document := []byte(body(t, serve(h, request("GET", documentPath, ""))))
	doc := openapitest.Load(t, document)
	const path = "/api/v0/processes/{id}/output"
	r := request("GET", "/api/v0/processes/a%2Fb/output", "")
	resp := serve(h, r)
	doc.Check(t, r, path, resp)
	if text := body(t, resp); resp.StatusCode != 200 || text != `{"output":"a/b"}`+"\n" {
		t.Errorf("got %d %s", resp.StatusCode, text)
	}
	if resp := serve(h, overTCP(request("GET", "http://localhost/api/v0/processes/1/output", ""), "127.0.0.1:1")); resp.StatusCode != 401 {
		t.Errorf("without the token: got %d", resp.StatusCode)
	}
	if resp := serve(h, request("POST", "/api/v0/processes/1/output", "")); resp.StatusCode != 405 || resp.Header.Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: got %d, Allow %q", resp.StatusCode, resp.Header.Get("Allow"))
	}

	// All that the API describes by itself is there, and nothing of it changed.
	var own, whole struct {
		Paths      map[string]json.RawMessage
		Components map[string]map[string]json.RawMessage
	}
	for data, into := range map[string]any{string(openapitest.Document(t, server.Service(servertest.New()))): &own, string(document): &whole} {
		if err := json.Unmarshal([]byte(data), into); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range own.Paths {
		if got := whole.Paths[name]; compact(got) != compact(want) {
			t.Errorf("%s is described as %s", name, got)
		}
	}
	if len(whole.Paths) != len(own.Paths)+1 || len(whole.Components["schemas"]) != len(own.Components["schemas"])+1 {
		t.Errorf("%d paths and %d schemas", len(whole.Paths), len(whole.Components["schemas"]))
	}
}

func compact(data []byte) string { return strings.Join(strings.Fields(string(data)), "") }
