package guestbuild_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"waymark/host/sandbox/codecache"
	"waymark/test/guestbuild"
)

const builtin = "waymark/plugins/builtin"

// Code of another version must not be taken for this one's.
func TestWazero(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Version}}{{with .Replace}} replaced{{end}}", "github.com/tetratelabs/wazero").Output()
	if err != nil {
		t.Fatal(err)
	}
	if version := strings.TrimSpace(string(out)); version != codecache.Wazero {
		t.Errorf("go.mod names %s, what was compiled is shared as that of %s", version, codecache.Wazero)
	}
}

func TestBuild(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(guestbuild.EnvCache, dir)
	var wg sync.WaitGroup
	paths := make([]string, 4)
	for i := range paths {
		wg.Go(func() {
			var err error
			if paths[i], err = guestbuild.Build(t.Context(), builtin); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, p := range paths[1:] {
		if p != paths[0] {
			t.Errorf("two builds gave %s and %s", paths[0], p)
		}
	}
	wasm, err := os.ReadFile(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(wasm, []byte("\x00asm\x01\x00\x00\x00")) {
		t.Errorf("%s isn't a wasm module", paths[0])
	}
	if wd, _ := os.Getwd(); bytes.Contains(wasm, []byte(filepath.Dir(wd))) {
		t.Error("the module holds a path of this machine")
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("the cache holds %v, %v; want the module alone", entries, err)
	}
	if err := os.Remove(paths[0]); err != nil {
		t.Fatal(err)
	}
	again, err := guestbuild.Build(t.Context(), builtin)
	if err != nil || again != paths[0] {
		t.Errorf("after the file was removed: %s, %v; want the same name", again, err)
	}
	if rebuilt, err := os.ReadFile(again); err != nil || !bytes.Equal(rebuilt, wasm) {
		t.Errorf("a second build differs (%v)", err)
	}
}

func TestBuildFails(t *testing.T) {
	t.Setenv(guestbuild.EnvCache, t.TempDir())
	_, err := guestbuild.Build(t.Context(), "waymark/plugins/no-such-guest")
	if err == nil || !strings.Contains(err.Error(), "no-such-guest") {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := guestbuild.Build(ctx, "waymark/plugins/another"); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}
