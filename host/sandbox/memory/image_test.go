package memory_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"testing"

	"waymark/host/sandbox/memory"
)

// imageOf makes an image of a memory of some pages that fill has written to.
func imageOf(t testing.TB, n uint64, fill func([]byte)) (*memory.Image, []byte) {
	t.Helper()
	a := new(memory.Allocator)
	defer func() { must(t, a.Close()) }()
	data := a.Allocate(0, 64*page).Reallocate(n * page)
	fill(data)
	i, err := a.NewImage()
	if runtime.GOOS != "linux" {
		if !errors.Is(err, memory.ErrNoImage) {
			t.Errorf("got %v", err)
		}
		t.Skip("images are for Linux")
	}
	must(t, err)
	t.Cleanup(func() { must(t, i.Close()) })
	return i, bytes.Clone(data)
}

// scattered writes at both ends of pages, with holes of all lengths between them.
func scattered(data []byte) {
	for at, step := 0, 1; at < len(data); at, step = at+step*4096, step*2 {
		data[at] = byte(step | 1)
		data[min(at+4095, len(data)-1)] = 7
	}
	data[len(data)-1] = 9
}

// TestImage: memories begin with the image whatever others do to theirs, are
// accounted for as they grow, and stay when the image is closed.
func TestImage(t *testing.T) {
	i, want := imageOf(t, 20, scattered)
	if i.Size() != 20*page || i.Kept() == 0 || i.Kept() > i.Size() {
		t.Errorf("%d bytes, %d kept", i.Size(), i.Kept())
	}
	for range 3 {
		a := &memory.Allocator{Image: i}
		other := a.Reserve(page)
		m := a.Allocate(2*page, 64*page)
		if first := m.Reallocate(2 * page); !bytes.Equal(first, want[:2*page]) || a.Current() != 2*page {
			t.Errorf("it begins with other contents, current %d", a.Current())
		}
		data := m.Reallocate(20 * page)
		if !bytes.Equal(data, want) || a.Current() != 20*page {
			t.Errorf("it goes on with other contents, current %d", a.Current())
		}
		grown := m.Reallocate(30 * page)
		if !bytes.Equal(grown[20*page:], make([]byte, 10*page)) || m.Reallocate(65*page) != nil {
			t.Error("what comes after the image isn't zero, or has no end")
		}
		if b := other.Reallocate(page); !bytes.Equal(b, make([]byte, page)) || a.Peak() != 31*page {
			t.Errorf("the other memory isn't new; peak %d", a.Peak())
		}
		for at := range grown { // all of it
			grown[at] = 255
		}
		a.Warm()
		must(t, a.Close())
	}
	if hot := i.Hot(); hot > i.Size() {
		t.Errorf("%d bytes of %d are hot", hot, i.Size())
	}
	a := &memory.Allocator{Image: i}
	defer func() { must(t, a.Close()) }()
	data := a.Allocate(0, 64*page).Reallocate(20 * page)
	must(t, i.Close())
	if !bytes.Equal(data, want) {
		t.Error("a memory changes with all pages at hand, or when the image is closed")
	}
	if err := refusedImage(i); !errors.Is(err, memory.ErrRefused) {
		t.Errorf("a closed image is mapped: %v", err)
	}
}

// refusedImage is what a memory panics with that can't have its image.
func refusedImage(i *memory.Image) (err error) {
	a := &memory.Allocator{Image: i}
	defer func() { _ = a.Close() }()
	defer func() { err, _ = recover().(error) }()
	a.Allocate(0, 64*page).Reallocate(20 * page)
	return nil
}

// TestWarm: the pages that a run writes are found, and made ready for the next.
func TestWarm(t *testing.T) {
	if _, err := os.Stat("/proc/self/pagemap"); err != nil {
		t.Skip("the system doesn't tell which pages were written")
	}
	i, _ := imageOf(t, 20, scattered)
	use := func(pages ...int) (added uint64) {
		a := &memory.Allocator{Image: i}
		defer func() { must(t, a.Close()) }()
		data := a.Allocate(0, 64*page).Reallocate(20 * page)
		for _, at := range pages {
			data[at*4096]++
		}
		return a.Warm()
	}
	if added := use(3, 40, 250); added != 3*4096 || i.Hot() != added {
		t.Errorf("%d bytes were added, %d are hot", added, i.Hot())
	}
	if added := use(3, 40); added != 0 {
		t.Errorf("%d bytes were added again", added)
	}
	// Those that are a little apart are made ready together.
	if added := use(42, 100); added != 3*4096 || i.Hot() != 6*4096 {
		t.Errorf("%d bytes were added, %d are hot", added, i.Hot())
	}
}

// TestWrittenImage: an image that was written down is the same again, copied or mapped
// from a file, whose descriptor may be closed.
func TestWrittenImage(t *testing.T) {
	i, want := imageOf(t, 20, scattered)
	content, err := io.ReadAll(i.Content())
	must(t, err)
	l := i.Layout()
	if l.Bytes() != i.Kept() || uint64(len(content)) != i.Kept() || l.Size != i.Size() {
		t.Errorf("%+v, %d bytes", l, len(content))
	}
	const at = 3 * page
	path := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(path, slices.Concat(make([]byte, at), content, []byte("more")), 0o600))
	f, err := os.Open(path)
	must(t, err)
	mapped, err := memory.MapImage(l, f, at)
	must(t, err)
	if _, err := memory.MapImage(l, f, at+8); err == nil {
		t.Error("it is mapped from no page")
	}
	must(t, f.Close())
	if _, err := memory.MapImage(l, f, at); err == nil {
		t.Error("it is mapped from a file that is closed")
	}
	copied, err := memory.CopyImage(l, bytes.NewReader(content))
	must(t, err)
	if _, err := memory.CopyImage(l, bytes.NewReader(content[1:])); err == nil {
		t.Error("it was copied from too little")
	}
	for name, other := range map[string]*memory.Image{"mapped": mapped, "copied": copied} {
		for range 3 {
			a := &memory.Allocator{Image: other, Refused: func(err error) { t.Errorf("%s: %v", name, err) }}
			data := a.Allocate(0, 64*page).Reallocate(20 * page)
			if !bytes.Equal(data, want) {
				t.Errorf("%s: it holds something else", name)
			}
			for at := range data {
				data[at] ^= 255
			}
			a.Warm()
			must(t, a.Close())
		}
		again, err := io.ReadAll(other.Content())
		must(t, err)
		if !bytes.Equal(again, content) || !reflect.DeepEqual(other.Layout(), l) {
			t.Errorf("%s: it is written down as %+v, %d bytes", name, other.Layout(), len(again))
		}
		must(t, other.Close())
		if err := refusedImage(other); !errors.Is(err, memory.ErrRefused) {
			t.Errorf("%s: a closed image is mapped: %v", name, err)
		}
	}
	for _, bad := range []memory.Layout{
		{Size: 5000},
		{Size: 5 << 30},
		{Size: page, Parts: []memory.Range{{From: 0, To: 2 * page}}},
		{Size: page, Parts: []memory.Range{{From: page, To: 0}}},
		{Size: 4 * page, Parts: []memory.Range{{From: 0, To: 2 * page}, {From: page, To: 3 * page}}},
		{Size: page, Parts: []memory.Range{{From: 0, To: 100}}},
	} {
		if _, err := memory.CopyImage(bad, bytes.NewReader(content)); err == nil {
			t.Errorf("%+v is taken for a layout", bad)
		}
	}
}

// TestNoImage: a memory of zeros, and an instance without one, need none.
func TestNoImage(t *testing.T) {
	i, want := imageOf(t, 3, func([]byte) {})
	a := &memory.Allocator{Image: i}
	defer func() { must(t, a.Close()) }()
	if data := a.Allocate(0, 64*page).Reallocate(3 * page); !bytes.Equal(data, want) || i.Kept() != 0 {
		t.Errorf("%d bytes are kept of nothing", i.Kept())
	}
	none, err := new(memory.Allocator).NewImage()
	must(t, err)
	if none.Size() != 0 || none.Kept() != 0 {
		t.Errorf("an image of no memory has %d bytes", none.Size())
	}
	must(t, none.Close())
}
