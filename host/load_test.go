package host_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"waymark/host"
	"waymark/host/plugin"
	"waymark/host/sandbox"
	"waymark/snapshot"
	"waymark/test/contracts/vfstest"
)

func limitsOf(response int) sandbox.Limits { return sandbox.Limits{Response: response} }

// TestLoad: which files become plugins, and why the others don't.
func TestLoad(t *testing.T) {
	t.Parallel()
	module := guest(t, "./testdata/dropin")
	plain := func(files map[string][]byte) func(*testing.T) string {
		return func(t *testing.T) string { return pluginDir(t, files) }
	}
	pin := func(sum string) []plugin.Entry { return []plugin.Entry{{Name: "dropin", SHA256: sum}} }
	tests := []struct {
		name    string
		dir     func(t *testing.T) string
		entries []plugin.Entry
		want    []string // "file state error…"
	}{
		{"no directory", func(t *testing.T) string { return filepath.Join(t.TempDir(), "none") }, nil, nil},
		{"other files", plain(map[string][]byte{"README": nil, "x.wat": nil}), nil, nil},
		{"good", plain(map[string][]byte{"a.wasm": module}), nil, []string{"a.wasm ready"}},
		{
			"bad ones beside a good one",
			plain(map[string][]byte{"a.wasm": []byte("#!/bin/sh"), "b.wasm": nil, "c.wasm": module, "d.wasm": module[:1000], "e.wasm": []byte("\x00asm\x01\x00\x00\x00")}),
			nil,
			[]string{
				"a.wasm rejected not WebAssembly", "b.wasm rejected the file is empty", "c.wasm ready",
				"d.wasm rejected the file ends in the middle of a section, after 1000 bytes", `e.wasm rejected no exported function "describe"`,
			},
		},
		{
			"one name twice", plain(map[string][]byte{"a.wasm": module, "b.wasm": module}), nil,
			[]string{"a.wasm ready", `b.wasm rejected the name "dropin" is taken by `},
		},
		{
			"pinned to another digest", plain(map[string][]byte{"a.wasm": module}), pin(strings.Repeat("0", 64)),
			[]string{"a.wasm needs_approval the file is not the one that the configuration pins"},
		},
		{"pinned", plain(map[string][]byte{"a.wasm": module}), pin(strings.ToUpper(digest(module))), []string{"a.wasm ready"}},
		{
			"a file that everyone may write",
			func(t *testing.T) string {
				return chmod(t, pluginDir(t, map[string][]byte{"a.wasm": module, "b.wasm": nil}), "a.wasm", 0o666)
			}, nil,
			[]string{"a.wasm rejected writable by everyone: chmod o-w it", "b.wasm rejected the file is empty"},
		},
		{
			"a directory that everyone may write",
			func(t *testing.T) string {
				return chmod(t, pluginDir(t, map[string][]byte{"a.wasm": module}), ".", 0o777)
			},
			nil,
			[]string{". rejected writable by everyone: chmod o-w it"},
		},
		{
			"what isn't a file",
			func(t *testing.T) string {
				return filepath.Join(vfstest.Build(t, []string{"p/a.wasm/x = x", "p/b.wasm |", "p/c.wasm -> nothing", "p/d.wasm -> d.wasm"}), "p")
			},
			nil,
			[]string{
				"a.wasm rejected not a regular file", "b.wasm rejected not a regular file", "c.wasm rejected ",
				"d.wasm rejected ",
			},
		},
		{
			"a file for a directory",
			func(t *testing.T) string {
				return filepath.Join(pluginDir(t, map[string][]byte{"a.wasm": module}), "a.wasm")
			},
			nil,
			[]string{". rejected not a directory: name the directory that holds the .wasm files"},
		},
		{
			"a name with pattern characters",
			func(t *testing.T) string {
				return filepath.Join(vfstest.Build(t, []string{`p[1]*\/a.wasm = x`}), `p[1]*\`)
			},
			nil,
			[]string{"a.wasm rejected not WebAssembly"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := tt.dir(t)
			h := newHost(t, host.Options{PluginDirs: []string{dir}, Plugins: tt.entries})
			plugins := refresh(t, h).Snapshot.Plugins
			if len(plugins) != len(tt.want) {
				t.Fatalf("%d plugins %+v, want %d", len(plugins), plugins, len(tt.want))
			}
			for i, p := range plugins {
				file, err := filepath.Rel(dir, p.Path)
				if err != nil {
					t.Fatal(err)
				}
				if got := strings.TrimSpace(file + " " + string(p.State) + " " + p.Error); !strings.HasPrefix(got, tt.want[i]) {
					t.Errorf("got %q, want %q", got, tt.want[i])
				}
				if p.State == snapshot.PluginReady && (p.Name != "dropin" || p.Version != "0.1.0" || p.Digest != digest(module) ||
					!slices.Equal(p.Resolvers, []string{"rows", "tokens"})) {
					t.Errorf("plugin %+v", p)
				}
			}
		})
	}
}

func chmod(t *testing.T, dir, name string, mode os.FileMode) string {
	t.Helper()
	if err := os.Chmod(filepath.Join(dir, name), mode); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestRank: of two modules that find the same thing, the one that comes first
// by rank says what it is; what is built in comes before both.
func TestRank(t *testing.T) {
	t.Parallel()
	dir := vfstest.Build(t, []string{"docs/a.md = A", "AGENTS.md = a"})
	files := map[string][]byte{"a.wasm": guest(t, "./testdata/dropin"), "b.wasm": guest(t, "./testdata/second")}
	config := func(name string) map[string][]byte {
		return map[string][]byte{"rows": []byte(`{"row": ["command|docs/a.md|docs/a.md||` + name + `"]}`)}
	}
	for _, tt := range []struct {
		first, second int
		want          string
	}{{0, 0, "first"}, {10, 20, "first"}, {20, 10, "second"}, {0, 99, "second"}, {100, 0, "first"}} {
		h := newHost(t, host.Options{
			Builtin: module(builtin(t)), PluginDirs: []string{pluginDir(t, files)}, Roots: []host.RootSpec{{Path: dir}},
			Plugins: []plugin.Entry{
				{Name: "dropin", Rank: tt.first, Config: config("first")},
				{Name: "second", Rank: tt.second, Config: config("second")},
			},
		})
		s := refresh(t, h).Snapshot
		compare(t, "resources", lines(s.Resources, dir), []string{"command:docs/a.md ok", "instruction_file:AGENTS.md ok"})
		if s.Resources[0].Name != tt.want {
			t.Errorf("ranks %d and %d: %s wins", tt.first, tt.second, s.Resources[0].Name)
		}
	}
}

// TestNoNativeFallback: what sandboxed code doesn't find isn't found.
func TestNoNativeFallback(t *testing.T) {
	t.Parallel()
	dir := vfstest.Build(t, issueTree())
	tests := []struct {
		name  string
		wasm  []byte
		state snapshot.PluginState
		err   string
	}{
		{"a module that panics", guest(t, "./testdata/panics"), snapshot.PluginFailing, "crashed: unreachable: panic: the built-in resolver is broken"},
		{"garbage", []byte("not a module"), snapshot.PluginRejected, "not WebAssembly"},
		{"nothing", []byte{}, snapshot.PluginRejected, "the file is empty"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			logs := &logBuffer{}
			h := newHost(t, host.Options{Builtin: module(tt.wasm), Roots: []host.RootSpec{{Path: dir}}, Logger: debugLogger(logs)})
			s := refresh(t, h).Snapshot
			if len(s.Resources) != 0 {
				t.Errorf("found %v", lines(s.Resources, dir))
			}
			p := s.Plugins[0]
			if p.State != tt.state || !strings.Contains(p.Error, tt.err) || p.Path != plugin.BuiltinPath {
				t.Errorf("plugin %+v, want %s and %q", p, tt.state, tt.err)
			}
			if !strings.Contains(logs.String(), tt.err) {
				t.Errorf("the log doesn't say it: %s", logs)
			}
		})
	}
}

func TestLoadCanceled(t *testing.T) {
	t.Parallel()
	h, err := host.New(testOptions(host.Options{Builtin: module(builtin(t))}))
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := h.Load(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
