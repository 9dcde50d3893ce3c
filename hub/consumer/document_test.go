package consumer_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"waymark/hub/api"
	"waymark/hub/consumer"
	"waymark/test/openapitest"
)

func TestDocumentIsValid(t *testing.T) { openapitest.Load(t, api.Document()).Valid(t) }

// TestDocumentHasAllRoutes compares it with the handler, both ways. Where
// links to the page are made, where agents enroll and where chats speak MCP, is package
// hub's.
func TestDocumentHasAllRoutes(t *testing.T) {
	routes := consumer.Routes()
	routes[api.Root+"/login"], routes[api.Root+"/enroll"] = []string{"POST"}, []string{"POST"}
	routes[api.Root+"/pins/{id}/mcp"] = []string{"GET", "POST"}
	if diff := cmp.Diff(routes, openapitest.Load(t, api.Document()).Routes()); diff != "" {
		t.Errorf("routes and document differ (-routes +document):\n%s", diff)
	}
}

// TestDocumentIsACopy: nobody can change what is served.
func TestDocumentIsACopy(t *testing.T) {
	clear(api.Document())
	if !json.Valid(api.Document()) {
		t.Error("the document has been overwritten")
	}
}
