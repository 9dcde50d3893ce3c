package built

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// EnvCache names the environment variable with the directory for results. By
// default it is waymark-test-built in the user's cache directory.
const EnvCache = "WAYMARK_TEST_BUILT"

// keep is how many results of one package stay, enough for several checkouts
// that are tested in turns.
const keep = 8

// target is something that go build makes.
type target struct {
	pkg   string   // an import path, or a relative one like ./testdata/guest
	kind  string   // tells targets of the same package apart, and ends the result's name
	env   []string // in addition to the process's
	args  []string // of go build
	more  []string // what else the result depends on, in any form
	also  []string // directories of the module that count, too
	apart string   // one that doesn't
	// before returns more arguments, which don't count, and what to do after the build; nil
	// has none.
	before func(root string) (args []string, after func(), err error)
	// then changes what go build has made; nil changes nothing.
	then func(path string) error
}

// path returns the path of the result. A failure is not remembered: the next call
// builds again.
func (t *target) path(ctx context.Context) (string, error) {
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	key := t.pkg
	if strings.HasPrefix(key, ".") {
		dir, err := filepath.Abs(key)
		if err != nil {
			return "", err
		}
		if key, err = filepath.Rel(root, dir); err != nil {
			return "", err
		}
	}
	dir, err := cacheDir()
	if err != nil {
		return "", err
	}
	return t.find(ctx, root, filepath.Join(dir, fileName(key)))
}

// find returns the path of the result, which begins with prefix, and has it built where
// it isn't there.
func (t *target) find(ctx context.Context, root, prefix string) (string, error) {
	if path, err := t.known(root, prefix); err != nil || path != "" {
		return path, err
	}
	lock := flock.New(prefix + t.kind + ".lock")
	if _, err := lock.TryLockContext(ctx, 20*time.Millisecond); err != nil {
		return "", err
	}
	defer func() { _ = lock.Close() }()
	// Another process may have built it meanwhile.
	if path, err := t.known(root, prefix); err != nil || path != "" {
		return path, err
	}
	dirs, err := t.dirs(ctx, root)
	if err != nil {
		return "", fmt.Errorf("build %s: %w", t.pkg, err)
	}
	// Before the build: what is changed during it is built again.
	path, err := t.name(root, prefix, dirs)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(path); err != nil {
		if err := t.build(ctx, root, path); err != nil {
			return "", fmt.Errorf("build %s: %w", t.pkg, err)
		}
	}
	prune(prefix, t.kind, path)
	return path, atomically(prefix+t.kind+".dirs", []byte(strings.Join(dirs, "\n")))
}

// known returns the path of the result if it is there. What it was built from last
// may have been in another checkout, or before a change: then nothing of this name is
// there. What is there was built from files of the same content, with the same imports,
// which means from the same directories.
func (t *target) known(root, prefix string) (string, error) {
	list, err := os.ReadFile(prefix + t.kind + ".dirs")
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	path, err := t.name(root, prefix, strings.Split(string(list), "\n"))
	if err == nil {
		_, err = os.Stat(path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil // it, or a directory of the source
	}
	return path, err
}

// name is the path of the result of what the directories hold now.
func (t *target) name(root, prefix string, dirs []string) (string, error) {
	sum := sha256.New()
	fmt.Fprintf(sum, "%s %s/%s GOFLAGS=%q CGO_ENABLED=%q\n%q\n%q\n%q\n", runtime.Version(), runtime.GOOS, runtime.GOARCH,
		os.Getenv("GOFLAGS"), os.Getenv("CGO_ENABLED"), t.env, t.args, t.more)
	for _, name := range []string{"go.mod", "go.sum"} {
		if err := addFile(sum, filepath.Join(root, name)); err != nil {
			return "", err
		}
	}
	for _, dir := range dirs {
		if err := addDir(sum, root, dir); err != nil {
			return "", err
		}
	}
	return prefix + hex.EncodeToString(sum.Sum(nil)[:8]) + t.kind, nil
}

// addDir adds what a directory holds, without what lies deeper and tests.
func addDir(sum hash.Hash, root, dir string) error {
	entries, err := os.ReadDir(filepath.Join(root, dir))
	if err != nil {
		return err
	}
	fmt.Fprintf(sum, "in %q\n", dir)
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		fmt.Fprintf(sum, "%q %s\n", e.Name(), e.Type())
		if e.Type().IsRegular() {
			if err := addFile(sum, filepath.Join(root, dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

func addFile(sum hash.Hash, path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	fmt.Fprintln(sum, len(data))
	_, err = sum.Write(data)
	return err
}

// files prints the directories of a package of this module, and those of what it embeds.
const files = `{{if and .Module .Module.Main}}{{$dir := .Dir}}{{$dir}}
{{range .EmbedFiles}}{{$dir}}/{{.}}
{{end}}{{end}}`

// dirs returns the directories, relative to the module's, with the source of the target.
func (t *target) dirs(ctx context.Context, root string) ([]string, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-deps", "-f", files, t.pkg)
	cmd.Env = append(os.Environ(), t.env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, cmp.Or(ctx.Err(), fmt.Errorf("go list: %w: %s", err, bytes.TrimSpace(stderr.Bytes())))
	}
	dirs := slices.Clone(t.also)
	for path := range strings.Lines(string(out)) {
		path = strings.TrimSpace(path)
		if path == "" {
			continue
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return nil, err
		}
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			rel = filepath.Dir(rel)
		}
		if rel != t.apart {
			dirs = append(dirs, rel)
		}
	}
	slices.Sort(dirs)
	return slices.Compact(dirs), nil
}

// build runs the toolchain. Modes of the surrounding test, such as the race
// detector, are left out.
func (t *target) build(ctx context.Context, root, path string) error {
	tmp, err := os.MkdirTemp(filepath.Dir(path), "building-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	out := filepath.Join(tmp, "out")
	args := append([]string{"build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w"}, t.args...)
	if t.before != nil {
		more, after, err := t.before(root)
		if err != nil {
			return err
		}
		defer after()
		args = append(args, more...)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, "-o", out, t.pkg)...)
	cmd.Env = append(os.Environ(), t.env...)
	if err := runTool(ctx, cmd); err != nil {
		return err
	}
	if t.then != nil {
		if err := t.then(out); err != nil {
			return err
		}
	}
	return os.Rename(out, path)
}

// atomically writes a file whole or not at all.
func atomically(path string, data []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), "building-*")
	if err != nil {
		return err
	}
	_, err = tmp.Write(data)
	if err = errors.Join(err, tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		_ = os.Remove(tmp.Name())
	}
	return err
}

// moduleRoot is the directory of go.mod.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	for ; err == nil; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("the working directory is in no module")
		}
	}
	return "", err
}

func cacheDir() (string, error) {
	dir := os.Getenv(EnvCache)
	if dir == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("no place for what tests build: %w (set %s)", err, EnvCache)
		}
		dir = filepath.Join(base, "waymark-test-built")
	}
	return dir, os.MkdirAll(dir, 0o700)
}

// fileName turns a package's name into the start of a file's. The hash keeps
// packages apart whose names end alike.
func fileName(key string) string {
	sum := sha256.Sum256([]byte(key))
	return filepath.Base(key) + "-" + hex.EncodeToString(sum[:4]) + "-"
}

// prune removes the oldest results of a package. It is best effort: what stays
// costs only space.
func prune(prefix, kind, current string) {
	paths, err := filepath.Glob(prefix + strings.Repeat("?", 16) + kind)
	if err != nil || len(paths) <= keep {
		return
	}
	age := func(path string) int64 {
		info, err := os.Stat(path)
		if err != nil {
			return 0
		}
		return info.ModTime().UnixNano()
	}
	slices.SortFunc(paths, func(a, b string) int { return cmp.Compare(age(b), age(a)) })
	for _, path := range paths[keep:] {
		if path != current {
			_ = os.Remove(path)
		}
	}
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
