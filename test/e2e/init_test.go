package e2e_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"waymark/test/built"
)

// TestInitialization: what a package does before main is paid for by each command that
// anybody runs, also by one that prints a version. It is counted in objects and bytes, which
// are the same on a slow day: half a millisecond of it is some of either.
func TestInitialization(t *testing.T) {
	t.Parallel()
	const maxObjects, maxBytes = 200, 32 << 10
	// Libraries that can't be had for less, with what they need at most.
	known := map[string][2]int{
		"github.com/creachadair/tomledit/scanner":    {900, 80 << 10},  // tables of characters
		"github.com/google/jsonschema-go/jsonschema": {400, 100 << 10}, // the MCP SDK's
		"waymark/wire/waymark":                       {60, 40 << 10},   // protobuf's descriptors
		"waymark/host/codingagents":                  {400, 72 << 10},  // the rules' table: some 0.05 ms
		"encoding/gob":                               {450, 40 << 10},  // the MCP SDK's
		"go.yaml.in/yaml/v4/internal/libyaml":        {450, 48 << 10},
	}
	dir := t.TempDir()
	if err := built.Programs(t.Context(), dir, false, "waymark/cmd/agent", "waymark/cmd/hub"); err != nil {
		t.Fatal(err)
	}
	for _, program := range []string{"agent", "hub"} {
		cmd := exec.CommandContext(t.Context(), filepath.Join(dir, program), "--version")
		cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		seen := 0
		for line := range strings.Lines(string(out)) {
			var pkg string
			var at, took float64
			var bytes, objects int
			if n, _ := fmt.Sscanf(line, "init %s @%g ms, %g ms clock, %d bytes, %d allocs", &pkg, &at, &took, &bytes, &objects); n != 5 {
				continue
			}
			seen++
			most, ok := known[pkg]
			if !ok {
				most = [2]int{maxObjects, maxBytes}
			}
			if objects > most[0] || bytes > most[1] {
				t.Errorf("%s: package %s makes %d objects of %d bytes before main, want at most %d of %d: make it when it is needed", program, pkg, objects, bytes, most[0], most[1])
			}
		}
		if seen < 20 {
			t.Errorf("%s: %d packages seen", program, seen)
		}
	}
}
