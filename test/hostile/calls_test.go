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
	"waymark/test/hostile"
	"waymark/test/testenv"
)

// FuzzHostCalls looks for programs of host calls that nobody has thought of.
func FuzzHostCalls(f *testing.F) {
	for _, seed := range []string{"", "\x00\x01\x05", "\x01\x02\x0aabcdefghijklmnop", "\x00\x02\x0b" + "\x03\x10\x20\x30\x40\x50\x60\x70\x80\x90"} {
		f.Add([]byte(seed))
	}
	host := newCallHost(f)
	f.Fuzz(func(t *testing.T, data []byte) { host.try(t, data[:min(len(data), 400)]) })
}

// TestHostCalls does the same with random programs, which takes a tenth of the
// time, since nothing counts what they cover.
func TestHostCalls(t *testing.T) {
	host, seed, begun := newCallHost(t), testenv.Seed(t), time.Now()
	for round := range testenv.Rounds(20, 200, 1_000_000) {
		if time.Since(begun) > callsFor {
			t.Logf("%d rounds", round)
			break
		}
		numbers := testenv.RandOf(seed, uint64(round))
		data := make([]byte, numbers.IntN(200))
		for i := range data {
			data[i] = byte(numbers.IntN(256))
		}
		if host.try(t, data); t.Failed() {
			t.Fatalf("round %d", round)
		}
	}
}

// callsFor is how long the long form goes on.
const callsFor = 30 * time.Minute

// callHost runs programs of host calls in this process.
type callHost struct {
	host   *sandbox.Host
	root   *vfs.Root
	filter *vfs.Filter
}

func newCallHost(t testing.TB) *callHost {
	t.Helper()
	dir := t.TempDir()
	for path, text := range map[string]string{"VICTIM.md": "innocent", "sub/a.md": "a", "sub/b.md": "b"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, path)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, path), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	root, err := vfs.OpenRoot(dir, vfs.RootOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	filter, err := vfs.View{Reads: []string{"**"}}.Compile()
	if err != nil {
		t.Fatal(err)
	}
	return &callHost{sandbox.New(sandbox.Options{}), root, filter}
}

// try makes a program of the bytes and runs it: every call of the guest ends by
// its deadline, in one of the ways that a run may end, within its memory, and
// twice in the same way.
func (h *callHost) try(t *testing.T, data []byte) {
	t.Helper()
	wasm, text := hostile.CallModule(data)
	hung := time.AfterFunc(3*time.Minute, func() { panic("a call doesn't end:\n" + text) })
	defer hung.Stop()
	first := h.outcome(t, wasm)
	if first != late {
		if again := h.outcome(t, wasm); again != first && again != late {
			t.Errorf("it ends with %q, and then with %q", first, again)
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if m.HeapInuse > 1<<30 {
		t.Errorf("the heap has %d MiB", m.HeapInuse>>20)
	}
	if t.Failed() {
		t.Log(text)
	}
}

// callLimits are short, since most programs run until they are stopped.
var callLimits = sandbox.Limits{Time: 20 * time.Millisecond, Memory: 16 << 20}

// late is the outcome in which a clock has a say.
var late = sandbox.ErrDeadline.Error()

// outcome loads a module and runs it once.
func (h *callHost) outcome(t *testing.T, wasm []byte) string {
	t.Helper()
	m, err := h.host.Load(t.Context(), wasm, callLimits)
	switch {
	case err == nil:
	case !errors.Is(err, sandbox.ErrRejected):
		t.Fatalf("loading fails in a way that isn't the module's: %v", err)
	case errors.Is(err, sandbox.ErrDeadline):
		return late
	default:
		return err.Error()
	}
	defer func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}()
	run := h.root.Begin(h.filter, vfs.Limits{})
	defer func() { _ = run.Close() }()
	res, err := m.Resolve(t.Context(), &abi.Request{ABI: abi.Version, Resolver: "r", Root: abi.Root{Name: "root"}}, run)
	if peak := res.PeakMemory; peak > 2*callLimits.Memory {
		t.Errorf("it had %d bytes", peak)
	}
	var failed *sandbox.RunError
	switch {
	case err == nil:
		return "ready"
	case !errors.As(err, &failed):
		t.Fatalf("a run ends with %v", err)
	case errors.Is(err, sandbox.ErrDeadline):
		return late
	}
	return err.Error()
}
