package api_test

import (
	"strings"
	"testing"

	"waymark/hub/api"
	"waymark/internal/httpapi"
	"waymark/test/openapitest"
)

// TestDocument: openapi.json is what the operations and types say. That there is an
// operation for each route, and a route for each, is tested where these are served.
func TestDocument(t *testing.T) {
	service := httpapi.Service{About: api.About()}
	for key, operation := range api.Operations() {
		method, pattern, _ := strings.Cut(key, " ")
		service.Routes = append(service.Routes, httpapi.Route{Method: method, Pattern: pattern, Operation: operation})
	}
	openapitest.Generate(t, service)
}
