//go:build linux

package codecache_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"waymark/host/sandbox/codecache"
	"waymark/test/built"
	"waymark/test/wasmtest"
)

// large is counter with functions that nobody calls, and more than one page of
// native code.
func large(t testing.TB) []byte {
	t.Helper()
	var text strings.Builder
	text.WriteString(`(module (memory (export "mem") 1 4) (global $g (mut i32) (i32.const 7))
  (func (export "read") (result i32) (i32.add (i32.load (i32.const 16)) (global.get $g)))
  (func (export "size") (result i32) (memory.size))
  (data (i32.const 16) "\05\00\00\00")`)
	for i := range 400 {
		fmt.Fprintf(&text, "(func (param i32 i32) (result i32) (i32.div_s (i32.add (local.get 0) (i32.load (i32.const %d))) (i32.mul (local.get 1) (i32.const %d))))", i, i)
	}
	wasm, err := wasmtest.WAT(text.String() + ")")
	must(t, err)
	return wasm
}

// sealedMappings are the mappings of sealed code that this process has.
func sealedMappings(t testing.TB) map[string]bool {
	t.Helper()
	text, err := os.ReadFile("/proc/self/maps")
	must(t, err)
	lines := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, " r-xp ") && strings.Contains(line, sealedFile) {
			lines[line] = true
		}
	}
	return lines
}

// executed are the files in a list of mappings that are executed, with how often
// each is.
func executed(maps string) map[string]int {
	files := map[string]int{}
	for line := range strings.Lines(maps) {
		if fields := strings.Fields(line); len(fields) > 5 && fields[1] == "r-xp" {
			files[fields[5]]++
		}
	}
	return files
}

const sealedFile = "/memfd:waymark-code"

// TestSealed: native code that isn't the binary's is executed from a sealed
// memory file, and nothing of it stays.
func TestSealed(t *testing.T) {
	var logs logBuffer
	c := openCache(t, cacheOptions(t, &logs))
	before := sealedMappings(t)
	var whole *reader
	code, err := c.Load(t.Context(), codecache.Request{Wasm: large(t)}, func(ctx context.Context, code *codecache.Code) (err error) {
		whole, err = open(ctx, code)
		return err
	})
	must(t, err)
	must(t, code.Loaded()) // once more
	now := sealedMappings(t)
	maps.DeleteFunc(now, func(line string, _ bool) bool { return before[line] })
	if len(now) != 1 {
		t.Errorf("mappings of sealed code %v, want one", now)
	}
	must(t, whole.check(t.Context(), 12, 1))
	must(t, errors.Join(whole.runtime.Close(t.Context()), code.Close()))
	if text := logs.take(); text != "" {
		t.Errorf("logged: %s", text)
	}
}

// TestSealedEndures: loading many times leaves descriptors where they were, and
// mappings when wazero lets go of what the collector finds.
func TestSealedEndures(t *testing.T) {
	c := openCache(t, codecache.Options{Dir: filepath.Join(t.TempDir(), "code")})
	wasm := large(t)
	once := func() {
		var r *reader
		code, err := c.Load(t.Context(), codecache.Request{Wasm: wasm}, func(ctx context.Context, code *codecache.Code) (err error) {
			r, err = open(ctx, code)
			return err
		})
		must(t, err)
		must(t, r.check(t.Context(), 12, 1))
		must(t, errors.Join(r.runtime.Close(t.Context()), code.Close()))
	}
	descriptors := func() int {
		list, err := os.ReadDir("/proc/self/fd")
		must(t, err)
		return len(list)
	}
	once()
	before := descriptors()
	for range 50 {
		once()
		runtime.GC()
	}
	if after := descriptors(); after > before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
	if n := len(sealedMappings(t)); n > 25 {
		t.Errorf("%d mappings after 50 loads", n)
	}
}

// TestFromExecutable: placed code is executed from the executable's own file,
// also when another one has taken its name. Where it doesn't lie at a page, or
// others can write it, a sealed copy is; and what is damaged is compiled anew and
// never executed.
func TestFromExecutable(t *testing.T) {
	dir := t.TempDir()
	path, wasm := filepath.Join(dir, "embedding"), filepath.Join(dir, "large.wasm")
	must(t, os.WriteFile(wasm, large(t), 0o600))
	must(t, built.Programs(t.Context(), dir, false, "./testdata/embedding"))
	program, err := os.ReadFile(path)
	must(t, err)
	program = append(program, make([]byte, 1000-len(program)%1000)...) // at no page
	pack, err := exec.CommandContext(t.Context(), path, "pack", wasm).Output()
	must(t, err)
	at, placed, err := codecache.Place(pack, append(program[:len(program):len(program)], pack...))
	must(t, err)
	if at != len(program) {
		t.Errorf("it was found at %d of %d", at, len(program))
	}
	if len(placed) != len(pack) || bytes.Equal(placed, pack) {
		t.Fatalf("%d bytes, placed %d", len(pack), len(placed))
	}
	if _, again, err := codecache.Place(pack, append(program[:len(program):len(program)], placed...)); err != nil || !bytes.Equal(again, placed) {
		t.Fatalf("what fits was placed otherwise: %v", err)
	}
	if _, _, err := codecache.Place(pack, program); err == nil {
		t.Error("code was placed in an executable that doesn't hold it")
	}
	magic := bytes.Index(placed, []byte("WAZEVO"))
	flip := func(at int) func([]byte) { return func(p []byte) { p[at] ^= 0x40 } }
	functions := int(binary.LittleEndian.Uint32(placed[magic+7+int(placed[magic+6]):]))
	tests := []struct {
		name   string
		change func(pack []byte)
		mode   os.FileMode
		move   bool
		source codecache.Source
		from   string // what is executed
		logged string
	}{
		{"placed", nil, 0o755, false, codecache.Embedded, "self", ""},
		{"replaced", nil, 0o755, true, codecache.Embedded, "self", ""},
		{"not placed", func(p []byte) { copy(p, pack) }, 0o755, false, codecache.Embedded, sealedFile, ""},
		{"placed elsewhere", flip(len(packMagicOf(placed)) + 32 + 32 + 32 + 8 + 16), 0o755, false, codecache.Embedded, sealedFile, ""},
		{"written by the group", nil, 0o775, false, codecache.Embedded, sealedFile, "can be written by others"},
		{"written by all", nil, 0o757, false, codecache.Embedded, sealedFile, "can be written by others"},
		{"damaged code", flip(len(placed) - 100<<10), 0o755, false, codecache.Compiled, sealedFile, "compiled anew"},
		{"damaged places of functions", flip(magic + 7 + int(placed[magic+6]) + 4 + 8*functions - 8), 0o755, false, codecache.Compiled, sealedFile, "not used"},
		{"damaged stub", flip(len(packMagicOf(placed)) + 32 + 32 + 32 + 8 + 16 + 8 + 56 + 40), 0o755, false, codecache.Compiled, sealedFile, "not used"},
		{"cut", func(p []byte) { clear(p[magic+1000:]) }, 0o755, false, codecache.Compiled, sealedFile, "not used"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := bytes.Clone(placed)
			if tt.change != nil {
				tt.change(p)
			}
			exe := filepath.Join(t.TempDir(), "program")
			must(t, os.WriteFile(exe, append(program[:len(program):len(program)], p...), 0o700))
			must(t, os.Chmod(exe, tt.mode))
			cmd := exec.CommandContext(t.Context(), exe, "load", wasm, fmt.Sprint(len(program)))
			if tt.move {
				must(t, os.WriteFile(exe+".new", []byte("another"), 0o600))
				cmd.Args = append(cmd.Args, exe+".new")
			}
			out, err := cmd.Output()
			must(t, err)
			var got struct{ Source, Maps, Logs string }
			must(t, json.Unmarshal(out, &got))
			files := executed(got.Maps)
			n := files[tt.from]
			if tt.from == "self" { // whose own text is mapped anyway
				n = files[exe] - 1
			}
			if got.Source != string(tt.source) || n != 1 {
				t.Errorf("it is %s, and executed are %v", got.Source, files)
			}
			if tt.logged == "" && got.Logs != "" || !strings.Contains(got.Logs, tt.logged) {
				t.Errorf("logged %q, want %q", got.Logs, tt.logged)
			}
		})
	}
}
