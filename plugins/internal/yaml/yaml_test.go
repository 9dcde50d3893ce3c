//go:build !libyaml

package yaml_test

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// TestCutOut runs the tests that compare what a guest is made of with the library.
func TestCutOut(t *testing.T) {
	overlay := filepath.Join(t.TempDir(), "overlay.json")
	for _, args := range [][]string{
		{"run", "waymark/internal/tools/generate", "yaml", "-o", filepath.Dir(overlay), "-overlay", overlay},
		{"test", "-tags", "libyaml", "-overlay", overlay, map[bool]string{true: "-short", false: "-short=false"}[testing.Short()], "."},
	} {
		out, err := exec.CommandContext(t.Context(), "go", args...).CombinedOutput()
		if err != nil {
			t.Fatalf("go %v: %v\n%s", args, err, out)
		}
	}
}
