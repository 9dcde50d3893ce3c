package api_test

import (
	"testing"

	"waymark/host/api"
	"waymark/host/api/apitest"
	"waymark/test/openapitest"
)

// TestDocument: openapi.json is what the routes and types say.
func TestDocument(t *testing.T) { openapitest.Generate(t, api.Service(apitest.New())) }
