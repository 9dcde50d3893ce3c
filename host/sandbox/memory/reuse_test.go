package memory_test

import (
	"bytes"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"unsafe"

	"waymark/host/sandbox/memory"
	"waymark/test/testenv"
)

// TestReuse: memories that are used again are as new ones, whatever the instance before
// did to them, and they are used again.
func TestReuse(t *testing.T) {
	rnd := testenv.Rand(t)
	for range testenv.Rounds(3, 8, 500) {
		i, want := imageOf(t, 20, func(data []byte) {
			if rnd.IntN(8) > 0 {
				scattered(data)
			}
		})
		if rnd.IntN(2) == 0 {
			i = mappedImage(t, i)
		}
		const instances = 2
		i.Reuse(instances)
		seen := map[*byte]bool{}
		again := 0
		for range 10 {
			var open []*memory.Allocator
			for range 1 + rnd.IntN(instances+1) {
				a := &memory.Allocator{Image: i, Refused: func(err error) { t.Error(err) }}
				other := a.Reserve(30 * page)
				m := a.Allocate(0, 64*page)
				m.Reallocate(uint64(rnd.IntN(20)) * page)
				data := m.Reallocate(20 * page)
				if !bytes.Equal(data, want) {
					t.Fatal("it begins with something else")
				}
				if at := unsafe.SliceData(data); seen[at] {
					again++
				} else {
					seen[at] = true
				}
				if n := 20 + rnd.IntN(40); n > 20 {
					data = m.Reallocate(uint64(n) * page)
					if !bytes.Equal(data[20*page:], make([]byte, len(data)-20*page)) {
						t.Fatal("what it grows by isn't zero")
					}
				}
				zeros := other.Reallocate(uint64(1+rnd.IntN(30)) * page)
				if !bytes.Equal(zeros, make([]byte, len(zeros))) {
					t.Fatal("the other memory isn't zero")
				}
				if a.Current() != int64(len(data)+len(zeros)) || m.Reallocate(65*page) != nil || other.Reallocate(31*page) != nil {
					t.Fatalf("%d bytes are accounted for, or there is no end", a.Current())
				}
				scribble(rnd, data)
				scribble(rnd, zeros)
				if rnd.IntN(3) == 0 {
					a.Warm()
				}
				open = append(open, a)
			}
			for _, a := range open {
				must(t, a.Close())
			}
			if rnd.IntN(10) == 0 {
				must(t, i.Trim())
			}
		}
		if _, err := os.Stat("/proc/self/pagemap"); err == nil && again == 0 {
			t.Error("none is used again")
		}
		must(t, i.Close())
		if err := refusedImage(i); err == nil && i.Kept() > 0 {
			t.Error("what was left outlives the image")
		}
	}
}

// mappedImage is an image that lies in a file.
func mappedImage(t *testing.T, i *memory.Image) *memory.Image {
	t.Helper()
	content, err := io.ReadAll(i.Content())
	must(t, err)
	path := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(path, content, 0o600))
	f, err := os.Open(path)
	must(t, err)
	defer func() { must(t, f.Close()) }()
	mapped, err := memory.MapImage(i.Layout(), f, 0)
	must(t, err)
	t.Cleanup(func() { must(t, mapped.Close()) })
	return mapped
}

// scribble writes to single bytes, to stretches, or everywhere, and reads some.
func scribble(rnd *rand.Rand, data []byte) {
	for range rnd.IntN(20) {
		at := rnd.IntN(len(data))
		switch rnd.IntN(3) {
		case 0:
			data[at] ^= byte(1 + rnd.IntN(255))
		case 1:
			for n := range min(rnd.IntN(20*4096), len(data)-at) {
				data[at+n] = byte(rnd.Uint32())
			}
		default:
			runtime.KeepAlive(data[at])
		}
	}
	if rnd.IntN(10) == 0 {
		for at := range data {
			data[at] = 255
		}
	}
}
