package host_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"waymark/host"
	"waymark/snapshot"
	"waymark/test/built"
	"waymark/test/testenv"
)

// cacheDir is shared by all tests: compiling a Go guest takes seconds.
var cacheDir = built.CodeCache()

func TestMain(m *testing.M) {
	testenv.OrdinaryMain()
	testenv.UseMemory()
	os.Exit(m.Run())
}

// guests are the modules that were read, by package: each host would hold one of its own.
var guests sync.Map

// guest builds a module once and returns its bytes. Don't change them.
func guest(t testing.TB, pkg string) []byte {
	t.Helper()
	if wasm, ok := guests.Load(pkg); ok {
		return wasm.([]byte)
	}
	path, err := built.Guest(context.Background(), pkg)
	if err != nil {
		t.Fatal(err)
	}
	wasm, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	guests.Store(pkg, wasm)
	return wasm
}

func builtin(t testing.TB) []byte {
	t.Helper()
	return guest(t, "waymark/plugins/builtin")
}

// module is what Options.Builtin takes.
func module(wasm []byte) func() ([]byte, error) {
	return func() ([]byte, error) { return wasm, nil }
}

// logBuffer collects log lines of several goroutines.
type logBuffer struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// timeout is how long a test waits for what has to come. It ends one that
// hangs, and measures nothing.
const timeout = 3 * time.Minute

// testOptions are options with the shared cache and a deadline that a busy
// machine doesn't reach.
func testOptions(opts host.Options) host.Options {
	opts.CacheDir = cacheDir
	if opts.Limits.Time == 0 {
		opts.Limits.Time = 10 * time.Minute
	}
	return opts
}

// sharedKey is a directory for keys of a host's own that can use what others have
// compiled.
func sharedKey(t testing.TB, dir string) string {
	t.Helper()
	if err := built.ShareKey(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// hosts counts those that were made.
var hosts atomic.Int64

// newHost makes and loads a Host that is closed at the end of the test.
func newHost(t testing.TB, opts host.Options) *host.Host {
	t.Helper()
	if hosts.Add(1)%16 == 0 {
		// A collection is what has the code of closed ones unmapped, and counts only what
		// Go has allocated.
		runtime.GC()
	}
	h, err := host.New(testOptions(opts))
	if err != nil {
		t.Fatal(err)
	}
	held := h
	t.Cleanup(func() {
		if err := held.Close(); err != nil {
			t.Error(err)
		}
		held = nil // package testing keeps this function until all tests of a group are over
	})
	if err := h.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	return h
}

func refresh(t testing.TB, h *host.Host) *host.Report {
	t.Helper()
	report, err := h.Refresh(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// lines spells resources as "id status error", ids relative to the root.
func lines(list []snapshot.Resource, dir string) []string {
	var out []string
	for i := range list {
		r := &list[i]
		out = append(out, relative(strings.TrimSpace(r.ID()+" "+string(r.Status)+" "+r.Error), dir))
	}
	return out
}

// relative takes a root's path out of a text.
func relative(text, dir string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, dir+"/", ""), dir, ".")
}

// warnings lists what the resolvers and the engine warned of.
func warnings(r *host.Report, dir string) []string {
	var out []string
	for _, o := range r.Outcomes {
		for _, w := range o.Warnings {
			out = append(out, relative(w, dir))
		}
	}
	return out
}

// allText is all text in which a file's content could have got out:
// the snapshot with payloads, outcomes, notes, errors and the log.
func allText(t testing.TB, r *host.Report, logs *logBuffer) string {
	t.Helper()
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r.Snapshot); err != nil {
		t.Fatal(err)
	}
	for _, res := range r.Snapshot.Resources {
		b.Write(res.Payload)
		b.WriteByte('\n')
	}
	for _, o := range r.Outcomes {
		if o.Err != nil {
			b.WriteString(o.Err.Error() + "\n")
		}
		o.Err = nil
		if err := enc.Encode(o); err != nil {
			t.Fatal(err)
		}
	}
	if err := enc.Encode(r.Notes); err != nil {
		t.Fatal(err)
	}
	b.WriteString(logs.String())
	return b.String()
}

func debugLogger(b *logBuffer) *slog.Logger {
	return slog.New(slog.NewJSONHandler(b, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// put writes a file, with the directories on the way.
func put(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	temp := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".tmp")
	if err := errors.Join(os.WriteFile(temp, []byte(content), 0o644), os.Rename(temp, path)); err != nil {
		t.Fatal(err)
	}
}

// digest is what Plugin.Digest and a pin hold.
func digest(wasm []byte) string {
	sum := sha256.Sum256(wasm)
	return hex.EncodeToString(sum[:])
}
