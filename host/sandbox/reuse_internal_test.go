package sandbox

import (
	"context"
	"os"
	"runtime"
	"testing"
	"unsafe"

	"waymark/test/built"
)

// TestMemoryUsedAgain: the memory of an instance whose run is over is that of the next.
// It is internal because nobody else sees where a memory lies.
func TestMemoryUsedAgain(t *testing.T) {
	if _, err := os.Stat("/proc/self/pagemap"); err != nil || runtime.GOOS != "linux" {
		t.Skip("the system doesn't tell which pages were written")
	}
	path, err := built.Guest(context.Background(), "waymark/plugins/builtin")
	if err != nil {
		t.Fatal(err)
	}
	wasm, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	m, err := New(Options{CacheDir: built.CodeCache()}).Load(t.Context(), wasm, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = m.Close() }()
	memory := func() *byte {
		in, err := m.newInstance(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer m.discard(in)
		data, ok := in.module.Memory().Read(0, 1)
		if !ok {
			t.Fatal("it has no memory")
		}
		data[0]++
		return unsafe.SliceData(data)
	}
	seen := map[*byte]bool{}
	for range 10 { // an instance that is made in advance may take it, too
		next := memory()
		if seen[next] {
			return
		}
		seen[next] = true
	}
	t.Errorf("ten instances have memory at %d places", len(seen))
}
