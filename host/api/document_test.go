package api_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"waymark/host/api"
	"waymark/host/api/apitest"
	"waymark/test/openapitest"
)

// TestDocumentIsValid checks the document itself, its examples included.
func TestDocumentIsValid(t *testing.T) { openapitest.Load(t, api.Document()).Valid(t) }

// TestDocumentHasAllRoutes compares it with the handler, both ways.
func TestDocumentHasAllRoutes(t *testing.T) {
	routes := api.Routes(apitest.New())
	for _, methods := range routes {
		slices.Sort(methods)
	}
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
