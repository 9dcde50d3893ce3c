package git_test

import (
	"testing"

	"waymark/test/openapitest"
	"waymark/workspace/git"
)

// TestDocument: openapi.json is what the routes and types say.
func TestDocument(t *testing.T) {
	s := git.New(git.Options{})
	defer func() { _ = s.Close() }()
	openapitest.Generate(t, s.Service())
}
