package built

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

const (
	// agent embeds the built-in module and its native code, which lie in dist.
	agent = "waymark/cmd/agent"
	dist  = "host/builtin/dist"
)

// Programs builds programs of this module and puts them into a directory, side by side. Each
// is named after the last element of its package's path. With race they are built with the
// race detector.
//
// The agent is what make builds, without touching the tree: the built-in module and its
// native code are built first and take the place of those in the tree.
func Programs(ctx context.Context, dir string, race bool, pkgPaths ...string) error {
	for _, pkg := range pkgPaths {
		t := &target{pkg: pkg}
		if race {
			t.kind, t.args = ".race", []string{"-race"}
		}
		if pkg == agent {
			if err := t.embed(ctx); err != nil {
				return err
			}
		}
		path, err := t.path(ctx)
		if err != nil {
			return err
		}
		if err := copyProgram(filepath.Join(dir, filepath.Base(pkg)), path); err != nil {
			return err
		}
	}
	return nil
}

// embed has go build embed what is built first.
func (t *target) embed(ctx context.Context) error {
	wasm, err := Guest(ctx, builtin)
	if err != nil {
		return err
	}
	native, err := ahead(ctx, wasm)
	if err != nil {
		return err
	}
	helper, err := (&target{pkg: "waymark/cmd/supervisor", kind: t.kind, args: t.args}).path(ctx)
	if err != nil {
		return err
	}
	digest, err := digestOf(helper)
	if err != nil {
		return err
	}
	t.args = append(slices.Clip(t.args), "-ldflags=-s -w -X waymark/workspace/launch.HelperDigest="+digest)
	t.apart, t.more = dist, []string{filepath.Base(wasm), filepath.Base(native), filepath.Base(helper)}
	t.before = func(root string) ([]string, func(), error) {
		overlay, err := os.CreateTemp("", "overlay-*.json")
		if err != nil {
			return nil, nil, err
		}
		err = json.NewEncoder(overlay).Encode(map[string]any{"Replace": map[string]string{
			filepath.Join(root, dist, "builtin.wasm"):   wasm,
			filepath.Join(root, dist, "builtin.native"): native,
		}})
		return []string{"-overlay", overlay.Name()}, func() { _ = os.Remove(overlay.Name()) }, errors.Join(err, overlay.Close())
	}
	return nil
}

func digestOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	sum := sha256.New()
	_, err = io.Copy(sum, f)
	return hex.EncodeToString(sum.Sum(nil)), err
}

// ahead returns the path of a module's native code, which is made where it isn't there.
func ahead(ctx context.Context, wasm string) (string, error) {
	aot, err := (&target{pkg: "waymark/internal/tools/aot", apart: dist}).path(ctx)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(filepath.Base(aot) + filepath.Base(wasm)))
	path := filepath.Join(filepath.Dir(wasm), "builtin-"+hex.EncodeToString(sum[:8])+".native")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	// It is written whole or not at all.
	return path, runTool(ctx, exec.CommandContext(ctx, aot, "-o", path, wasm))
}

func copyProgram(to, from string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o700)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return cmp.Or(err, out.Close())
}
