package host_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"waymark/host"
	"waymark/snapshot"
	"waymark/test/wasmtest"
)

// TestDropInBroken: what is wrong with a file is said in one line that tells
// what to do, the others work on, and so does the version that was there
// before; a sound file is taken at once after that.
func TestDropInBroken(t *testing.T) {
	noLeaks(t)
	good := tiny{name: "a", version: "1"}.build()
	other := func(change func(*wasmtest.File)) []byte {
		f := wasmtest.File{Describe: `{"abi":1,"name":"a","version":"9","resolvers":[{"name":"r","kinds":["command"],"reads":["F.md"]}]}`, Resolve: `{}`}
		change(&f)
		return f.Bytes()
	}
	tests := []struct {
		name string
		wasm []byte
		want string
	}{
		{"cut", good[:len(good)/2], "the file ends in the middle of a section, after "},
		{"empty", nil, "the file is empty (copy it again)"},
		{"not wasm", []byte("#!/bin/sh"), "not WebAssembly (build it with"},
		{"another ABI", other(func(f *wasmtest.File) { f.Describe = strings.Replace(f.Describe, `"abi":1`, `"abi":7`, 1) }),
			"it speaks ABI version 7, this host speaks version 1 (rebuild it"},
		{"no resolve", other(func(f *wasmtest.File) { f.NoResolve = true }), `no exported function "resolve" (see abi/ABI.md`},
		{"no describe", other(func(f *wasmtest.File) { f.Describe = "" }), `no exported function "describe" (see abi/ABI.md`},
		{"an unknown import", other(func(f *wasmtest.File) { f.Imports = []string{"env exec"} }), "unknown import env exec (a module may import"},
		{"a taken name", tiny{name: "ok", version: "9"}.build(), `the name "ok" is taken by `},
		{"one that fails", tiny{name: "a", version: "9", fails: true}.build(), "its resolver fails on an empty directory: a/r: bad answer"},
	}
	b := hotplug(t, host.Options{})
	b.drop(t, "0.wasm", tiny{name: "ok", version: "1"}.build())
	b.is(t, "the other", "0.wasm ready; ok=1")
	oneLine := func(name string) {
		for _, p := range b.Current().Plugins {
			if strings.ContainsAny(p.Error, "\n\r") {
				t.Errorf("%s: several lines: %q", name, p.Error)
			}
		}
	}
	for _, tt := range tests {
		b.drop(t, "a.wasm", tt.wasm)
		b.reaches(t, tt.name+", first", "0.wasm ready; a.wasm rejected "+tt.want)
		b.reaches(t, tt.name, "; ok=1")
		oneLine(tt.name)
		b.drop(t, "a.wasm", good)
		b.is(t, tt.name+", mended", "0.wasm ready; a.wasm ready; a=1; ok=1")
		b.drop(t, "a.wasm", tt.wasm)
		b.reaches(t, tt.name+", after a good one", "0.wasm ready; a.wasm ready the new version of a.wasm is not used: "+tt.want)
		b.reaches(t, tt.name, "; version 1 serves until the file is mended; a=1; ok=1")
		oneLine(tt.name)
		if p := b.Current().Plugins[1]; p.Version != "1" || p.Digest != digest(good) {
			t.Errorf("%s: the row is not that of what serves: %+v", tt.name, p)
		}
		if err := os.Remove(filepath.Join(b.dir, "a.wasm")); err != nil {
			t.Fatal(err)
		}
		b.is(t, tt.name+", removed", "0.wasm ready; ok=1")
	}
}

// TestSlowCopy: a file that comes in pieces is used when it is whole, and not
// taken for broken for ever, however long that takes.
func TestSlowCopy(t *testing.T) {
	noLeaks(t)
	b := hotplug(t, host.Options{})
	one, two := tiny{name: "a", version: "1"}.build(), tiny{name: "a", version: "2"}.build()
	for i, wasm := range [][]byte{one, two} {
		f, err := os.OpenFile(filepath.Join(b.dir, "a.wasm"), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		for piece := range slices.Chunk(wasm, len(wasm)/3+1) {
			if _, err := f.Write(piece); err != nil {
				t.Fatal(err)
			}
			// After each pause something is said of what is there, but for the end.
			if info, _ := f.Stat(); info.Size() < int64(len(wasm)) {
				b.reaches(t, "a piece", fmt.Sprintf("after %d bytes: it is still being written, or was copied in part", info.Size()))
				if i == 1 && !strings.Contains(state(b.Current()), "a=1") {
					t.Errorf("the old version doesn't serve: %s", state(b.Current()))
				}
			}
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		b.is(t, "whole", fmt.Sprintf("a.wasm ready; a=%d", i+1))
	}
}

// FuzzPluginFile: whatever lies in a plugin directory, it is used or refused
// with a reason of one line.
func FuzzPluginFile(f *testing.F) {
	good := tiny{name: "a", version: "1"}.build()
	for _, n := range []int{0, 4, 8, 9, 10, 50, len(good) - 1, len(good)} {
		f.Add(good[:n])
	}
	f.Add(append(append([]byte{}, good...), 0, 0xff, 0xff, 0xff, 0xff, 0x0f))
	f.Add([]byte("#!/bin/sh"))
	f.Fuzz(func(t *testing.T, wasm []byte) {
		h, err := host.New(host.Options{PluginDirs: []string{pluginDir(t, map[string][]byte{"a.wasm": wasm})}})
		if err == nil {
			err = errors.Join(h.Load(t.Context()), h.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
		p := h.Status().Plugins[0]
		if refused := p.State == snapshot.PluginRejected && p.Error != ""; !refused && p.State != snapshot.PluginReady || strings.ContainsAny(p.Error, "\r\n") {
			t.Errorf("%+v", p)
		}
	})
}
