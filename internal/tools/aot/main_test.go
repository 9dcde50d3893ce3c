package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"waymark/host/sandbox"
	"waymark/host/sandbox/codecache"
	"waymark/test/wasmtest"
)

const description = `{"abi":1,"name":"small","version":"1.0.0","resolvers":[{"name":"r","kinds":["skill"],"reads":[]}]}`

// TestRun: what the tool writes is what a host on the same machine embeds, and
// an input that can't be compiled leaves nothing behind.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	input, output := filepath.Join(dir, "in.wasm"), filepath.Join(dir, "out.native")
	wasm := wasmtest.File{Describe: description, Resolve: "{}"}.Bytes()
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
	none := func() ([]byte, error) { return nil, errors.New("it is compiled") }
	digest := fmt.Sprintf("%x", sha256.Sum256(wasm))
	m, err := sandbox.New(sandbox.Options{}).LoadNative(t.Context(), digest, none, bytes.NewReader(packed), sandbox.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if how := m.Instances(); runtime.GOOS == "linux" && !how.Ahead {
		t.Errorf("its instances are %+v", how)
	}
	if err := m.Close(); err != nil {
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
		if err := os.WriteFile(path, data, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	read := func(path string) []byte {
		t.Helper()
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	write(input, wasmtest.File{Describe: description, Resolve: "{}"}.Bytes())
	if err := run(t.Context(), pack, input); err != nil {
		t.Fatal(err)
	}
	packed, end := read(pack), []byte("the end")
	begin := make([]byte, 12345)
	write(program, begin)
	if err := placeIn(program, pack); err == nil || !bytes.Equal(read(program), begin) {
		t.Errorf("it was placed in a program without it: %v", err)
	}
	linked := slices.Concat(begin, packed, end)
	write(program, linked)
	if err := placeIn(program, pack); err != nil {
		t.Fatal(err)
	}
	placed := read(program)
	if len(placed) != len(linked) || bytes.Equal(placed, linked) || !bytes.HasPrefix(placed, begin) || !bytes.HasSuffix(placed, end) {
		t.Errorf("%d bytes became %d", len(linked), len(placed))
	}
	if info, err := os.Stat(program); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("its mode is %v, %v", info.Mode(), err)
	}
	if err := placeIn(program, pack); err != nil || !bytes.Equal(read(program), placed) {
		t.Errorf("it was placed once more: %v", err)
	}
	placed[len(begin)+len(packed)/2]++
	write(program, placed)
	if err := placeIn(program, pack); err == nil {
		t.Error("other code was taken for it")
	}
	if err := placeIn(program, input); err == nil {
		t.Error("a module was taken for packed code")
	}
}
