package e2e

import (
	"context"
	"path/filepath"

	"waymark/test/built"
)

// Programs are paths of executables.
type Programs struct{ Agent, Hub string }

// Build puts the programs into dir, as make builds them, from the source as it is now.
// With race they have the race detector.
func Build(ctx context.Context, dir string, race bool) (Programs, error) {
	p := Programs{Agent: filepath.Join(dir, "agent"), Hub: filepath.Join(dir, "hub")}
	return p, built.Programs(ctx, dir, race, "waymark/cmd/agent", "waymark/cmd/hub")
}
