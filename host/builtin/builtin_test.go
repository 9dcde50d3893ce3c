package builtin

import (
	"bytes"
	"errors"
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
