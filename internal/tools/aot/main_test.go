package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"waymark/host/sandbox"
	"waymark/host/sandbox/codecache"
	"waymark/test/wasmtest"
)

// TestRun: what the tool writes is what a host on the same machine embeds, and
// an input that can't be compiled leaves nothing behind.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	input, output := filepath.Join(dir, "in.wasm"), filepath.Join(dir, "out.native")
	wasm := wasmtest.File{Describe: "{}", Resolve: "{}"}.Bytes()
	if err := os.WriteFile(input, wasm, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), output, input); err != nil {
		t.Fatal(err)
	}
	packed, err := os.ReadFile(output)
	if err != nil {
		t.Fatal(err)
	}
	cache, err := codecache.Open(codecache.Options{})
	if err != nil {
		t.Fatal(err)
	}
	recipe, _, err := sandbox.Recipe()
	if err != nil {
		t.Fatal(err)
	}
	request := codecache.Request{Wasm: wasm, Recipe: recipe, Embedded: bytes.NewReader(packed)}
	code, err := cache.Load(t.Context(), request, func(context.Context, *codecache.Code) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	if code.Source != codecache.Embedded {
		t.Errorf("it is %s, want embedded", code.Source)
	}
	if err := code.Close(); err != nil {
		t.Error(err)
	}

	if err := os.WriteFile(input, []byte("not wasm"), 0o600); err != nil {
		t.Fatal(err)
	}
	broken := filepath.Join(dir, "broken.native")
	var module *codecache.ModuleError
	if err := run(t.Context(), broken, input); !errors.As(err, &module) {
		t.Errorf("got %v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

// TestPlace: what was placed in a program stays as it is there, and nothing
// is written for a program that doesn't hold it.
func TestPlace(t *testing.T) {
	dir := t.TempDir()
	input, pack, program := filepath.Join(dir, "in.wasm"), filepath.Join(dir, "out.native"), filepath.Join(dir, "program")
	write := func(path string, data []byte) {
		t.Helper()
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	read := func() []byte {
		t.Helper()
		data, err := os.ReadFile(pack)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	write(input, wasmtest.File{Describe: "{}", Resolve: "{}"}.Bytes())
	if err := run(t.Context(), pack, input); err != nil {
		t.Fatal(err)
	}
	first := read()
	link := func() { write(program, slices.Concat(make([]byte, 12345), read(), []byte("the end"))) }
	write(program, make([]byte, 12345))
	if err := placeIn(program, pack); err == nil || !bytes.Equal(read(), first) {
		t.Errorf("it was placed in a program without it: %v", err)
	}
	link()
	if err := placeIn(program, pack); err != nil {
		t.Fatal(err)
	}
	second := read()
	if len(second) != len(first) || bytes.Equal(second, first) {
		t.Errorf("%d bytes became %d", len(first), len(second))
	}
	link()
	if err := placeIn(program, pack); err != nil || !bytes.Equal(read(), second) {
		t.Errorf("it was placed once more: %v", err)
	}
	if err := placeIn(program, input); err == nil {
		t.Error("a module was taken for packed code")
	}
}
