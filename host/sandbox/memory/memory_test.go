package memory_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"sync"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"
	"golang.org/x/sys/unix"

	"waymark/host/sandbox/guesttest"
	"waymark/host/sandbox/memory"
	"waymark/test/built"
	"waymark/test/wasmtest"
)

const page = 64 << 10

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestGrow(t *testing.T) {
	a := new(memory.Allocator)
	defer func() { must(t, a.Close()) }()
	m := a.Allocate(2*page, 4*page)
	first := m.Reallocate(2 * page)
	if len(first) != 2*page || a.Current() != 2*page {
		t.Fatalf("%d bytes, current %d", len(first), a.Current())
	}
	if !bytes.Equal(first, make([]byte, 2*page)) {
		t.Error("new memory isn't zero")
	}
	first[0], first[2*page-1] = 1, 2
	second := m.Reallocate(4 * page)
	if len(second) != 4*page || &first[0] != &second[0] || second[2*page-1] != 2 || second[2*page] != 0 {
		t.Error("growing moved or changed what was there")
	}
	if m.Reallocate(5*page) != nil {
		t.Error("it grows beyond its maximum")
	}
	other := a.Allocate(0, page)
	if got := other.Reallocate(0); len(got) != 0 {
		t.Errorf("an empty memory has %d bytes", len(got))
	}
	other.Reallocate(page)
	if a.Current() != 5*page || a.Peak() != 5*page {
		t.Errorf("current %d, peak %d", a.Current(), a.Peak())
	}
	must(t, a.Close())
	must(t, a.Close())
	if a.Current() != 0 || a.Peak() != 5*page {
		t.Errorf("after Close: current %d, peak %d", a.Current(), a.Peak())
	}
}

// TestFreeKeeps: freeing by wazero, which can happen in the middle of a call,
// leaves the memory readable; Close ends it.
func TestFreeKeeps(t *testing.T) {
	a := new(memory.Allocator)
	m := a.Allocate(page, page)
	b := m.Reallocate(page)
	b[7] = 7
	m.Free()
	if b[7] != 7 {
		t.Error("the memory is gone")
	}
	must(t, a.Close())
}

// refusal is what a first allocation panics with.
func refusal(a *memory.Allocator, size uint64) (err error) {
	defer func() { err, _ = recover().(error) }()
	a.Allocate(size, size).Reallocate(size)
	return nil
}

func TestLimits(t *testing.T) {
	a := new(memory.Allocator)
	m := a.Allocate(page, 4*page)
	m.Reallocate(page)
	if m.Reallocate(5*page) != nil || m.Reallocate(4*page) == nil {
		t.Error("the memory's limit is not where it should be")
	}
	must(t, a.Close())
	if err := refusal(a, page); !errors.Is(err, memory.ErrRefused) {
		t.Errorf("a closed allocator allocates: %v", err)
	}
	if err := refusal(new(memory.Allocator), 1<<62); !errors.Is(err, memory.ErrRefused) {
		t.Errorf("more than there is: %v", err)
	}
}

// TestManyAtOnce: the accounts are exact while instances come and go.
func TestManyAtOnce(t *testing.T) {
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				a := new(memory.Allocator)
				m := a.Allocate(page, 16*page)
				for n := range uint64(16) {
					if b := m.Reallocate((n + 1) * page); b[len(b)-1] != 0 {
						t.Error("new memory isn't zero")
					}
					if size := int64(n+1) * page; a.Current() != size || a.Peak() != size {
						t.Errorf("%d bytes, %d at most, want %d", a.Current(), a.Peak(), size)
					}
				}
				if err := a.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// compile compiles a module as the host does.
func compile(t testing.TB, wasm []byte) *guesttest.Guest {
	t.Helper()
	cache := wazero.NewCompilationCache()
	g, err := guesttest.Load(context.Background(), wazero.NewRuntimeConfig().WithCompilationCache(cache).WithMemoryLimitPages(1024), wasm)
	must(t, err)
	t.Cleanup(func() {
		must(t, g.Close())
		must(t, cache.Close(context.Background()))
	})
	return g
}

// run instantiates, calls describe and closes. allocator may be nil.
func run(t testing.TB, g *guesttest.Guest, a *memory.Allocator) {
	t.Helper()
	ctx := context.Background()
	if a != nil {
		ctx = a.Context(ctx)
	}
	must(t, g.Describe(ctx))
	if a != nil {
		must(t, a.Close())
	}
}

func mappings(t testing.TB) int {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Skip("needs /proc/self/maps")
	}
	return bytes.Count(maps, []byte("\n"))
}

// TestInstances: an instance's memory is seen, and a thousand instances leave no
// mapping behind.
func TestInstances(t *testing.T) {
	guest := compile(t, wasmtest.File{Describe: `{"abi":1}`, Resolve: `{}`, Memory: 3}.Bytes())
	a := new(memory.Allocator)
	run(t, guest, a)
	if a.Peak() != 3*page {
		t.Errorf("peak %d", a.Peak())
	}
	before := mappings(t)
	for range 1000 {
		run(t, guest, new(memory.Allocator))
	}
	if after := mappings(t); after > before+20 { // Go maps some for itself
		t.Errorf("%d mappings, %d before", after, before)
	}
}

// TestRefusedInstance: an instance that gets no memory is a panic with the
// reason, and leaves nothing behind.
func TestRefusedInstance(t *testing.T) {
	guest := compile(t, wasmtest.File{Describe: `{"abi":1}`, Resolve: `{}`, Memory: 100}.Bytes())
	a := new(memory.Allocator)
	must(t, a.Close()) // so that it refuses
	err := func() (err error) {
		defer func() { err, _ = recover().(error) }()
		return guest.Describe(a.Context(context.Background()))
	}()
	if !errors.Is(err, memory.ErrRefused) {
		t.Errorf("got %v", err)
	}
	if a.Current() != 0 {
		t.Errorf("it has %d bytes", a.Current())
	}
}

var _ experimental.MemoryAllocator = (*memory.Allocator)(nil)

// BenchmarkInstantiate: a Go guest of 5 MB instantiated, initialized, asked for
// its description and closed.
func BenchmarkInstantiate(b *testing.B) {
	path, err := built.Guest(context.Background(), "waymark/plugins/builtin")
	must(b, err)
	wasm, err := os.ReadFile(path)
	must(b, err)
	guest := compile(b, wasm)
	b.Run("Go heap", func(b *testing.B) {
		b.ReportAllocs()
		start := cpuTime()
		for b.Loop() {
			run(b, guest, nil)
		}
		b.ReportMetric(float64(cpuTime()-start)/1e6/float64(b.N), "cpu-ms/op")
	})
	b.Run("own mappings", func(b *testing.B) {
		b.ReportAllocs()
		var peak int64
		start := cpuTime()
		for b.Loop() {
			a := new(memory.Allocator)
			run(b, guest, a)
			peak = a.Peak()
		}
		b.ReportMetric(float64(cpuTime()-start)/1e6/float64(b.N), "cpu-ms/op")
		b.ReportMetric(float64(peak)/(1<<20), "MiB-peak")
	})
}

// cpuTime is what the process used of all CPUs, collections of garbage
// included. On a busy machine it says more than the clock.
func cpuTime() int64 {
	var r unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &r)
	return r.Utime.Nano() + r.Stime.Nano()
}
