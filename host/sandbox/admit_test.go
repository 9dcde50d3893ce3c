package sandbox_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"waymark/abi"
	"waymark/host/sandbox"
	"waymark/host/vfs"
	"waymark/test/wasmtest"
)

const goodDescription = `{"abi":1,"name":"m","version":"1","resolvers":[{"name":"r","kinds":["instruction_file"],"reads":["a/**"]}]}`

func good() wasmtest.File {
	return wasmtest.File{Describe: goodDescription, Resolve: `{"resources":[]}`}
}

// describing returns a good module with another description.
func describing(text string) wasmtest.File {
	f := good()
	f.Describe = text
	return f
}

// TestStartFunction: one is run, metered, before anything else.
func TestStartFunction(t *testing.T) {
	f := good()
	f.Start = true
	load(t, newHost(t), f.Bytes(), sandbox.Limits{})
}

func TestLoadGood(t *testing.T) {
	m := load(t, newHost(t), good().Bytes(), sandbox.Limits{})
	res, err := m.Resolve(t.Context(), &abi.Request{ABI: 1, Resolver: "r"}, openRun(t, t.TempDir(), vfs.Limits{}))
	if err != nil || len(res.Response.Resources) != 0 {
		t.Errorf("%+v, %v", res, err)
	}
}

// TestRejected: each refusal is one line that says what is wrong and what to
// do.
func TestRejected(t *testing.T) {
	with := func(change func(*wasmtest.File)) []byte {
		f := good()
		change(&f)
		return f.Bytes()
	}
	resolver := func(r string) []byte {
		return describing(`{"abi":1,"name":"m","version":"1","resolvers":[` + r + `]}`).Bytes()
	}
	whole := good().Bytes()
	tests := []struct {
		name, want string
		wasm       []byte
	}{
		{"empty", "the file is empty", nil},
		{"not wasm", "not WebAssembly", []byte("#!/bin/sh\n")},
		{"cut in the preamble", "the file is cut off", whole[:5]},
		{"cut", "not an acceptable module", whole[:len(whole)-20]},
		{"component", "it is a WebAssembly component", []byte("\x00asm\x0d\x00\x01\x00")},
		{"version", "unknown WebAssembly version", []byte("\x00asm\x02\x00\x00\x00")},
		{"no describe", `no exported function "describe"`, with(func(f *wasmtest.File) { f.Describe = "" })},
		{"no resolve", `no exported function "resolve"`, with(func(f *wasmtest.File) { f.NoResolve = true })},
		{"command", "it is a command", with(func(f *wasmtest.File) { f.Exports = []string{"_start"} })},
		{"start function and _initialize", "it has both a start function and _initialize", with(func(f *wasmtest.File) { f.Start = true; f.Exports = []string{"_initialize"} })},
		{"http", "extism:host/env http_request: there is no network", with(func(f *wasmtest.File) { f.Imports = []string{"extism:host/env http_request"} })},
		{"var", "extism:host/env var_get: there is no network and no memory", with(func(f *wasmtest.File) { f.Imports = []string{"extism:host/env var_get"} })},
		{"unknown import", "unknown import env foo", with(func(f *wasmtest.File) { f.Imports = []string{"env foo"} })},
		{"unknown wasi", "unknown import wasi_snapshot_preview1 nope", with(func(f *wasmtest.File) { f.Imports = []string{"wasi_snapshot_preview1 nope"} })},
		{"more memory than allowed", "not an acceptable module: memory", with(func(f *wasmtest.File) { f.Memory = 2000 })},
		{"blank output", "describe answers something that is not a Description", describing(" ").Bytes()},
		{"not JSON", "describe answers something that is not a Description", describing("{").Bytes()},
		{"duplicate key", `"abi" is there twice`, describing(`{"abi":1,"abi":1}`).Bytes()},
		{"other ABI", "it speaks ABI version 2, this host speaks version 1", describing(`{"abi":2}`).Bytes()},
		{"module name", "module name", describing(`{"abi":1,"name":"A b","version":"1","resolvers":[]}`).Bytes()},
		{"module version", "module version", describing(`{"abi":1,"name":"a","version":"","resolvers":[]}`).Bytes()},
		{"no resolvers", "it describes 0 resolvers", resolver("")},
		{"resolver name", `resolver name "../x" is not valid`, resolver(`{"name":"../x","kinds":["skill"]}`)},
		{"no kinds", "declares no kinds", resolver(`{"name":"r","kinds":[]}`)},
		{"unknown kind", `unknown kind "foo"`, resolver(`{"name":"r","kinds":["foo"]}`)},
		{"mcp_server", "declares mcp_server", resolver(`{"name":"r","kinds":["mcp_server"]}`)},
		{"absolute pattern", `invalid pattern "/etc/*"`, resolver(`{"name":"r","kinds":["skill"],"reads":["/etc/*"]}`)},
		{"climbing pattern", `invalid pattern "a/../../*"`, resolver(`{"name":"r","kinds":["skill"],"reads":["a/../../*"]}`)},
		{"broken pattern", `invalid pattern "["`, resolver(`{"name":"r","kinds":["skill"],"reads":["["]}`)},
		{"two of a name", `two resolvers named "r"`, resolver(`{"name":"r","kinds":["skill"]},{"name":"r","kinds":["skill"]}`)},
	}
	h := newHost(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, err := h.Load(t.Context(), tt.wasm, sandbox.Limits{Time: time.Minute})
			if err == nil {
				_ = m.Close()
				t.Fatal("it was accepted")
			}
			if !errors.Is(err, sandbox.ErrRejected) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %q, want one that says %q", err, tt.want)
			}
			if strings.Contains(err.Error(), "\n") || len(err.Error()) > 2000 {
				t.Errorf("not a line: %q", err)
			}
		})
	}
}

// TestBadAnswers: a response that isn't one fails the run.
func TestBadAnswers(t *testing.T) {
	h := newHost(t)
	for name, answer := range map[string]string{
		"not JSON":      "nonsense",
		"cut":           `{"resources":[`,
		"more":          `{"resources":[]} x`,
		"duplicate key": `{"resources":[],"resources":[]}`,
		"NaN":           `{"resources":[{"kind":NaN}]}`,
		"not UTF-8":     "{\"warnings\":[\"\xff\"]}",
		"wrong type":    `{"resources":{}}`,
		"attribute":     `{"resources":[{"kind":"skill","path":"a","attributes":{"x":1}}]}`,
		"deep":          strings.Repeat("[", 20_000),
		"deep unknown":  `{"x":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}`,
	} {
		t.Run(name, func(t *testing.T) {
			f := good()
			f.Resolve = answer
			m := load(t, h, f.Bytes(), sandbox.Limits{Time: time.Minute})
			_, err := m.Resolve(t.Context(), &abi.Request{ABI: 1, Resolver: "r"}, openRun(t, t.TempDir(), vfs.Limits{}))
			if !errors.Is(err, sandbox.ErrAnswer) {
				t.Errorf("error %v, want %v", err, sandbox.ErrAnswer)
			}
		})
	}
}

// TestAttributes: strings and lists of strings arrive as what they are, and
// members that version 1 doesn't know are ignored.
func TestAttributes(t *testing.T) {
	f := good()
	f.Resolve = `{"resources":[{"kind":"instruction_file","path":"a","later":{"x":[1]},"attributes":{"mode":"glob","globs":["*.go"],"none":[]}}]}`
	m := load(t, newHost(t), f.Bytes(), sandbox.Limits{})
	res, err := m.Resolve(t.Context(), &abi.Request{ABI: 1, Resolver: "r"}, openRun(t, t.TempDir(), vfs.Limits{}))
	if err != nil {
		t.Fatal(err)
	}
	got := res.Response.Resources[0].Attributes
	if got["mode"].Text != "glob" || got["mode"].IsList() || len(got["globs"].List) != 1 || !got["none"].IsList() {
		t.Errorf("attributes %+v", got)
	}
}

// TestDamagedCache: an entry that is cut, flipped or empty costs a compilation
// and nothing else.
func TestDamagedCache(t *testing.T) {
	damage := map[string]func([]byte) []byte{
		"empty":   func([]byte) []byte { return nil },
		"cut":     func(b []byte) []byte { return b[:len(b)/2] },
		"flipped": func(b []byte) []byte { b[len(b)/2] ^= 0xff; return b },
	}
	for name, change := range damage {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "cache")
			loadOnce := func() error {
				h := sandbox.New(sandbox.Options{CacheDir: dir})
				m, err := h.Load(context.Background(), good().Bytes(), sandbox.Limits{Time: time.Minute})
				if err != nil {
					return err
				}
				return m.Close()
			}
			if err := loadOnce(); err != nil {
				t.Fatal(err)
			}
			changed := 0
			err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				data, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				changed++
				return os.WriteFile(path, change(data), 0o600)
			})
			if err != nil || changed == 0 {
				t.Fatalf("%d entries changed, %v", changed, err)
			}
			for i := range 2 {
				if err := loadOnce(); err != nil {
					t.Errorf("load %d with a damaged cache: %v", i, err)
				}
			}
		})
	}
}

// TestCacheOfOthers: a directory that others can write to isn't used, since
// what it holds is executed.
func TestCacheOfOthers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	h := sandbox.New(sandbox.Options{CacheDir: dir})
	m, err := h.Load(t.Context(), good().Bytes(), sandbox.Limits{Time: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 0 {
		t.Errorf("the cache holds %v", entries)
	}
}

// TestHasCode: code is there once a module was loaded with a cache, for the
// limits that it was made for.
func TestHasCode(t *testing.T) {
	h := sandbox.New(sandbox.Options{CacheDir: filepath.Join(t.TempDir(), "cache")})
	has := func(h *sandbox.Host, limits sandbox.Limits) bool {
		t.Helper()
		has, err := h.HasCode(good().Bytes(), nil, limits)
		if err != nil {
			t.Fatal(err)
		}
		return has
	}
	if has(h, sandbox.Limits{}) {
		t.Error("there is some before it was made")
	}
	load(t, h, good().Bytes(), sandbox.Limits{})
	if !has(h, sandbox.Limits{}) {
		t.Error("what was made isn't there")
	}
	if has(h, sandbox.Limits{Memory: 1 << 20}) {
		t.Error("it is taken under limits that it wasn't made for")
	}
	if has(sandbox.New(sandbox.Options{}), sandbox.Limits{}) {
		t.Error("there is some without a cache")
	}
}

func FuzzAdmit(f *testing.F) {
	f.Add(good().Bytes())
	f.Add([]byte("\x00asm\x01\x00\x00\x00"))
	f.Add([]byte("\x00asm\x01\x00\x00\x00\x02\xff\xff\xff\xff\x0f"))
	h := sandbox.New(sandbox.Options{})
	f.Fuzz(func(t *testing.T, wasm []byte) {
		m, err := h.Load(t.Context(), wasm, sandbox.Limits{Time: time.Second, Memory: 1 << 20})
		if err == nil {
			_ = m.Close()
		} else if strings.Contains(err.Error(), "\n") {
			t.Errorf("not one line: %q", err)
		}
	})
}
