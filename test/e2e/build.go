package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"waymark/test/guestbuild"
	"waymark/test/sources"
)

// Programs are paths of executables.
type Programs struct{ Agent, Hub string }

// Build builds the programs into dir as make does, from the source as it is now
// and without touching the tree: the built-in module and its native code are
// built first and take the place of those in the tree. With race the programs
// have the race detector.
func Build(ctx context.Context, dir string, race bool) (Programs, error) {
	wasm, err := guestbuild.Build(ctx, "waymark/plugins/builtin")
	if err != nil {
		return Programs{}, err
	}
	native := filepath.Join(dir, "builtin.native")
	if _, err := goCommand(ctx, "run", "waymark/internal/tools/aot", "-o", native, wasm); err != nil {
		return Programs{}, err
	}
	overlay, err := writeOverlay(ctx, dir, map[string]string{"builtin.wasm": wasm, "builtin.native": native})
	if err != nil {
		return Programs{}, err
	}
	args := []string{"build", "-buildvcs=false", "-overlay", overlay, "-o", dir + "/"}
	if race {
		args = append(args, "-race")
	}
	programs := []string{"waymark/cmd/agent", "waymark/cmd/hub"}
	if err := sources.See(ctx, nil, append(programs, "waymark/internal/tools/aot")...); err != nil {
		return Programs{}, err
	}
	if _, err := goCommand(ctx, append(args, programs...)...); err != nil {
		return Programs{}, err
	}
	return Programs{Agent: filepath.Join(dir, "agent"), Hub: filepath.Join(dir, "hub")}, nil
}

// writeOverlay tells the go command where the files are that it embeds.
func writeOverlay(ctx context.Context, dir string, embedded map[string]string) (string, error) {
	module, err := goCommand(ctx, "list", "-m", "-f", "{{.Dir}}")
	if err != nil {
		return "", err
	}
	replace := map[string]string{}
	for name, path := range embedded {
		replace[filepath.Join(strings.TrimSpace(module), "host/builtin/dist", name)] = path
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, text, 0o600)
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
