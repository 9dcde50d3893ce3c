package codecache_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"

	"waymark/host/sandbox/codecache"
	"waymark/host/sandbox/guesttest"
	"waymark/test/testenv"
)

// bomb is a module with one function of the given locals, its body a repeated
// piece.
func bomb(locals, repeat int, piece ...byte) []byte {
	leb := func(n int) []byte { return binary.AppendUvarint(nil, uint64(n)) }
	section := func(id byte, content []byte) []byte {
		return slices.Concat([]byte{id}, leb(len(content)), content)
	}
	body := slices.Concat([]byte{1}, leb(locals), []byte{0x7f}, bytes.Repeat(piece, repeat), []byte{0x0b})
	return slices.Concat([]byte("\x00asm\x01\x00\x00\x00"),
		section(1, []byte{1, 0x60, 0, 0}),
		section(3, []byte{1, 0}),
		section(10, slices.Concat([]byte{1}, leb(len(body)), body)))
}

// ifs assigns to a different local in each of many branches: every one of them
// is live at every join, which is what makes the compiler quadratic.
func ifs(locals, n int) []byte {
	var body []byte
	for i := range n {
		local := binary.AppendUvarint(nil, uint64(i%locals))
		body = append(body, 0x20, 0, 0x04, 0x40, 0x20) // local.get 0; if; local.get
		body = append(body, local...)                  // l
		body = append(body, 0x41, 1, 0x6a, 0x21)       // i32.const 1; i32.add; local.set
		body = append(append(body, local...), 0x0b)    // l; end
	}
	return bomb(locals, 1, body...)
}

// TestBombs: compiling a hostile module ends with an error that says which
// limit it ran into, and leaves nothing behind.
func TestBombs(t *testing.T) {
	tests := []struct {
		name   string
		req    codecache.Request
		limits codecache.Limits
		what   string
	}{
		{"locals and ifs, time", codecache.Request{Wasm: ifs(2000, 2000)}, codecache.Limits{Time: 300 * time.Millisecond}, "processor time"},
		{"locals and ifs, memory", codecache.Request{Wasm: ifs(2000, 2000)}, codecache.Limits{Time: 5 * time.Minute, Memory: 128 << 20}, "memory"},
		{"one huge function", codecache.Request{Wasm: bomb(2, 1_000_000, 0x10, 0)}, codecache.Limits{Time: 5 * time.Minute, Memory: 128 << 20}, "memory"},
		{"a rewriter that hoards", codecache.Request{Wasm: small(), Recipe: codecache.Recipe{RewriteOptions: []byte("hog")}}, codecache.Limits{Time: 5 * time.Minute, Memory: 128 << 20}, "memory"},
		{"a rewriter that leaps", codecache.Request{Wasm: small(), Recipe: codecache.Recipe{RewriteOptions: []byte("leap")}}, codecache.Limits{Time: 5 * time.Minute, Memory: 128 << 20}, "memory"},
		{"a rewriter that spins", codecache.Request{Wasm: small(), Recipe: codecache.Recipe{RewriteOptions: []byte("spin")}}, codecache.Limits{Time: 200 * time.Millisecond}, "processor time"},
		{"output", codecache.Request{Wasm: bomb(2, 4000, 0x10, 0)}, codecache.Limits{Time: 5 * time.Minute, Output: 4096}, "output"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			temp := t.TempDir()
			c := openCache(t, codecache.Options{Program: program, TempDir: temp, Limits: tt.limits})
			_, err := c.Load(t.Context(), tt.req, use)
			var limit *codecache.LimitError
			if !errors.As(err, &limit) || limit.What != tt.what || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want the limit of %s", err, tt.what)
			}
			noScratch(t, temp)
		})
	}
}

// TestBusyMachine: a module isn't to blame for what its compiler didn't do in time because
// it was given no processor time.
func TestBusyMachine(t *testing.T) {
	for _, how := range []string{"stop", "hang"} {
		temp := t.TempDir()
		c := openCache(t, codecache.Options{Program: program, TempDir: temp, Limits: codecache.Limits{Time: time.Hour, Wait: 300 * time.Millisecond}})
		_, err := c.Load(t.Context(), codecache.Request{Wasm: small(), Recipe: codecache.Recipe{RewriteOptions: []byte(how)}}, use)
		var busy *codecache.BusyError
		var limit *codecache.LimitError
		if !errors.As(err, &busy) || errors.As(err, &limit) || !strings.Contains(err.Error(), "this machine is slow or busy") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", how, err)
		}
		noScratch(t, temp)
	}
}

// TestOwnModule: the program's own module has more time.
func TestOwnModule(t *testing.T) {
	c := openCache(t, codecache.Options{Program: program, Limits: codecache.Limits{Time: 40 * time.Millisecond}})
	_, err := c.Load(t.Context(), codecache.Request{Own: true, Wasm: small(), Recipe: codecache.Recipe{RewriteOptions: []byte("spin")}}, use)
	var limit *codecache.LimitError
	if !errors.As(err, &limit) || limit.Limit != "200ms" {
		t.Error(err)
	}
}

// TestModuleAtFault: what a module is refused for comes through in one line.
func TestModuleAtFault(t *testing.T) {
	tests := []struct {
		name string
		req  codecache.Request
		want string
	}{
		{"not wasm", codecache.Request{Wasm: []byte("nothing")}, "compile: invalid magic number"},
		{"cut", codecache.Request{Wasm: small()[:60]}, "compile: "},
		{"refused", codecache.Request{Wasm: small(), Recipe: codecache.Recipe{RewriteOptions: []byte("refuse")}}, "rewrite: refused, for a reason"},
		{"panic", codecache.Request{Wasm: small(), Recipe: codecache.Recipe{RewriteOptions: []byte("panic")}}, "rewrite: the rewriter panicked: in the rewriter"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for name, opts := range map[string]codecache.Options{"child": {Program: program}, "in process": {Rewrite: rewrite}} {
				_, err := openCache(t, opts).Load(t.Context(), tt.req, use)
				var module *codecache.ModuleError
				if !errors.As(err, &module) || !strings.HasPrefix(err.Error(), tt.want) {
					t.Errorf("%s: %v, want %q", name, err, tt.want)
				}
			}
		})
	}
}

// TestCancel: who gives up gets the context's error, and the child is gone.
func TestCancel(t *testing.T) {
	temp := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	req := codecache.Request{Wasm: small(), Recipe: codecache.Recipe{RewriteOptions: []byte("hang")}}
	_, err := openCache(t, codecache.Options{Program: program, TempDir: temp}).Load(ctx, req, use)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	noScratch(t, temp)
	var status syscall.WaitStatus
	if pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil); pid > 0 || !errors.Is(err, syscall.ECHILD) {
		t.Errorf("a child is left: %d, %v", pid, err)
	}
}

// TestSameCode: a child makes what this process would make.
func TestSameCode(t *testing.T) {
	packs := map[string][]byte{}
	for name, opts := range map[string]codecache.Options{"child": {Program: program}, "in process": {}} {
		opts.Limits.Workers = 1
		code, err := openCache(t, opts).Load(t.Context(), codecache.Request{Wasm: small()}, func(_ context.Context, code *codecache.Code) error {
			var b bytes.Buffer
			err := code.Pack(&b)
			packs[name] = b.Bytes()
			return err
		})
		must(t, err)
		must(t, code.Close())
	}
	if len(packs["child"]) == 0 || !bytes.Equal(packs["child"], packs["in process"]) {
		t.Error("the child's code differs")
	}
}

// TestParentStaysFlat: compiling a large module in a child doesn't make this
// process grow by what compiling takes. In process it takes 100 MB and more.
func TestParentStaysFlat(t *testing.T) {
	if testenv.Race {
		t.Skip("the race detector has a memory of its own")
	}
	wasm := builtin(t)
	before, ok := peakRSS()
	if !ok {
		t.Skip("needs /proc/self/status")
	}
	c := openCache(t, codecache.Options{Program: program, Limits: codecache.Limits{Time: 5 * time.Minute}})
	_, err := c.Load(t.Context(), codecache.Request{Wasm: wasm}, func(context.Context, *codecache.Code) error { return errors.New("not loaded") })
	if err == nil || !strings.Contains(err.Error(), "not loaded") {
		t.Fatal(err)
	}
	after, _ := peakRSS()
	t.Logf("peak resident size %d MiB before, %d MiB after", before>>20, after>>20)
	// The module itself, twice at most, and what pipes and files need.
	if grown := after - before; grown > int64(2*len(wasm))+16<<20 {
		t.Errorf("the parent's peak grew by %d MiB", grown>>20)
	}
}

// peakRSS resets nothing: it is the high-water mark of the whole process.
func peakRSS() (int64, bool) {
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, false
	}
	_, rest, ok := strings.Cut(string(data), "VmHWM:")
	fields := strings.Fields(rest)
	if !ok || len(fields) == 0 {
		return 0, false
	}
	kib, err := strconv.ParseInt(fields[0], 10, 64)
	return kib << 10, err == nil
}

func BenchmarkCompileBuiltin(b *testing.B) {
	wasm := builtin(b)
	for _, bb := range []struct {
		name string
		opts codecache.Options
	}{{"child", codecache.Options{Program: program}}, {"in process", codecache.Options{}}} {
		b.Run(bb.name, func(b *testing.B) {
			c := openCache(b, bb.opts)
			for b.Loop() {
				if got := load(b, c, codecache.Request{Wasm: wasm}); got != codecache.Compiled {
					b.Fatal(got)
				}
			}
		})
	}
}

func BenchmarkLoadBuiltin(b *testing.B) {
	wasm := builtin(b)
	var packed bytes.Buffer
	must(b, codecache.Ahead(b.Context(), &packed, wasm, codecache.Recipe{}, nil))
	var logs logBuffer
	b.Run("embedded", func(b *testing.B) {
		c := openCache(b, codecache.Options{})
		for b.Loop() {
			if got := load(b, c, codecache.Request{Wasm: wasm, Embedded: bytes.NewReader(packed.Bytes())}); got != codecache.Embedded {
				b.Fatal(got)
			}
		}
	})
	b.Run("wazero's own, unsealed", func(b *testing.B) {
		dir := b.TempDir()
		loadUnsealed(b, dir, wasm) // compiles
		for b.Loop() {
			loadUnsealed(b, dir, wasm)
		}
	})
	b.Run("kept", func(b *testing.B) {
		c := openCache(b, cacheOptions(b, &logs))
		load(b, c, codecache.Request{Wasm: wasm})
		for b.Loop() {
			if got := load(b, c, codecache.Request{Wasm: wasm}); got != codecache.Kept {
				b.Fatal(got)
			}
		}
	})
}

// loadUnsealed loads a module from wazero's own cache: what sealing is compared
// with.
func loadUnsealed(b *testing.B, dir string, wasm []byte) {
	cache, err := wazero.NewCompilationCacheWithDir(dir)
	must(b, err)
	g, err := guesttest.Load(context.Background(), wazero.NewRuntimeConfig().WithCompilationCache(cache), wasm)
	must(b, err)
	must(b, g.Describe(context.Background()))
	must(b, g.Close())
	must(b, cache.Close(context.Background()))
}
