package toolchain_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waymark/cmd/harness/internal/toolchain"
)

// source writes files into a new directory named acme.
func source(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "acme")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestDetect(t *testing.T) {
	tests := []struct {
		name  string
		files []string
		want  toolchain.Lang
	}{
		{"go", []string{"go.mod", "main.go"}, toolchain.Go},
		{"go in a larger module", []string{"main.go"}, toolchain.Go},
		{"c", []string{"main.c", "waymark.h"}, toolchain.C},
		{"assemblyscript", []string{"asconfig.json", "package.json"}, toolchain.AssemblyScript},
		{"nothing", []string{"README.md", "go.mod"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			files := map[string]string{}
			for _, name := range tt.files {
				files[name] = ""
			}
			got, err := toolchain.Detect(source(t, files))
			if got != tt.want || tt.want == "" != errors.Is(err, toolchain.ErrNoSource) {
				t.Errorf("got %q, %v; want %q", got, err, tt.want)
			}
		})
	}
	if _, err := toolchain.Detect(filepath.Join(t.TempDir(), "gone")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing directory: %v", err)
	}
}

// compiles skips a test in the short form, which needs only Go.
func compiles(t *testing.T, lang toolchain.Lang) {
	t.Helper()
	if testing.Short() && lang != toolchain.Go {
		t.Skipf("it needs what compiles %s", lang)
	}
}

// need skips a test whose toolchain isn't installed.
func need(t *testing.T, err error) {
	t.Helper()
	var missing *toolchain.MissingError
	if !errors.As(err, &missing) {
		return
	}
	if os.Getenv("WAYMARK_REQUIRE_ALL") != "" {
		t.Fatal(missing)
	}
	t.Skip(missing)
}

// build builds into a file of its own and returns its bytes. The toolchain must
// have nothing to say.
func build(t *testing.T, dir string) []byte {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out.wasm")
	var stderr bytes.Buffer
	got, err := toolchain.Build(t.Context(), dir, toolchain.Options{Output: out, Offline: true, Stderr: &stderr})
	need(t, err)
	if err != nil || stderr.Len() > 0 {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	wasm, err := os.ReadFile(out)
	if err != nil || got != out {
		t.Fatalf("built %s, %v", got, err)
	}
	return wasm
}

// A scaffold builds at once, without a network, and equal source in two places
// makes equal bytes.
func TestScaffoldsBuild(t *testing.T) {
	for _, lang := range []toolchain.Lang{toolchain.Go, toolchain.C} {
		t.Run(string(lang), func(t *testing.T) {
			compiles(t, lang)
			t.Setenv("GOFLAGS", "-mod=vendor -race") // a user's; neither can be meant
			t.Setenv("GOPROXY", "off")
			var modules [2][]byte
			for i, parent := range []string{t.TempDir(), t.TempDir()} {
				dir := filepath.Join(parent, "acme")
				if err := toolchain.Write(dir, "acme", lang); err != nil {
					t.Fatal(err)
				}
				modules[i] = build(t, dir)
			}
			if !bytes.Equal(modules[0], modules[1]) {
				t.Error("the same source in two directories makes two modules")
			}
			if bytes.Contains(modules[0], []byte(os.TempDir())) {
				t.Error("the module holds the path of its source")
			}
		})
	}
}

// A build that fails leaves the module before it, nothing beside it, and says
// what the toolchain says.
func TestMistakes(t *testing.T) {
	tests := []struct {
		lang  toolchain.Lang
		files map[string]string
		says  string
	}{
		{toolchain.Go, map[string]string{"go.mod": "module example.com/acme\n", "main.go": "package main\n\nfunc main() { nosuch() }\n"}, "undefined: nosuch"},
		{toolchain.C, map[string]string{"main.c": "int f(void) { return nosuch; }\n"}, "undeclared identifier 'nosuch'"},
		{toolchain.C, map[string]string{"kit_test.c": ""}, "_test.c"},
	}
	for _, tt := range tests {
		t.Run(string(tt.lang), func(t *testing.T) {
			compiles(t, tt.lang)
			dir := source(t, tt.files)
			wasm := filepath.Join(dir, "acme.wasm")
			if err := os.WriteFile(wasm, []byte("before"), 0o600); err != nil {
				t.Fatal(err)
			}
			var stderr bytes.Buffer
			_, err := toolchain.Build(t.Context(), dir, toolchain.Options{Offline: true, Stderr: &stderr})
			need(t, err)
			if err == nil || !strings.Contains(err.Error()+stderr.String(), tt.says) {
				t.Errorf("got %v, and on standard error\n%s", err, stderr.String())
			}
			_, err = toolchain.Build(t.Context(), dir, toolchain.Options{Offline: true})
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("without a place for what the tool says the error is %v", err)
			}
			if text, err := os.ReadFile(wasm); err != nil || string(text) != "before" {
				t.Errorf("the module before is %q, %v", text, err)
			}
			if entries, err := os.ReadDir(dir); err != nil || len(entries) != len(tt.files)+1 {
				t.Errorf("left behind: %v, %v", entries, err)
			}
		})
	}
}

func TestCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir := source(t, map[string]string{"go.mod": "module example.com/acme\n", "main.go": "package main\n\nfunc main() {}\n"})
	if _, err := toolchain.Build(ctx, dir, toolchain.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestParseLang(t *testing.T) {
	for _, l := range toolchain.Langs() {
		if got, err := toolchain.ParseLang(string(l)); got != l || err != nil {
			t.Errorf("%s: %q, %v", l, got, err)
		}
	}
	if _, err := toolchain.ParseLang("rust"); err == nil || !strings.Contains(err.Error(), "assemblyscript") {
		t.Errorf("rust: %v", err)
	}
}
