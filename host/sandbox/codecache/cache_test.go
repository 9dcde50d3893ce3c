package codecache_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"waymark/host/sandbox/codecache"
	"waymark/internal/sealedstore"
)

func TestCompileKeepLoad(t *testing.T) {
	var logs logBuffer
	opts := cacheOptions(t, &logs)
	req := codecache.Request{Wasm: small()}
	want := []codecache.Source{codecache.Compiled, codecache.Kept, codecache.Kept}
	for i, source := range want {
		c := openCache(t, opts) // as a new process would
		if got := load(t, c, req); got != source {
			t.Errorf("load %d is %s, want %s", i, got, source)
		}
	}
	noScratch(t, opts.Dir)
	if text := logs.take(); text != "" {
		t.Errorf("logged: %s", text)
	}
	// Nothing may be kept without being sealed.
	entries, err := os.ReadDir(opts.Dir)
	must(t, err)
	if len(entries) != 1 || !strings.HasSuffix(entries[0].Name(), ".sealed") {
		t.Errorf("the store holds %v", entries)
	}
}

// TestKeyOf: everything that the code depends on is in the key.
func TestKeyOf(t *testing.T) {
	seen := map[codecache.Key]string{}
	for name, r := range map[string]codecache.Recipe{
		"plain":    {},
		"rewriter": {Rewriter: "a"},
		"options":  {RewriteOptions: []byte("a")},
		"both":     {Rewriter: "a", RewriteOptions: []byte("a")},
		"close":    {CloseOnDone: true},
	} {
		for _, module := range []string{"m1", "m2"} {
			key, err := codecache.KeyOf(sha256.Sum256([]byte(module)), r)
			must(t, err)
			if other, ok := seen[key]; ok {
				t.Errorf("%s of %s has the key of %s", name, module, other)
			}
			seen[key] = name + " of " + module
		}
	}
}

// TestRecipes: code made by one recipe isn't used for another, and what the
// rewriter made and said is kept.
func TestRecipes(t *testing.T) {
	var logs logBuffer
	opts := cacheOptions(t, &logs)
	for _, recipe := range []codecache.Recipe{
		{}, {Rewriter: "test", RewriteOptions: []byte("custom")}, {Rewriter: "other", RewriteOptions: []byte("custom")},
	} {
		for _, want := range []codecache.Source{codecache.Compiled, codecache.Kept} {
			var wasm []byte
			code, err := openCache(t, opts).Load(t.Context(), codecache.Request{Wasm: small(), Recipe: recipe},
				func(ctx context.Context, code *codecache.Code) error {
					wasm = code.Wasm
					return use(ctx, code)
				})
			must(t, err)
			if code.Source != want {
				t.Errorf("%+v: %s, want %s", recipe, code.Source, want)
			}
			custom := len(recipe.RewriteOptions) > 0
			if custom != (string(code.Meta) == "said") || custom != bytes.HasSuffix(wasm, []byte(renamed)) {
				t.Errorf("%+v: %d bytes, meta %q", recipe, len(wasm), code.Meta)
			}
			if code.Wasm != nil {
				t.Errorf("%+v: a loaded module keeps its text, %d bytes", recipe, len(code.Wasm))
			}
			must(t, code.Close())
		}
	}
}

// TestDoubtfulStore: whatever became of the store, modules are compiled, load,
// and the damaged code is never executed. With damaged code loading would fail
// or crash.
func TestDoubtfulStore(t *testing.T) {
	type place struct{ dir, entry string }
	tests := []struct {
		name   string
		again  codecache.Source // where the load after the next one comes from
		damage func(t *testing.T, p place)
	}{
		{"empty", codecache.Kept, func(t *testing.T, p place) { must(t, os.Truncate(p.entry, 0)) }},
		{"cut", codecache.Kept, func(t *testing.T, p place) { must(t, os.Truncate(p.entry, 5000)) }},
		{"flipped", codecache.Kept, func(t *testing.T, p place) {
			data, err := os.ReadFile(p.entry)
			must(t, err)
			data[len(data)/2] ^= 0x40
			must(t, os.WriteFile(p.entry, data, 0o600))
		}},
		{"a link", codecache.Kept, func(t *testing.T, p place) {
			must(t, os.Rename(p.entry, p.entry+"2"))
			must(t, os.Symlink(p.entry+"2", p.entry))
		}},
		{"open to others", codecache.Compiled, func(t *testing.T, p place) { must(t, os.Chmod(p.dir, 0o755)) }},
		{"removed", codecache.Kept, func(t *testing.T, p place) { must(t, os.RemoveAll(p.dir)) }},
		{"a directory in its place", codecache.Compiled, func(t *testing.T, p place) {
			must(t, os.Remove(p.entry))
			must(t, os.MkdirAll(filepath.Join(p.entry, "x"), 0o700))
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var logs logBuffer
			opts := cacheOptions(t, &logs)
			c := openCache(t, opts)
			req := codecache.Request{Wasm: small()}
			load(t, c, req)
			entries, err := filepath.Glob(filepath.Join(opts.Dir, "*.sealed"))
			must(t, err)
			tt.damage(t, place{opts.Dir, entries[0]})
			if got := load(t, c, req); got != codecache.Compiled {
				t.Errorf("the next load is %s", got)
			}
			if tt.name != "removed" && logs.take() == "" {
				t.Error("nothing was logged")
			}
			if got := load(t, c, req); got != tt.again {
				t.Errorf("the load after it is %s, want %s", got, tt.again)
			}
		})
	}
}

// TestAlteredCode: native code that somebody altered, with a valid CRC, in a
// store sealed with another key, is not executed; sealed with the right key it
// would be, which shows that the test alters what matters.
func TestAlteredCode(t *testing.T) {
	var logs logBuffer
	opts := cacheOptions(t, &logs)
	req := codecache.Request{Wasm: small()}
	key, err := codecache.KeyOf(sha256.Sum256(req.Wasm), req.Recipe)
	must(t, err)
	var packed bytes.Buffer
	must(t, codecache.Ahead(t.Context(), &packed, req.Wasm, req.Recipe, nil))
	altered := alterNative(t, packed.Bytes())
	reseal := func(keyDir string) {
		s, err := sealedstore.Open(opts.Dir, sealedstore.Options{KeyDir: keyDir})
		must(t, err)
		must(t, s.Put(key.String(), int64(len(altered)), func(w io.Writer) error { _, err := w.Write(altered); return err }))
	}
	notLoaded := errors.New("looked at only")
	look := func() (source codecache.Source, wasm []byte) {
		_, err := openCache(t, opts).Load(t.Context(), req, func(_ context.Context, code *codecache.Code) error {
			if source == "" {
				source, wasm = code.Source, code.Wasm
			}
			return notLoaded
		})
		if !errors.Is(err, notLoaded) {
			t.Fatal(err)
		}
		return source, wasm
	}
	reseal(opts.KeyDir)
	if source, _ := look(); source != codecache.Kept {
		t.Fatalf("with the right key it is %s: the test is wrong", source)
	}
	reseal(filepath.Join(t.TempDir(), "foreign"))
	if source, _ := look(); source != codecache.Compiled {
		t.Errorf("with a foreign key it is %s", source)
	}
	if got := load(t, openCache(t, opts), req); got != codecache.Compiled {
		t.Errorf("%s", got)
	}
}

// alterNative changes the last instruction byte in packed code without meta data,
// and makes wazero's CRC and the digest of what is around the code right again.
func alterNative(t *testing.T, packed []byte) []byte {
	t.Helper()
	out := bytes.Clone(packed)
	at := bytes.Index(out, []byte("WAZEVO"))
	if at < 0 {
		t.Fatal("no native code found")
	}
	digests := bytes.IndexByte(out, '\n') + 1 // key, name, frame, then sizes
	native := out[at : at+int(binary.LittleEndian.Uint64(out[digests+3*32+16:]))]
	version := int(native[6])
	functions := int(binary.LittleEndian.Uint32(native[7+version:]))
	head := 7 + version + 4 + 8*functions + 8
	end := head + int(binary.LittleEndian.Uint64(native[head-8:]))
	native[end-1] ^= 0xff
	binary.LittleEndian.PutUint32(native[end:], crc32.Checksum(native[head:end], crc32.MakeTable(crc32.Castagnoli)))
	frame := sha256.Sum256(slices.Concat(make([]byte, 8), native[:head], native[end:]))
	copy(out[digests+2*32:], frame[:])
	return out
}

// TestUseFails: code that can't be loaded is thrown away and compiled anew,
// once.
func TestUseFails(t *testing.T) {
	var logs logBuffer
	c := openCache(t, cacheOptions(t, &logs))
	req := codecache.Request{Wasm: small()}
	load(t, c, req)
	bad := errors.New("can't be loaded")
	var sources []codecache.Source
	_, err := c.Load(t.Context(), req, func(_ context.Context, code *codecache.Code) error {
		sources = append(sources, code.Source)
		return bad
	})
	if !errors.Is(err, bad) || len(sources) != 2 || sources[0] != codecache.Kept || sources[1] != codecache.Compiled {
		t.Errorf("%v, %v", sources, err)
	}
	if got := load(t, c, req); got != codecache.Compiled {
		t.Errorf("code that couldn't be loaded was kept: %s", got)
	}
}

// TestEmbedded: packed code is used when it fits, and never otherwise.
func TestEmbedded(t *testing.T) {
	var packed bytes.Buffer
	must(t, codecache.Ahead(t.Context(), &packed, small(), codecache.Recipe{}, nil))
	whole := packed.Bytes()
	other := wasmOf("other")
	tests := []struct {
		name   string
		req    codecache.Request
		packed []byte
		want   codecache.Source
	}{
		{"fits", codecache.Request{Wasm: small()}, whole, codecache.Embedded},
		{"another module", codecache.Request{Wasm: other}, whole, codecache.Compiled},
		{"another rewriter", codecache.Request{Wasm: small(), Recipe: codecache.Recipe{Rewriter: "2"}}, whole, codecache.Compiled},
		{"another format", codecache.Request{Wasm: small()}, bytes.Replace(whole, []byte("waymark-code-5"), []byte("waymark-code-0"), 1), codecache.Compiled},
		{"empty", codecache.Request{Wasm: small()}, []byte{}, codecache.Compiled},
		{"cut", codecache.Request{Wasm: small()}, whole[:bytes.Index(whole, []byte("WAZEVO"))+100], codecache.Compiled},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.req.Embedded = bytes.NewReader(tt.packed)
			temp := t.TempDir()
			c := openCache(t, codecache.Options{Program: program, TempDir: temp})
			if got := load(t, c, tt.req); got != tt.want {
				t.Errorf("it is %s, want %s", got, tt.want)
			}
			noScratch(t, temp)
		})
	}
}

// wasmOf is a small module that differs from others by a custom section.
func wasmOf(name string) []byte {
	wasm := append(small(), 0, byte(len(name)+2), byte(len(name)))
	return append(append(wasm, name...), 0)
}

// TestOpenWithoutDir: where nothing can be kept everything works all the same.
func TestOpenWithoutDir(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "code")
	must(t, os.Mkdir(dir, 0o755))
	must(t, os.Chmod(dir, 0o755)) // whatever the umask is
	c, err := codecache.Open(codecache.Options{Dir: dir, Program: program})
	if !errors.Is(err, sealedstore.ErrUnsafe) || c == nil {
		t.Fatalf("%v, %v", c, err)
	}
	for range 2 {
		if got := load(t, c, codecache.Request{Wasm: small()}); got != codecache.Compiled {
			t.Errorf("it is %s", got)
		}
	}
}

// TestSweep: what a killed process left is removed, what another one uses is
// not.
func TestSweep(t *testing.T) {
	var logs logBuffer
	opts := cacheOptions(t, &logs)
	openCache(t, opts)
	old, young := filepath.Join(opts.KeyDir, ".code-1"), filepath.Join(opts.KeyDir, ".code-2")
	must(t, os.MkdirAll(filepath.Join(old, "wazero"), 0o700))
	must(t, os.Mkdir(young, 0o700))
	at := time.Now().Add(-2 * time.Hour)
	must(t, os.Chtimes(old, at, at))
	openCache(t, opts)
	if _, err := os.Stat(old); err == nil {
		t.Error("the old one is still there")
	}
	if _, err := os.Stat(young); err != nil {
		t.Error("the young one is gone")
	}
}

// TestOutOfReach: native code that isn't sealed lies where the key is, which processes
// under a profile can't write, and nowhere else.
func TestOutOfReach(t *testing.T) {
	var logs logBuffer
	opts := cacheOptions(t, &logs)
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	c := openCache(t, opts)
	var g guest
	code, err := c.Load(t.Context(), codecache.Request{Wasm: small()}, func(ctx context.Context, code *codecache.Code) error {
		noScratch(t, opts.Dir, temp, "/dev/shm")
		if left, _ := filepath.Glob(filepath.Join(opts.KeyDir, ".code-*")); len(left) != 1 {
			t.Errorf("where the key is lies %v", left)
		}
		return g.use(ctx, code)
	})
	must(t, err)
	must(t, g.Close())
	must(t, code.Close())
	noScratch(t, opts.KeyDir)
	must(t, os.RemoveAll(opts.KeyDir))
	if _, err := c.Load(t.Context(), codecache.Request{Wasm: wasmOf("another")}, use); err == nil {
		t.Error("native code was loaded from another place")
	}
}

// FuzzEmbedded: whatever packed code holds, it is a miss or code, and nothing
// is left behind.
func FuzzEmbedded(f *testing.F) {
	key, err := codecache.KeyOf(sha256.Sum256(small()), codecache.Recipe{})
	must(f, err)
	var packed bytes.Buffer
	must(f, codecache.Ahead(f.Context(), &packed, small(), codecache.Recipe{}, nil))
	whole := packed.Bytes()
	f.Add(whole)
	f.Add(whole[:700])
	more, err := codecache.WithExtra(whole, []byte("text"), make([]byte, 5000))
	must(f, err)
	f.Add(more)
	f.Add(append(bytes.Clone(whole), whole...))
	temp := f.TempDir()
	c, err := codecache.Open(codecache.Options{TempDir: temp, Logger: slog.New(slog.DiscardHandler)})
	must(f, err)
	f.Fuzz(func(t *testing.T, data []byte) {
		code, err := c.Embedded(bytes.NewReader(data), key)
		if err != nil {
			if !errors.Is(err, codecache.ErrMiss) {
				t.Errorf("error %v", err)
			}
		} else {
			if e, err := code.Extra(); err == nil && (string(e.Text) != "text" || e.Pages.Size() != 5000) {
				t.Errorf("%q is packed with it, and %d bytes", e.Text, e.Pages.Size())
			}
			must(t, code.Close())
		}
		if err != nil && bytes.Equal(data, whole) {
			t.Error("what was packed is a miss")
		}
		if entries, _ := os.ReadDir(temp); len(entries) > 0 {
			t.Errorf("left behind: %v", entries)
		}
	})
}
