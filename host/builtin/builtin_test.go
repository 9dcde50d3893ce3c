package builtin

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
)

func TestRead(t *testing.T) {
	file := func(text string) fstest.MapFS {
		return fstest.MapFS{"dist/README": {}, "dist/builtin.wasm": {Data: []byte(text)}}
	}
	tests := []struct {
		name  string
		files fstest.MapFS
		hint  string
	}{
		{"there", file("\x00asm\x01\x00\x00\x00"), ""},
		{"not built", fstest.MapFS{"dist/README": {}}, "make build"},
		{"empty", file(""), "make clean build"},
		{"something else", file("#!/bin/sh"), "make clean build"},
		{"a directory", fstest.MapFS{"dist/builtin.wasm/x": {}}, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			module, err := read(test.files)
			if test.name == "there" {
				if err != nil || len(module) != 8 {
					t.Errorf("got %d bytes, %v", len(module), err)
				}
				return
			}
			if !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), test.hint) {
				t.Errorf("got %v, want ErrMissing with %q", err, test.hint)
			}
		})
	}
}

// TestPack: what is packed is found again, and its digest without unpacking; one
// that is cut off is no module.
func TestPack(t *testing.T) {
	wasm := append([]byte("\x00asm\x01\x00\x00\x00"), bytes.Repeat([]byte("module"), 1000)...)
	want := fmt.Sprintf("%x", sha256.Sum256(wasm))
	var packed bytes.Buffer
	if err := Pack(&packed, wasm); err != nil {
		t.Fatal(err)
	}
	if packed.Len() > len(wasm)/2 {
		t.Errorf("%d bytes are packed into %d", len(wasm), packed.Len())
	}
	for name, data := range map[string][]byte{"plain": wasm, "packed": packed.Bytes()} {
		files := fstest.MapFS{moduleFile: {Data: data}}
		if got, err := read(files); err != nil || !bytes.Equal(got, wasm) {
			t.Errorf("%s: got %d bytes, %v", name, len(got), err)
		}
		if got, err := digest(files); err != nil || got != want {
			t.Errorf("%s: got digest %s, %v, want %s", name, got, err, want)
		}
	}
	cut := fstest.MapFS{moduleFile: {Data: packed.Bytes()[:packed.Len()-20]}}
	if _, err := read(cut); !errors.Is(err, ErrMissing) {
		t.Errorf("cut off: got %v", err)
	}
	for _, size := range []int{0, 1, 5} {
		if _, err := digest(fstest.MapFS{moduleFile: {Data: packed.Bytes()[:size]}}); size == 5 && !errors.Is(err, ErrMissing) {
			t.Errorf("cut to %d bytes: got %v", size, err)
		}
	}
	if _, err := digest(fstest.MapFS{}); !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), "make build") {
		t.Errorf("missing: got %v", err)
	}
}

// TestModule holds in both worlds: a fresh clone has no module, a built tree
// has one.
func TestModule(t *testing.T) {
	module, err := Module()
	if err != nil {
		if !errors.Is(err, ErrMissing) {
			t.Errorf("got %v, want ErrMissing", err)
		}
		return
	}
	again, err := Module()
	if err != nil || !bytes.Equal(module, again) {
		t.Errorf("a second time: %v", err)
	}
	if module[0] = 1; again[0] != 0 {
		t.Error("callers share the bytes")
	}
}
