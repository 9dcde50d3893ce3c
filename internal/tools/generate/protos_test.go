package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestCurrent holds the committed code against a fresh generation, so that
// neither a proto nor a pinned generator can change without its output. A request that
// depends on map order would show as a file that changes now and then.
func TestCurrent(t *testing.T) {
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	files, err := protoFiles(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		names = append(names, f.name)
		got, err := os.ReadFile(filepath.Join(root, f.name))
		if err != nil {
			t.Error(err)
			continue
		}
		if !bytes.Equal(got, f.content) {
			t.Errorf("%s isn't what its proto generates; run: go generate ./wire/...", f.name)
		}
	}
	want := []string{
		"wire/coder/agent.pb.go", "wire/waymark/reverse.pb.go", "wire/waymark/context.pb.go",
		"wire/coder/agent_drpc.pb.go", "wire/waymark/context_drpc.pb.go",
	}
	if !slices.Equal(names, want) {
		t.Errorf("generated %v, want %v", names, want)
	}
}
