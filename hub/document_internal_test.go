package hub

import (
	"testing"

	"waymark/hub/server"
	"waymark/test/openapitest"
)

// TestDocument: openapi.json is what the routes and types of everything say that readers, and
// who enrolls, are served.
func TestDocument(t *testing.T) {
	h := new(Hub)
	openapitest.Generate(t, append(h.newConsumer(server.Limits{}, nil).Services(), h.enrollService())...)
}
