//go:build openapi

package agent

import (
	"testing"

	"waymark/test/openapitest"
)

// TestDocument: openapi.json is what the routes and types of everything say that a daemon
// serves. What makes it would be part of every agent under test here, and double the time
// that each takes to start: hence the tag, which make generate sets.
func TestDocument(t *testing.T) {
	_, served := newTestServices(t)
	openapitest.Generate(t, served.Services()...)
}
