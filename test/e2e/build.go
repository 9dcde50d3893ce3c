package e2e

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"waymark/test/guestbuild"
	"waymark/test/sources"
)

// Programs are paths of executables.
type Programs struct{ Agent, Hub string }

// Build builds the programs into dir as make does, from the source as it is now
// and without touching the tree: the built-in module and its native code are
// built first and take the place of those in the tree. With race the programs
// have the race detector.
//
// All test processes of a user build into one directory, one after the other, and
// take copies: what is there already isn't linked again.
func Build(ctx context.Context, dir string, race bool) (Programs, error) {
	shared, unlock, err := lockShared(ctx, race)
	if err != nil {
		return Programs{}, err
	}
	defer unlock()
	if err := build(ctx, shared, race); err != nil {
		return Programs{}, err
	}
	p := Programs{Agent: filepath.Join(dir, "agent"), Hub: filepath.Join(dir, "hub")}
	return p, errors.Join(copyProgram(p.Agent, filepath.Join(shared, "agent")), copyProgram(p.Hub, filepath.Join(shared, "hub")))
}

// lockShared returns the directory in which this checkout's programs are built, and
// holds it until the function is called.
func lockShared(ctx context.Context, race bool) (dir string, unlock func(), err error) {
	base, err := os.UserCacheDir()
	if err != nil {
		return "", nil, err
	}
	module, err := goCommand(ctx, "list", "-m", "-f", "{{.Dir}}")
	if err != nil {
		return "", nil, err
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s race=%t", module, race))
	dir = filepath.Join(base, "waymark-test-programs", hex.EncodeToString(sum[:8]))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", nil, err
	}
	lock, err := os.Create(filepath.Join(dir, "lock"))
	if err != nil {
		return "", nil, err
	}
	for {
		if err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		return "", nil, errors.Join(err, lock.Close())
	}
	return dir, func() { _ = lock.Close() }, nil
}

func copyProgram(to, from string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o700)
}

func build(ctx context.Context, dir string, race bool) error {
	wasm, err := guestbuild.Build(ctx, "waymark/plugins/builtin")
	if err != nil {
		return err
	}
	native := filepath.Join(dir, "builtin.native")
	if _, err := goCommand(ctx, "run", "waymark/internal/tools/aot", "-o", native, wasm); err != nil {
		return err
	}
	overlay, err := writeOverlay(ctx, dir, map[string]string{"builtin.wasm": wasm, "builtin.native": native})
	if err != nil {
		return err
	}
	args := []string{"build", "-buildvcs=false", "-ldflags=-s -w", "-overlay", overlay, "-o", dir + "/"}
	if race {
		args = append(args, "-race")
	}
	programs := []string{"waymark/cmd/agent", "waymark/cmd/hub"}
	if err := sources.See(ctx, nil, append(programs, "waymark/internal/tools/aot")...); err != nil {
		return err
	}
	_, err = goCommand(ctx, append(args, programs...)...)
	return err
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
