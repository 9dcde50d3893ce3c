//go:build linux

package codecache

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"github.com/tetratelabs/wazero"
	"golang.org/x/sys/unix"

	"waymark/test/wasmtest"
)

// answers is a module with more than a page of native code, whose "answer" is 42.
func answers(t *testing.T) []byte { return functions(t, 400) }

// functions is one with so many functions before that.
func functions(t *testing.T, n int) []byte {
	t.Helper()
	var text strings.Builder
	text.WriteString("(module")
	for i := range n {
		fmt.Fprintf(&text, "(func (param i32) (result i32) (i32.div_s (local.get 0) (i32.add (local.get 0) (i32.const %d))))", i)
	}
	wasm, err := wasmtest.WAT(text.String() + `(func (export "answer") (result i32) (i32.const 42)))`)
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}

// loader loads code, and asks for the answer.
type loader struct {
	before, after func(*Code) // may be nil
	runtime       wazero.Runtime
	module        wazero.CompiledModule
}

func (l *loader) use(ctx context.Context, code *Code) (err error) {
	if l.before != nil {
		l.before(code)
	}
	l.runtime = wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithCompilationCache(code.Cache()))
	if l.module, err = l.runtime.CompileModule(ctx, code.Wasm); err == nil && l.after != nil {
		l.after(code)
	}
	return err
}

func (l *loader) check(t *testing.T) {
	t.Helper()
	in, err := l.runtime.InstantiateModule(t.Context(), l.module, wazero.NewModuleConfig())
	if err != nil {
		t.Fatal(err)
	}
	if results, err := in.ExportedFunction("answer").Call(t.Context()); err != nil || results[0] != 42 {
		t.Errorf("the answer is %v, %v", results, err)
	}
	if err := l.runtime.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestNoMemoryFiles: where there are none code is loaded all the same, from every
// source, and one line says what that costs.
func TestNoMemoryFiles(t *testing.T) {
	var logs bytes.Buffer
	dir := filepath.Join(t.TempDir(), "code")
	c, err := Open(Options{Dir: dir, Logger: slog.New(slog.NewTextHandler(&logs, nil))})
	if err != nil {
		t.Fatal(err)
	}
	c.seal = func(*native) (*native, error) { return nil, errors.New("no memory files") }
	wasm := answers(t)
	for _, want := range []Source{Compiled, Kept} {
		var l loader
		code, err := c.Load(t.Context(), Request{Wasm: wasm}, l.use)
		if err != nil || code.Source != want {
			t.Fatalf("%v, %v", code, err)
		}
		l.check(t)
		if err := code.Close(); err != nil {
			t.Error(err)
		}
	}
	if n := strings.Count(logs.String(), "\n"); n != 1 || !strings.Contains(logs.String(), "no memory files") {
		t.Errorf("%d lines: %s", n, logs.String())
	}
	if left, err := filepath.Glob(filepath.Join(dir, ".code-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestOverlay: of code that is large enough wazero has no copy at any time, and
// executes the file.
func TestOverlay(t *testing.T) {
	var logs bytes.Buffer
	c, err := Open(Options{Logger: slog.New(slog.NewTextHandler(&logs, nil))})
	if err != nil {
		t.Fatal(err)
	}
	l := loader{after: func(code *Code) {
		<-code.feed.done
		maps, err := os.ReadFile("/proc/self/maps")
		if err != nil || code.feed.at == nil || !strings.Contains(string(maps), fmt.Sprintf("%x-", uintptr(code.feed.at)+uintptr(pageSize))) ||
			!strings.Contains(string(maps), "/memfd:waymark-zeros") {
			t.Errorf("at %v of %d bytes, %v:\n%s", code.feed.at, code.native.length, err, maps)
		}
	}}
	code, err := c.Load(t.Context(), Request{Wasm: functions(t, 20_000)}, l.use)
	if err != nil {
		t.Fatal(err)
	}
	if code.native.length < 4_000_000 {
		t.Errorf("the code has %d bytes", code.native.length)
	}
	l.check(t)
	if err := code.Close(); err != nil {
		t.Error(err)
	}
	if logs.Len() > 0 {
		t.Errorf("logged %s", logs.String())
	}
}

// TestZeros: the checksum of zeros that nobody has looked at is right.
func TestZeros(t *testing.T) {
	for _, n := range []int{0, 1, 2, 7, markAt, 4096, 1<<20 - 3, 3 << 20} {
		for _, before := range []string{"", "x", "waymark"} {
			sum := crc32.Checksum([]byte(before), castagnoli)
			if got, want := zeros(sum, int64(n)), crc32.Update(sum, castagnoli, make([]byte, n)); got != want {
				t.Errorf("%d zeros after %q: %#x, want %#x", n, before, got, want)
			}
		}
	}
}

// TestChanged: a file that isn't any more what was loaded is not executed, and a copy
// is instead.
func TestChanged(t *testing.T) {
	var logs bytes.Buffer
	c, err := Open(Options{Logger: slog.New(slog.NewTextHandler(&logs, nil))})
	if err != nil {
		t.Fatal(err)
	}
	c.seal = func(n *native) (*native, error) { // but doesn't
		fd, err := unix.MemfdCreate("changing", unix.MFD_CLOEXEC)
		if err != nil {
			return nil, err
		}
		whole := make([]byte, n.size)
		if _, err := n.ReadAt(whole, n.at); err != nil {
			return nil, err
		}
		f := os.NewFile(uintptr(fd), "changing")
		changing := &native{layout: n.layout, ReaderAt: f, file: f, at: -n.code & (pageSize - 1), size: n.size, constant: true}
		_, err = f.WriteAt(whole, changing.at)
		return changing, err
	}
	l := loader{after: func(code *Code) {
		if code.plain {
			return
		}
		trap := []byte{0x0f, 0x0b}
		if _, err := code.native.file.WriteAt(trap, code.native.at+code.native.code+5); err != nil {
			t.Fatal(err)
		}
	}}
	code, err := c.Load(t.Context(), Request{Wasm: answers(t)}, l.use)
	if err != nil {
		t.Fatal(err)
	}
	l.check(t)
	if err := code.Close(); err != nil {
		t.Error(err)
	}
	if !strings.Contains(logs.String(), errChanged.Error()) {
		t.Errorf("logged %q", logs.String())
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil || strings.Contains(string(maps), "changing") {
		t.Errorf("it is mapped: %v", err)
	}
}

// TestUntaken: where what was offered is gone wazero compiles the stub, and the
// module isn't used.
func TestUntaken(t *testing.T) {
	c, err := Open(Options{})
	if err != nil {
		t.Fatal(err)
	}
	l := loader{before: func(code *Code) {
		if err := os.Remove(code.path()); err != nil {
			t.Fatal(err)
		}
	}}
	if _, err := c.Load(t.Context(), Request{Wasm: answers(t)}, l.use); !errors.Is(err, errUntaken) {
		t.Errorf("got %v", err)
	}
	if err := l.runtime.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// A mark is found wherever it is among pages that can't be read, also where one call of
// the system doesn't look at all of them, and nothing else is.
func TestFirstMark(t *testing.T) {
	const pages, at = 2500, 7
	memory, err := unix.Mmap(-1, 0, pages*int(pageSize), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(memory) })
	page := func(i int) []byte { return memory[i*int(pageSize) : (i+1)*int(pageSize)] }
	for _, hole := range []int{0, 1, 900, 1023, 1024, 2048} {
		if err := unix.Mprotect(page(hole), unix.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	first := uintptr(unsafe.Pointer(&memory[at]))
	for _, want := range []int{2, 899, 1022, 1025, 2047, 2049, pages - 1} {
		f := &feed{mark: fmt.Appendf(nil, "%016d", want)}
		copy(page(want)[at:], f.mark)
		got := f.firstMark(first, pages)
		if found := int(got-first) / int(pageSize); got == 0 || found != want {
			t.Errorf("the mark in page %d is found in page %d", want, found)
		}
		if got := f.firstMark(first, want); got != 0 {
			t.Errorf("the mark in page %d is found before it", want)
		}
	}
}

// TestSearchLeavesMemoryAlone: looking for a mark makes no page of what nothing was
// written to. That had been 22 MiB of each agent.
func TestSearchLeavesMemoryAlone(t *testing.T) {
	const pages = 3000 // of which a call of the system looks at 1,024
	memory, err := unix.Mmap(-1, 0, pages*int(pageSize), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(memory) }()
	f := &feed{mark: []byte("sixteen bytes ..")}
	start := uintptr(unsafe.Pointer(&memory[0]))
	if inMemory(start, pages) == nil {
		t.Skip("the system doesn't say which pages are there")
	}
	if at := f.firstMark(start+markAt, pages); at != 0 {
		t.Errorf("a mark at %#x, want none", at)
	}
	const written = 2500
	memory[7*pageSize] = 1 // and one without a mark
	copy(memory[written*pageSize+markAt:], f.mark)
	if at, want := f.firstMark(start+markAt, pages), start+uintptr(written*pageSize)+markAt; at != want {
		t.Errorf("a mark at %#x, want %#x", at, want)
	}
	for i, there := range inMemory(start, pages) {
		if want := i == 7 || i == written; there != want {
			t.Errorf("page %d is there: %t, want %t", i, there, want)
		}
	}
}

// TestMakeLarge: a large page is one of zeros, and nothing beside it changes.
func TestMakeLarge(t *testing.T) {
	memory, err := unix.Mmap(-1, 0, 3*largePage, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(memory) }()
	for i := range memory {
		memory[i] = 1
	}
	begin := largePage - int(uintptr(unsafe.Pointer(&memory[0]))%largePage)
	end := begin + largePage
	if !makeLarge(unsafe.Pointer(&memory[begin])) {
		t.Skip("this system has no large pages for programs")
	}
	if zeros := bytes.Count(memory[begin:end], []byte{0}); zeros != largePage {
		t.Errorf("%d of %d bytes are 0", zeros, largePage)
	}
	if ones := bytes.Count(memory[:begin], []byte{1}) + bytes.Count(memory[end:], []byte{1}); ones != len(memory)-largePage {
		t.Errorf("%d of %d bytes beside it are 1", ones, len(memory)-largePage)
	}
}
