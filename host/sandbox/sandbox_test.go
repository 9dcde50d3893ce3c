package sandbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"waymark/abi"
	"waymark/host/sandbox"
	"waymark/host/vfs"
	"waymark/test/built"
	"waymark/test/wasmtest"
)

// cacheDir is shared by all tests: compiling a Go guest takes seconds.
var cacheDir = built.CodeCache()

// probeWasm is the module in testdata/probe.
var probeWasm = sync.OnceValues(func() ([]byte, error) {
	path, err := built.Guest(context.Background(), "./testdata/probe")
	if err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

func newHost(t *testing.T) *sandbox.Host {
	t.Helper()
	return sandbox.New(sandbox.Options{CacheDir: cacheDir})
}

// load loads a module. Without a limit of time it has more than on a user's
// machine, since it may stand still here. With a short one, which is for a run
// that never ends, the module has to describe itself as quickly: where it can't,
// the limit is a longer one, which the module reports.
func load(t *testing.T, h *sandbox.Host, wasm []byte, limits sandbox.Limits) *sandbox.Module {
	t.Helper()
	if limits.Time == 0 {
		limits.Time = time.Minute
	}
	m, err := h.Load(t.Context(), wasm, limits)
	for limits.Time < time.Minute && err != nil && strings.Contains(err.Error(), "describe fails: deadline exceeded") {
		limits.Time *= 4
		m, err = h.Load(t.Context(), wasm, limits)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// TestSlowToDescribe: a module that can't say in time who it is may not be at
// fault, and the error tells that from what another try won't mend.
func TestSlowToDescribe(t *testing.T) {
	endless := wasmtest.MustWAT(`(module
		(func (export "describe") (result i32) (loop $again (br $again)) (i32.const 0))
		(func (export "resolve") (result i32) (i32.const 0)))`)
	_, err := newHost(t).Load(t.Context(), endless, sandbox.Limits{Time: 50 * time.Millisecond})
	if !errors.Is(err, sandbox.ErrRejected) || !errors.Is(err, sandbox.ErrDeadline) {
		t.Errorf("got %v", err)
	}
	_, err = newHost(t).Load(t.Context(), describing("{").Bytes(), sandbox.Limits{Time: time.Minute})
	if !errors.Is(err, sandbox.ErrRejected) || errors.Is(err, sandbox.ErrDeadline) {
		t.Errorf("a bad description: %v", err)
	}
}

func loadProbe(t *testing.T, limits sandbox.Limits) *sandbox.Module {
	t.Helper()
	wasm, err := probeWasm()
	if err != nil {
		t.Fatal(err)
	}
	return load(t, newHost(t), wasm, limits)
}

// openRun begins a run on a root that shows everything.
func openRun(t *testing.T, dir string, limits vfs.Limits) *vfs.Run {
	t.Helper()
	root, err := vfs.OpenRoot(dir, vfs.RootOptions{})
	if err != nil {
		t.Fatal(err)
	}
	filter, err := vfs.View{Reads: []string{"**"}}.Compile()
	if err != nil {
		t.Fatal(err)
	}
	run := root.Begin(filter, limits)
	t.Cleanup(func() { _ = run.Close(); _ = root.Close() })
	return run
}

// ask runs a resolver of the probe with a config.
func ask(ctx context.Context, t *testing.T, m *sandbox.Module, run *vfs.Run, resolver string, config map[string]any) (*sandbox.Result, error) {
	t.Helper()
	raw, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	return m.Resolve(ctx, &abi.Request{ABI: abi.Version, Resolver: resolver, Root: abi.Root{Name: "root"}, Config: raw}, run)
}

func TestDescription(t *testing.T) {
	m := loadProbe(t, sandbox.Limits{Time: time.Minute})
	d := m.Description()
	if d.Name != "probe" || d.Version != "1.0.0" || len(d.Resolvers) != 4 {
		t.Errorf("description %+v", d)
	}
	if len(m.Digest()) != 64 {
		t.Errorf("digest %q", m.Digest())
	}
}

// TestFailures: what a run can end with, and what the error says.
func TestFailures(t *testing.T) {
	short := loadProbe(t, sandbox.Limits{Time: 500 * time.Millisecond})
	long := loadProbe(t, sandbox.Limits{Time: time.Minute})
	tests := []struct {
		op   string
		kind error
		text string
	}{
		{"loop", sandbox.ErrDeadline, "probe/wasi: deadline exceeded: stopped after " + short.Limits().Time.String()},
		{"panic", sandbox.ErrCrashed, "panic: probe: this is the panic text"},
		{"error", sandbox.ErrGuest, "probe: this is the error text"},
		{"exit", sandbox.ErrCrashed, "it exited with code 0"},
		{"memory", sandbox.ErrCrashed, "it needs more memory than the 64 MiB that a run may have: fatal error: out of memory, in "},
		{"output", sandbox.ErrAnswer, "1048576 are allowed"},
	}
	for _, tt := range tests {
		t.Run(tt.op, func(t *testing.T) {
			m := long
			if tt.kind == sandbox.ErrDeadline {
				m = short
			}
			run := openRun(t, t.TempDir(), vfs.Limits{})
			_, err := ask(t.Context(), t, m, run, "wasi", map[string]any{"op": tt.op})
			if !errors.Is(err, tt.kind) {
				t.Fatalf("error %v, want %v", err, tt.kind)
			}
			if !strings.Contains(err.Error(), tt.text) {
				t.Errorf("error %q doesn't say %q", err, tt.text)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("error has more than one line: %q", err)
			}
			// The next run isn't touched by what happened.
			res, err := ask(t.Context(), t, long, run, "wasi", map[string]any{"op": "calls"})
			if err != nil || res.Response.Warnings[0] != "1" {
				t.Errorf("the run after it: %+v, %v", res, err)
			}
		})
	}
}

func TestCanceledByCaller(t *testing.T) {
	m := loadProbe(t, sandbox.Limits{Time: time.Minute})
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	_, err := ask(ctx, t, m, openRun(t, t.TempDir(), vfs.Limits{}), "wasi", map[string]any{"op": "loop"})
	if !errors.Is(err, sandbox.ErrCanceled) {
		t.Errorf("error %v, want %v", err, sandbox.ErrCanceled)
	}
}

// TestNothingLeaksBetweenRuns: every run sees a fresh instance in a world that
// never changes, and in which time doesn't pass.
func TestNothingLeaksBetweenRuns(t *testing.T) {
	t.Setenv("WAYMARK_SECRET", "in the environment")
	m := loadProbe(t, sandbox.Limits{Time: time.Minute})
	var first string
	for i := range 5 {
		run := openRun(t, t.TempDir(), vfs.Limits{})
		res, err := ask(t.Context(), t, m, run, "wasi", map[string]any{"op": "calls"})
		if err != nil || res.Response.Warnings[0] != "1" {
			t.Fatalf("run %d: %+v, %v; a variable survived", i, res, err)
		}
		res, err = ask(t.Context(), t, m, run, "wasi", map[string]any{"op": "world"})
		if err != nil {
			t.Fatal(err)
		}
		world := strings.Join(res.Response.Warnings, "\n")
		if first == "" {
			first = world
		}
		if world != first {
			t.Errorf("run %d sees another world:\n%s\nthan the first:\n%s", i, world, first)
		}
	}
	for _, line := range []string{"args ", "env ", "cwd /", "stdin ", "time 2022-01-01T00:00:00Z"} {
		if !strings.Contains(first+"\n", line+"\n") {
			t.Errorf("the world has no line %q:\n%s", line, first)
		}
	}
}

// TestSleepReturnsAtOnce: an hour's sleep costs nothing, since time is made up.
func TestSleepReturnsAtOnce(t *testing.T) {
	m := loadProbe(t, sandbox.Limits{Time: time.Minute})
	res, err := ask(t.Context(), t, m, openRun(t, t.TempDir(), vfs.Limits{}), "wasi", map[string]any{"op": "sleep"})
	if err != nil || res.Response.Warnings[0] != "woke up" {
		t.Errorf("%+v, %v", res, err)
	}
}

func TestNoWrites(t *testing.T) {
	m := loadProbe(t, sandbox.Limits{Time: time.Minute})
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("as it was"), 0o600); err != nil {
		t.Fatal(err)
	}
	res, err := ask(t.Context(), t, m, openRun(t, dir, vfs.Limits{}), "wasi", map[string]any{"op": "write"})
	if err != nil {
		t.Fatal(err)
	}
	for i, errno := range res.Response.Warnings {
		if errno != "EROFS" {
			t.Errorf("attempt %d to write answers %s, want EROFS", i, errno)
		}
	}
	data, err := os.ReadFile(filepath.Join(dir, "file"))
	if err != nil || string(data) != "as it was" {
		t.Errorf("the file holds %q, %v", data, err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("the directory holds %v", entries)
	}
}

func TestLogsAreBounded(t *testing.T) {
	m := loadProbe(t, sandbox.Limits{Time: time.Minute, Logs: 1000})
	res, err := ask(t.Context(), t, m, openRun(t, t.TempDir(), vfs.Limits{}), "wasi", map[string]any{"op": "logs"})
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Logs) == 0 || res.Logs[0] != (sandbox.LogLine{Level: "info", Text: "a line of a flood"}) {
		t.Errorf("logs %v", res.Logs)
	}
	if n := len(res.Logs); n > 1000/len("a line of a flood") || n+res.LogsDropped != 5_000 {
		t.Errorf("%d lines kept, %d dropped", n, res.LogsDropped)
	}
}

// TestFileLimitEndsTheRun: a limit is not an errno that a guest could go on
// after.
func TestFileLimitEndsTheRun(t *testing.T) {
	m := loadProbe(t, sandbox.Limits{Time: time.Minute})
	dir := t.TempDir()
	for _, name := range []string{"a", "b", "c"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, resolver := range []string{"wasi", "fs"} {
		_, err := ask(t.Context(), t, m, openRun(t, dir, vfs.Limits{Entries: 2}), resolver, map[string]any{"op": "list", "path": "2e"})
		if !errors.Is(err, sandbox.ErrLimit) || !strings.Contains(err.Error(), "entries = 2") {
			t.Errorf("%s: error %v, want %v", resolver, err, sandbox.ErrLimit)
		}
	}
}

// TestTokensAreWithheld: what a resolver of MCP configurations says could hold
// a token, whichever way it says it.
func TestTokensAreWithheld(t *testing.T) {
	const token = "ghp_0123456789"
	m := loadProbe(t, sandbox.Limits{Time: time.Minute})
	for _, text := range []string{token, "panic " + token} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, ".mcp.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		root, err := vfs.OpenRoot(dir, vfs.RootOptions{})
		if err != nil {
			t.Fatal(err)
		}
		filter, err := vfs.View{Reads: []string{".mcp.json"}, MCPOnly: true}.Compile()
		if err != nil {
			t.Fatal(err)
		}
		run := root.Begin(filter, vfs.Limits{})
		res, err := ask(t.Context(), t, m, run, "tokens", map[string]any{})
		if err == nil || strings.Contains(err.Error(), token) || !strings.Contains(err.Error(), "withheld") {
			t.Errorf("error %v", err)
		}
		if len(res.Logs) != 0 || res.LogsDropped != 1 {
			t.Errorf("logs %v, %d dropped", res.Logs, res.LogsDropped)
		}
		if err := errors.Join(run.Close(), root.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestConcurrentRuns: one module serves many runs at a time, each with its own
// root.
func TestConcurrentRuns(t *testing.T) {
	m := loadProbe(t, sandbox.Limits{Time: time.Minute})
	var wg sync.WaitGroup
	for i := range 8 {
		dir := t.TempDir()
		content := strings.Repeat("x", i+1)
		if err := os.WriteFile(filepath.Join(dir, "f"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		run := openRun(t, dir, vfs.Limits{})
		wg.Go(func() {
			res, err := ask(t.Context(), t, m, run, "wasi", map[string]any{"op": "stat", "path": "66"})
			if err != nil {
				t.Error(err)
				return
			}
			var a struct{ Size int }
			if err := json.Unmarshal([]byte(res.Response.Warnings[0]), &a); err != nil || a.Size != i+1 {
				t.Errorf("size %d, want %d (%v)", a.Size, i+1, err)
			}
		})
	}
	wg.Wait()
}

func TestCloseTwice(t *testing.T) {
	wasm, err := probeWasm()
	if err != nil {
		t.Fatal(err)
	}
	m, err := newHost(t).Load(t.Context(), wasm, sandbox.Limits{Time: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(m.Close(), m.Close()); err != nil {
		t.Error(err)
	}
}

// TestFuel: equal runs use equal fuel, and a limit on it ends a run without a
// clock.
func TestFuel(t *testing.T) {
	m := loadProbe(t, sandbox.Limits{Time: time.Minute, Fuel: 1_000_000_000})
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "f"), []byte(strings.Repeat("x", 10_000)), 0o600); err != nil {
		t.Fatal(err)
	}
	var first *sandbox.Result
	for range 3 {
		res, err := ask(t.Context(), t, m, openRun(t, dir, vfs.Limits{}), "wasi", map[string]any{"op": "read", "path": "66", "n": 10_000})
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = res
		}
		if res.Fuel != first.Fuel || res.PeakMemory != first.PeakMemory {
			t.Errorf("fuel %d and memory %d, the first time %d and %d", res.Fuel, res.PeakMemory, first.Fuel, first.PeakMemory)
		}
	}
	if first.Fuel <= 0 || first.PeakMemory < 64<<10 {
		t.Errorf("fuel %d, memory %d", first.Fuel, first.PeakMemory)
	}
	_, err := ask(t.Context(), t, m, openRun(t, dir, vfs.Limits{}), "wasi", map[string]any{"op": "loop"})
	if !errors.Is(err, sandbox.ErrLimit) || !strings.Contains(err.Error(), "fuel = 1000000000 is used up") {
		t.Errorf("error %v, want %v", err, sandbox.ErrLimit)
	}
}
