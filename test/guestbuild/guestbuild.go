// Package guestbuild builds resolver modules from source, for tests and for the
// Makefile: Build from Go, AssemblyScript from that language.
//
// # Guarantees
//
// A build is what the toolchain makes of the source as it is now: go build runs
// once per process and package, and its own cache makes that cheap when
// nothing changed. Results are kept under names that hold their content's
// hash, so a path that was returned never changes its content, also when
// several test processes build at once. Builds are reproducible: no paths, no
// version control stamps.
//
// The compiler of AssemblyScript, and what else package-lock.json names, is
// installed once, into a directory whose name is a hash of that, so that a later
// run installs nothing and needs no network. The source directory is left as it
// is: no node_modules appears in it. Where npm is missing, or the registry can't
// be reached, a test is skipped and says so; with WAYMARK_REQUIRE_ALL it fails.
//
// # Concurrency
//
// Everything may be called by many goroutines and processes at once. A Go package
// is built once per process; those who ask meanwhile wait for it. Each installs
// in a directory of its own, and the first one is kept.
//
// # Limits
//
// Build needs the go command, and a working directory inside the module that the
// package belongs to. The last eight results of each package are kept.
// AssemblyScript needs node and npm in PATH; old installations of some 100 MB
// each aren't removed.
package guestbuild

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"waymark/host/sandbox/gowasm"
	"waymark/test/sources"
)

// EnvCache names the environment variable with the directory for results. By
// default it is waymark-test-guests in the user's cache directory.
const EnvCache = "WAYMARK_GUEST_CACHE"

// keep is how many results of one package stay, enough for several checkouts
// that are tested in turns.
const keep = 8

// shrunk is the package whose module is made smaller, as make does it.
const shrunk = "waymark/plugins/builtin"

// builds are this process's results. They are shared by all tests of a test
// binary, which have no owner in common.
var builds = struct {
	sync.Mutex // guards done
	done       map[string]*build
}{done: make(map[string]*build)}

type build struct {
	sync.Mutex // held during the build
	path       string
}

// Build builds a guest package and returns the path of its .wasm file.
// pkgPath is an import path, or a relative path like ./testdata/guest.
//
// A failure is not remembered: the next call builds again.
func Build(ctx context.Context, pkgPath string) (wasmPath string, err error) {
	key := pkgPath
	if strings.HasPrefix(pkgPath, ".") {
		if key, err = filepath.Abs(pkgPath); err != nil {
			return "", err
		}
	}
	builds.Lock()
	b := builds.done[key]
	if b == nil {
		b = &build{}
		builds.done[key] = b
	}
	builds.Unlock()

	b.Lock()
	defer b.Unlock()
	if b.path != "" {
		if _, err := os.Stat(b.path); err == nil {
			return b.path, nil
		}
	}
	b.path, err = run(ctx, pkgPath, key)
	return b.path, err
}

func cacheDir() (string, error) {
	dir := os.Getenv(EnvCache)
	if dir == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("no place for built guests: %w (set %s)", err, EnvCache)
		}
		dir = filepath.Join(base, "waymark-test-guests")
	}
	return dir, os.MkdirAll(dir, 0o700)
}

func run(ctx context.Context, pkgPath, key string) (string, error) {
	dir, err := cacheDir()
	if err != nil {
		return "", err
	}
	tmp, err := os.CreateTemp(dir, "building-*")
	if err != nil {
		return "", err
	}
	_ = tmp.Close()
	defer func() { _ = os.Remove(tmp.Name()) }()
	if err := compile(ctx, pkgPath, tmp.Name()); err != nil {
		return "", fmt.Errorf("build guest %s: %w", pkgPath, err)
	}
	wasm, err := os.ReadFile(tmp.Name())
	if err != nil {
		return "", err
	}
	if pkgPath == shrunk {
		if wasm, err = gowasm.Shrink(wasm); err == nil {
			err = os.WriteFile(tmp.Name(), wasm, 0o600)
		}
		if err != nil {
			return "", fmt.Errorf("build guest %s: %w", pkgPath, err)
		}
	}
	sum := sha256.Sum256(wasm)
	prefix := fileName(key)
	path := filepath.Join(dir, prefix+hex.EncodeToString(sum[:8])+".wasm")
	if err := os.Chmod(tmp.Name(), 0o600); err != nil {
		return "", err
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		return "", err
	}
	prune(dir, prefix, path)
	return path, nil
}

// compile runs the toolchain. Modes of the surrounding test, such as the race
// detector, don't exist for wasm and are left out.
func compile(ctx context.Context, pkgPath, output string) error {
	env := []string{"GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0"}
	if err := sources.See(ctx, env, pkgPath); err != nil {
		return err
	}
	args := []string{"build", "-buildmode=c-shared", "-trimpath", "-buildvcs=false", "-ldflags=-s -w"}
	if pkgPath == shrunk {
		args = append(args, "-gcflags=waymark/...=-l")
	}
	cmd := exec.CommandContext(ctx, "go", append(args, "-o", output, pkgPath)...)
	cmd.Env = append(os.Environ(), env...)
	return runTool(ctx, cmd)
}

// runTool runs a command. The error is the context's, or what the tool prints.
func runTool(ctx context.Context, cmd *exec.Cmd) error {
	text, err := cmd.CombinedOutput()
	text = bytes.TrimSpace(text)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case len(text) > 0:
		return fmt.Errorf("%w\n%s", err, text)
	}
	return err
}

// fileName turns a package's name into the start of a file's. The hash keeps
// packages apart whose names end alike.
func fileName(key string) string {
	sum := sha256.Sum256([]byte(key))
	return filepath.Base(key) + "-" + hex.EncodeToString(sum[:4]) + "-"
}

// prune removes the oldest results of a package. It is best effort: what stays
// costs only space.
func prune(dir, prefix, current string) {
	paths, err := filepath.Glob(filepath.Join(dir, prefix+"*.wasm"))
	if err != nil || len(paths) <= keep {
		return
	}
	type result struct {
		path  string
		mtime int64
	}
	var results []result
	for _, p := range paths {
		if info, err := os.Stat(p); err == nil && p != current {
			results = append(results, result{p, info.ModTime().UnixNano()})
		}
	}
	slices.SortFunc(results, func(a, b result) int { return int(min(max(b.mtime-a.mtime, -1), 1)) })
	for _, r := range results[min(keep-1, len(results)):] {
		_ = os.Remove(r.path)
	}
}
