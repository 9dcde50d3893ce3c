package sandbox

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"io"
	"testing"

	"waymark/host/sandbox/codecache"
	"waymark/host/sandbox/memory"
	"waymark/test/wasmtest"
)

// TestOtherAhead: an image that is sound, and of another version or another module, isn't
// used. It is internal because nobody else can write one.
func TestOtherAhead(t *testing.T) {
	wasm := wasmtest.File{Describe: `{"abi":1,"name":"small","version":"1.0.0","resolvers":[{"name":"r","kinds":["skill"],"reads":[]}]}`, Resolve: "{}"}.Bytes()
	var code, whole bytes.Buffer
	r, err := recipe(Limits{}.WithDefaults())
	if err == nil {
		err = codecache.Ahead(t.Context(), &code, wasm, r, rewrite)
	}
	if err == nil {
		err = Ahead(t.Context(), &whole, wasm)
	}
	if err != nil {
		t.Fatal(err)
	}
	h := New(Options{})
	loaded := func(pack []byte) *Module {
		m, err := h.loadCode(t.Context(), codecache.Request{Wasm: wasm, Digest: sha256.Sum256(wasm), Embedded: bytes.NewReader(pack)}, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = m.freeCode() })
		return m
	}
	extra, err := loaded(whole.Bytes()).code.Extra()
	if err != nil {
		t.Skipf("images are for Linux: %v", err)
	}
	content, err := io.ReadAll(extra.Pages)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		change func(*writtenImage)
		used   bool
	}{
		{"the same", func(*writtenImage) {}, true},
		{"version", func(w *writtenImage) { w.Version++ }, false},
		{"logs", func(w *writtenImage) { w.Limits.Logs++ }, false},
		{"memory", func(w *writtenImage) { w.Limits.Memory += wasmPage }, false},
		{"description", func(w *writtenImage) { w.Described = []byte("{}") }, false},
		{"too few globals", func(w *writtenImage) { w.Globals = w.Globals[1:] }, false},
		{"too many globals", func(w *writtenImage) { w.Globals = append(w.Globals, 1) }, false},
		{"less kept", func(w *writtenImage) { w.Memory.Parts = nil }, false},
		{"kept beyond its end", func(w *writtenImage) { w.Memory.Size = 0 }, false},
		{"kept between pages", func(w *writtenImage) {
			w.Memory.Parts = []memory.Range{{From: 1, To: w.Memory.Bytes() + 1}}
		}, false},
		{"random numbers", func(w *writtenImage) { w.Random = w.Random[:10] }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var w writtenImage
			if err := json.Unmarshal(extra.Text, &w); err != nil {
				t.Fatal(err)
			}
			tt.change(&w)
			text, err := json.Marshal(w)
			if err != nil {
				t.Fatal(err)
			}
			pack, err := codecache.WithExtra(code.Bytes(), text, content)
			if err != nil {
				t.Fatal(err)
			}
			m := loaded(pack)
			if used := m.useAhead(); used != tt.used || used != (m.image != nil) {
				t.Errorf("it is used: %t", used)
			}
			if m.image != nil {
				_ = m.image.memory.Close()
			}
		})
	}
}
