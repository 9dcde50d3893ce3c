package consumer_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"waymark/hub/api"
	"waymark/hub/consumer"
	"waymark/test/openapitest"
)

// TestDocument: openapi.json is what the operations and types say.
func TestDocument(t *testing.T) { openapitest.Generate(t, consumer.Described()) }

// TestDocumentHasAllRoutes compares it with the handler, both ways. Where
// links to the page are made, where agents enroll and where chats speak MCP, is package
// hub's.
func TestDocumentHasAllRoutes(t *testing.T) {
	routes := consumer.Routes()
	routes[api.Root+"/login"], routes[api.Root+"/enroll"] = []string{"POST"}, []string{"POST"}
	routes[api.Root+"/pins/{id}/mcp"] = []string{"GET", "POST"}
	if diff := cmp.Diff(routes, openapitest.Load(t, consumer.Document()).Routes()); diff != "" {
		t.Errorf("routes and document differ (-routes +document):\n%s", diff)
	}
}
