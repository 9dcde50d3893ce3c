package hostile_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"waymark/abi"
	"waymark/host/sandbox"
	"waymark/host/vfs"
	"waymark/internal/hostile"
)

// FuzzHostCalls runs random programs of host calls in this process: every call
// of the guest ends by its deadline, in one of the ways that a run may end,
// within its memory, and twice in the same way.
func FuzzHostCalls(f *testing.F) {
	for _, seed := range []string{"", "\x00\x01\x05", "\x01\x02\x0aabcdefghijklmnop", "\x00\x02\x0b" + "\x03\x10\x20\x30\x40\x50\x60\x70\x80\x90"} {
		f.Add([]byte(seed))
	}
	dir := f.TempDir()
	for path, text := range map[string]string{"VICTIM.md": "innocent", "sub/a.md": "a", "sub/b.md": "b"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, path)), 0o700); err != nil {
			f.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, path), []byte(text), 0o600); err != nil {
			f.Fatal(err)
		}
	}
	root, err := vfs.OpenRoot(dir, vfs.RootOptions{})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = root.Close() })
	filter, err := vfs.View{Reads: []string{"**"}}.Compile()
	if err != nil {
		f.Fatal(err)
	}
	h := sandbox.New(sandbox.Options{Spares: 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		wasm, text := hostile.CallModule(data[:min(len(data), 400)])
		hung := time.AfterFunc(time.Minute, func() { panic("a call doesn't end:\n" + text) })
		defer hung.Stop()
		first := callOutcome(t, h, root, filter, wasm)
		if again := callOutcome(t, h, root, filter, wasm); again != first && !late(first) && !late(again) {
			t.Errorf("it ends with %q, and then with %q:\n%s", first, again, text)
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		if m.HeapInuse > 1<<30 {
			t.Errorf("the heap has %d MiB:\n%s", m.HeapInuse>>20, text)
		}
	})
}

// callLimits are short, since most programs run until they are stopped.
var callLimits = sandbox.Limits{Time: 20 * time.Millisecond, Memory: 16 << 20}

// late reports whether a clock had a say in an outcome.
func late(outcome string) bool { return outcome == sandbox.ErrDeadline.Error() }

// callOutcome loads a module and runs it once.
func callOutcome(t *testing.T, h *sandbox.Host, root *vfs.Root, filter *vfs.Filter, wasm []byte) string {
	t.Helper()
	m, err := h.Load(t.Context(), wasm, callLimits)
	if err != nil {
		if !errors.Is(err, sandbox.ErrRejected) {
			t.Fatalf("loading fails in a way that isn't the module's: %v", err)
		}
		if errors.Is(err, sandbox.ErrDeadline) {
			return sandbox.ErrDeadline.Error()
		}
		return err.Error()
	}
	defer func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}()
	run := root.Begin(filter, vfs.Limits{})
	defer func() { _ = run.Close() }()
	res, err := m.Resolve(t.Context(), &abi.Request{ABI: abi.Version, Resolver: "r", Root: abi.Root{Name: "root"}}, run)
	if peak := res.PeakMemory; peak > 2*callLimits.Memory {
		t.Errorf("it had %d bytes", peak)
	}
	if err == nil {
		return "ready"
	}
	var failed *sandbox.RunError
	if !errors.As(err, &failed) {
		t.Fatalf("a run ends with %v", err)
	}
	if errors.Is(err, sandbox.ErrDeadline) {
		return sandbox.ErrDeadline.Error()
	}
	return err.Error()
}
