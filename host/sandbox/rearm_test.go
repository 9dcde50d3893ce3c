package sandbox_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"waymark/abi"
	"waymark/host/sandbox"
	"waymark/host/vfs"
	"waymark/test/hostile"
	"waymark/test/testenv"
)

// rearmed runs each of a module's resolvers, and compares the instance that is made ready for
// another run with a new one, to the last byte. It returns how often there was one.
func rearmed(t *testing.T, wasm []byte, dir string, limits sandbox.Limits, rounds int) (n int) {
	t.Helper()
	m, err := sandbox.New(sandbox.Options{CacheDir: cacheDir, Output: true}).Load(t.Context(), wasm, limits)
	if errors.Is(err, sandbox.ErrRejected) {
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = m.Close() }()
	for range rounds {
		for _, r := range m.Description().Resolvers {
			input, err := json.Marshal(abi.Request{ABI: abi.Version, Resolver: r.Name, Root: abi.Root{Name: "root"}})
			if err != nil {
				t.Fatal(err)
			}
			again, fresh, err := m.Rearmed(t.Context(), input, openRun(t, dir, vfs.Limits{}))
			if again == nil {
				t.Logf("%s: no other run (%v)", r.Name, err)
				continue
			}
			n++
			compareStates(t, r.Name, []*sandbox.State{again}, []*sandbox.State{fresh})
		}
	}
	return n
}

// TestRearmed: an instance that is used again can't be told from a new one, whatever its run
// did: the built-in resolvers, the hostile corpus, random programs of host calls.
func TestRearmed(t *testing.T) {
	if _, err := os.Stat("/proc/self/pagemap"); err != nil || runtime.GOOS != "linux" {
		t.Skip("the system doesn't tell which pages were written")
	}
	t.Run("built-in", func(t *testing.T) {
		if n, want := rearmed(t, builtinWasm(t), workspace(t), sandbox.Limits{Time: time.Minute}, 3), 9; n < want {
			t.Errorf("%d instances had another run, want %d", n, want)
		}
	})
	limits := sandbox.Limits{Time: time.Minute, Memory: 16 << 20, Fuel: 6_000_000}
	dir := workspace(t)
	t.Run("corpus", func(t *testing.T) {
		cases := slices.DeleteFunc(hostile.Cases(), func(c hostile.Case) bool {
			return c.Module == nil || c.Timed() || c.Class == hostile.ClassCompiling || c.Class == hostile.ClassLoading
		})
		testenv.RandOf(testenv.Seed(t), 0).Shuffle(len(cases), func(i, j int) { cases[i], cases[j] = cases[j], cases[i] })
		total := 0
		for _, c := range cases[:min(testenv.Rounds(12, 100, len(cases)), len(cases))] {
			t.Run(c.Name, func(t *testing.T) { total += rearmed(t, c.Module(), dir, limits, 2) })
		}
		if total == 0 {
			t.Error("no instance had another run")
		}
		t.Logf("%d instances had another run", total)
	})
	t.Run("random", func(t *testing.T) {
		seed, total := testenv.Seed(t), 0
		for round := range testenv.Rounds(6, 60, 100_000) {
			numbers := testenv.RandOf(seed, uint64(round))
			data := make([]byte, numbers.IntN(200))
			for i := range data {
				data[i] = byte(numbers.IntN(256))
			}
			wasm, text := hostile.CallModule(data)
			if total += rearmed(t, wasm, dir, limits, 1); t.Failed() {
				t.Fatalf("round %d:\n%s", round, text)
			}
		}
		t.Logf("%d instances had another run", total)
	})
}

// TestSpoiled: what a run leaves behind in wazero, and nothing can take away, ends with its
// instance. The dirtiest runs that leave nothing behind have it used again.
func TestSpoiled(t *testing.T) {
	const (
		path = `(i32.store8 (i32.const 600) (i32.const 46))`
		open = path + ` (drop (call $path_open (i32.const 3) (i32.const 0) (i32.const 600) (i32.const 1) (i32.const 0) (i64.const 0) (i64.const 0) (i32.const 0) (i32.const 608)))`
		// The preopen is used in describe, as Go guests do.
		used = `(drop (call $fd_filestat_get (i32.const 3) (i32.const 600)))`
	)
	for _, tt := range []struct {
		name, fields, describe, resolve string
		again                           bool
	}{
		{name: "nothing", again: true},
		{"everything", `(global $g (mut i64) (i64.const 3))`, used, `(global.set $g (i64.const 9))
			(memory.fill (i32.const 600) (i32.const 255) (i32.const 700000))
			(call $say (call $alloc (i64.const 300000)))
			(drop (call $random_get (i32.const 600) (i32.const 13)))
			(drop (call $clock_time_get (i32.const 0) (i64.const 0) (i32.const 600)))
			(i32.store (i32.const 600) (i32.const 0)) (i32.store (i32.const 604) (i32.const 20)) (drop (call $fd_write (i32.const 2) (i32.const 600) (i32.const 1) (i32.const 620)))
			` + used + open + `(drop (call $fd_readdir (i32.const 4) (i32.const 700) (i32.const 100) (i64.const 0) (i32.const 608))) (drop (call $fd_close (i32.const 4)))`, true},
		{"another's directory left open", ``, used, open, false},
		{"two opened, one closed", ``, used, open + open + `(drop (call $fd_close (i32.const 5)))`, false},
		{"preopen opened by the run", ``, ``, used, false},
		{"preopen listed", ``, used, `(drop (call $fd_readdir (i32.const 3) (i32.const 700) (i32.const 100) (i64.const 0) (i32.const 608)))`, false},
		{"preopen closed", ``, used, `(drop (call $fd_close (i32.const 3)))`, false},
		{"stream closed", ``, used, `(drop (call $fd_close (i32.const 2)))`, false},
		{"renumbered", ``, used, open + `(drop (call $fd_renumber (i32.const 4) (i32.const 9))) (drop (call $fd_close (i32.const 9)))`, false},
		{"renumbered to itself", ``, used, open + `(drop (call $fd_renumber (i32.const 4) (i32.const 4)))`, false},
		{"stream sought", ``, used, `(drop (call $fd_seek (i32.const 1) (i64.const 0) (i32.const 0) (i32.const 620)))`, false},
		{"stream told", ``, used, `(drop (call $fd_tell (i32.const 0) (i32.const 620)))`, false},
		{"flags of a stream", ``, used, `(drop (call $fd_fdstat_set_flags (i32.const 0) (i32.const 4)))`, true}, // which keeps none
		{"memory grown", ``, used, `(drop (memory.grow (i32.const 1)))`, false},
		{"trapped", ``, used, `unreachable`, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			imports := `
  (import "wasi_snapshot_preview1" "fd_renumber" (func $fd_renumber (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_seek" (func $fd_seek (param i32 i64 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_tell" (func $fd_tell (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_fdstat_set_flags" (func $fd_fdstat_set_flags (param i32 i32) (result i32)))`
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "a"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			n := rearmed(t, statefulWith(t, imports, tt.fields, tt.describe, tt.resolve), dir, sandbox.Limits{Time: time.Minute}, 2)
			if again := n == 2; again != tt.again && runtime.GOOS == "linux" {
				t.Errorf("it had another run %d times of 2", n)
			}
		})
	}
}
