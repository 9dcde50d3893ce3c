package rig

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"waymark/internal/guestbuild"
)

// Programs are paths of executables.
type Programs struct{ Agent, Hub string }

// Build builds the programs into dir, from the source as it is now and without
// make: the built-in module is built first and takes the place of the one in
// the tree. With race they are built with the race detector.
//
// Native code that make has left in the tree is embedded, and used by the agent
// if it fits the module; otherwise the agent's first run compiles it.
func Build(ctx context.Context, dir string, race bool) (Programs, error) {
	wasm, err := guestbuild.Build(ctx, "waymark/plugins/builtin")
	if err != nil {
		return Programs{}, err
	}
	out, err := goCommand(ctx, "list", "-m", "-f", "{{.Dir}}")
	if err != nil {
		return Programs{}, err
	}
	overlay := filepath.Join(dir, "overlay.json")
	module := filepath.Join(strings.TrimSpace(out), "host/builtin/dist/builtin.wasm")
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{module: wasm}})
	if err != nil {
		return Programs{}, err
	}
	if err := os.WriteFile(overlay, text, 0o600); err != nil {
		return Programs{}, err
	}
	args := []string{"build", "-trimpath", "-buildvcs=false", "-overlay", overlay, "-o", dir + "/"}
	if race {
		args = append(args, "-race")
	}
	if _, err := goCommand(ctx, append(args, "waymark/cmd/agent", "waymark/cmd/hub")...); err != nil {
		return Programs{}, err
	}
	return Programs{Agent: filepath.Join(dir, "agent"), Hub: filepath.Join(dir, "hub")}, nil
}

func goCommand(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w: %s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return string(out), nil
}
