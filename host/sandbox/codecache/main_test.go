package codecache_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/tetratelabs/wazero"

	"waymark/host/sandbox/codecache"
	"waymark/host/sandbox/guesttest"
	"waymark/internal/reexec"
	"waymark/test/built"
	"waymark/test/wasmtest"
)

// program compiles in children.
var program *reexec.Program

func TestMain(m *testing.M) {
	program = reexec.Main(codecache.Role(rewrite))
	os.Exit(m.Run())
}

// rewrite does what its options say.
func rewrite(wasm, options []byte) ([]byte, []byte, error) {
	switch string(options) {
	case "refuse":
		return nil, nil, errors.New("refused,\nfor a reason")
	case "panic":
		panic("in the rewriter")
	case "hog":
		var hoard [][]byte
		for {
			b := make([]byte, 1<<20)
			for i := 0; i < len(b); i += 4096 {
				b[i] = 1
			}
			hoard = append(hoard, b)
			if len(hoard) > 1<<16 {
				return nil, nil, nil
			}
		}
	case "leap": // more than the watch can see coming
		b := make([]byte, 4<<30)
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1
		}
		return b, nil, nil
	case "spin":
		for n := uint64(1); n != 0; n++ { // for centuries
		}
	case "stop":
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	case "hang":
		<-context.Background().Done()
	case "custom":
		return append(wasm[:len(wasm):len(wasm)], renamed...), []byte("said"), nil
	}
	return wasm, nil, nil
}

// renamed is a section that gives a module the name "x", which doesn't change what
// it does.
const renamed = "\x00\x09\x04name\x00\x02\x01x"

// small is a module that is compiled in no time.
func small() []byte { return wasmtest.File{Describe: `{"abi":1}`, Resolve: `{}`}.Bytes() }

// builtin is the module of the built-in resolvers, about 5 MB.
func builtin(t testing.TB) []byte {
	t.Helper()
	path, err := built.Guest(context.Background(), "waymark/plugins/builtin")
	must(t, err)
	wasm, err := os.ReadFile(path)
	must(t, err)
	return wasm
}

// guest is a loaded module.
type guest struct{ *guesttest.Guest }

// use loads code as the host does.
func (g *guest) use(ctx context.Context, code *codecache.Code) (err error) {
	g.Guest, err = guesttest.Load(ctx, wazero.NewRuntimeConfig().WithCompilationCache(code.Cache()), code.Wasm)
	return err
}

func use(ctx context.Context, code *codecache.Code) error {
	var g guest
	if err := g.use(ctx, code); err != nil {
		return err
	}
	return g.Close()
}

// cacheOptions are options with a directory for the store and one for the key.
func cacheOptions(t testing.TB, logs *logBuffer) codecache.Options {
	t.Helper()
	dir := t.TempDir()
	return codecache.Options{
		Dir: filepath.Join(dir, "code"), KeyDir: filepath.Join(dir, "state"), Program: program,
		Logger: slog.New(slog.NewTextHandler(logs, nil)),
	}
}

func openCache(t testing.TB, opts codecache.Options) *codecache.Cache {
	t.Helper()
	c, err := codecache.Open(opts)
	must(t, err)
	return c
}

// load loads and calls a module and says where its code came from.
func load(t testing.TB, c *codecache.Cache, req codecache.Request) codecache.Source {
	t.Helper()
	var g guest
	code, err := c.Load(context.Background(), req, g.use)
	if err != nil {
		t.Fatal(err)
	}
	must(t, g.Describe(context.Background()))
	must(t, g.Close())
	must(t, code.Close())
	must(t, code.Close())
	return code.Source
}

// noScratch checks that no directory with native code was left.
func noScratch(t testing.TB, places ...string) {
	t.Helper()
	for _, place := range places {
		left, err := filepath.Glob(filepath.Join(place, ".code-*"))
		if err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// logBuffer collects log lines of several goroutines.
type logBuffer struct {
	mu   sync.Mutex // guards text
	text strings.Builder
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// take returns what was logged since the last call.
func (b *logBuffer) take() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.text.Reset()
	return b.text.String()
}
