package asbuild

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// install makes sure that what the project needs is installed, and returns the
// directory.
func install(ctx context.Context, dir string) (string, error) {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return "", fmt.Errorf("%w: npm is not installed; install Debian's nodejs and npm", ErrMissing)
	}
	if _, err := exec.LookPath("node"); err != nil {
		return "", fmt.Errorf("%w: node is not installed; install Debian's nodejs", ErrMissing)
	}
	lock, err := os.ReadFile(filepath.Join(dir, "package-lock.json"))
	if err != nil {
		return "", err
	}
	base, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	key, err := lockKey(lock)
	if err != nil {
		return "", err
	}
	base = filepath.Join(base, "waymark-test-npm")
	home := filepath.Join(base, key)
	modules := filepath.Join(home, "node_modules")
	if _, err := os.Stat(modules); err == nil {
		return modules, nil
	}
	if err := os.MkdirAll(base, 0o700); err != nil {
		return "", err
	}
	return modules, installInto(ctx, npm, home, dir)
}

// lockKey is equal for lock files that install the same, whatever the project's
// name.
func lockKey(lock []byte) (string, error) {
	var doc struct {
		Packages map[string]json.RawMessage `json:"packages"`
	}
	if err := json.Unmarshal(lock, &doc); err != nil {
		return "", fmt.Errorf("package-lock.json: %w", err)
	}
	delete(doc.Packages, "") // the project itself
	text, err := json.Marshal(doc.Packages)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8]), nil
}

// installInto installs beside home and renames, so that it is there whole or
// not at all.
func installInto(ctx context.Context, npm, home, dir string) error {
	tmp, err := os.MkdirTemp(filepath.Dir(home), "installing-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	for _, name := range []string{"package.json", "package-lock.json"} {
		if err := copyFile(filepath.Join(tmp, name), filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	cmd := exec.CommandContext(ctx, npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	cmd.Dir = tmp
	if err := run(cmd); err != nil {
		return fmt.Errorf("%w: npm ci: %w", ErrMissing, err)
	}
	if err := os.Rename(tmp, home); err != nil {
		if _, statErr := os.Stat(filepath.Join(home, "node_modules")); statErr == nil {
			return nil // somebody else was faster
		}
		return err
	}
	return nil
}
