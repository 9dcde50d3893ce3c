package main

import (
	"testing"

	"waymark/test/openapitest"
)

// TestDocument: openapi.json is what the program's own routes and types say.
func TestDocument(t *testing.T) {
	s := new(services)
	openapitest.Generate(t, s.own(), s.stopping(), s.serveMCP())
}
