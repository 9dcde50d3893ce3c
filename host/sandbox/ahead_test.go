package sandbox_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"waymark/abi"
	"waymark/host/sandbox"
	"waymark/host/sandbox/codecache"
	"waymark/test/built"
	"waymark/test/testenv"
)

// changing is a module that leaves something in everything that an image holds.
func changing(t *testing.T) []byte {
	t.Helper()
	return stateful(t, `(global $a (mut i64) (i64.const 1))`, `
		(global.set $a (i64.const -7)) (drop (memory.grow (i32.const 9))) (i64.store (i32.const 1000000) (i64.const 42))
		(drop (call $clock_time_get (i32.const 0) (i64.const 0) (i32.const 600)))
		(drop (call $random_get (i32.const 660) (i32.const 13)))
		(call $say (call $alloc (i64.const 700000))) (call $say (i64.extend_i32_u (call $fd_filestat_get (i32.const 3) (i32.const 700))))
		(i32.store (i32.const 600) (i32.const 0)) (i32.store (i32.const 604) (i32.const 10)) (drop (call $fd_write (i32.const 2) (i32.const 600) (i32.const 1) (i32.const 620)))`,
		`(call $say (global.get $a))`)
}

// freshStates has, for each version of images, the digest of the state of a fresh
// instance of changing.
var freshStates = map[int]string{
	1: "3b470c6aac4d54ba3187eb1bb374eb18f6473eeb41ae3461ed33f84410cefbef",
}

// TestImageVersion: where the same module initializes itself to another state than it
// did, images that were made before aren't used.
func TestImageVersion(t *testing.T) {
	m := load(t, sandbox.New(sandbox.Options{Output: true, NoImages: true}), changing(t), sandbox.Limits{})
	fresh := statesOf(t, m, t.TempDir(), "r")[0]
	text, err := json.Marshal(fresh)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("%x", sha256.Sum256(text)); got != freshStates[sandbox.ImageVersion] {
		t.Errorf("a fresh instance is %s, of version %d %s: raise imageVersion, unless it comes of rewriting the module, of which the version is raised",
			got, sandbox.ImageVersion, freshStates[sandbox.ImageVersion])
	}
}

// TestDamagedAhead: whichever bit of what a build has made is another, instances are
// those that there should be; and an image that is damaged isn't used.
func TestDamagedAhead(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("images are for Linux")
	}
	wasm := changing(t)
	native := ahead(t, wasm)
	sound := loadAhead(t, sandbox.Options{Output: true}, wasm, native, sandbox.Limits{})
	want := statesOf(t, sound, t.TempDir(), "r")
	text := bytes.Index(native, []byte(`{"Version":`))
	head := native[:bytes.Index(native, []byte("initializers"))]
	end := len(native) - 64<<10
	pages := end - int(sound.Instances().Kept)
	if text < 0 || pages < text || !sound.Instances().Ahead {
		t.Fatalf("no image is in it: %+v", sound.Instances())
	}
	length := bytes.Index(native[text:], []byte("}\x00"))
	if n := bytes.Index(native[text:], []byte("WAZEVO")); length < 0 || n < length {
		length = n
	}
	random := testenv.Rand(t)
	for _, part := range []struct {
		name     string
		from, to int
		unused   bool
	}{
		{"text", text, text + length, true},
		{"pages", pages, end, true},
		{"head", 0, len(head), false},
		{"any", 0, len(native), false},
	} {
		for range testenv.Rounds(3, 12, 500) {
			at := part.from + random.IntN(part.to-part.from)
			damaged := bytes.Clone(native)
			damaged[at] ^= 1 << random.IntN(8)
			var logs bytes.Buffer
			m := loadAhead(t, sandbox.Options{Output: true, Logger: slog.New(slog.NewTextHandler(&logs, nil))}, wasm, damaged, sandbox.Limits{})
			if part.unused && (m.Instances().Ahead || !strings.Contains(logs.String(), "the image made ahead of time is not used")) {
				t.Errorf("byte %d of the %s is another: %+v, it says %q", at, part.name, m.Instances(), logs.String())
			}
			if !m.Instances().Image {
				t.Errorf("byte %d of the %s is another, and there is no image: %s", at, part.name, m.Instances().Reason)
			}
			if compareStates(t, "damaged", statesOf(t, m, t.TempDir(), "r"), want); t.Failed() {
				t.Fatalf("byte %d of the %s", at, part.name)
			}
		}
	}
}

// TestAheadLimits: an image is for the limits that it was made under, as far as an
// instance can tell.
func TestAheadLimits(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("images are for Linux")
	}
	wasm := changing(t)
	native := ahead(t, wasm)
	for name, tt := range map[string]struct {
		opts   sandbox.Options
		limits sandbox.Limits
		want   bool
	}{
		"default":   {want: true},
		"answers":   {limits: sandbox.Limits{Response: 4 << 20}, want: true},
		"fuel":      {limits: sandbox.Limits{Fuel: 1 << 40}, want: true},
		"no fuel":   {limits: sandbox.Limits{Fuel: 10}},
		"logs":      {limits: sandbox.Limits{Logs: 20}},
		"memory":    {limits: sandbox.Limits{Memory: 32 << 20}},
		"no images": {opts: sandbox.Options{NoImages: true}},
	} {
		t.Run(name, func(t *testing.T) {
			var logs bytes.Buffer
			tt.opts.Logger = slog.New(slog.NewTextHandler(&logs, nil))
			m := loadAhead(t, tt.opts, wasm, native, tt.limits)
			if m.Instances().Ahead != tt.want || logs.Len() > 0 {
				t.Errorf("%+v, it says %q", m.Instances(), logs.String())
			}
			tt.opts.NoImages = true
			plain := loadAhead(t, tt.opts, wasm, native, tt.limits)
			compareStates(t, name, statesOf(t, m, t.TempDir(), "r"), statesOf(t, plain, t.TempDir(), "r"))
		})
	}
	read := func() ([]byte, error) { return wasm, nil }
	_, err := sandbox.New(sandbox.Options{}).LoadNative(t.Context(), fmt.Sprintf("%x", sha256.Sum256(wasm)), read, bytes.NewReader(native), sandbox.Limits{Response: 10})
	if err == nil || !strings.Contains(err.Error(), "describe fails") {
		t.Errorf("an answer that is too large: %v", err)
	}
}

// TestAheadFromExecutable: an image is mapped from the executable's own file if the code
// is executed from there, and is a memory file else; runs are the same.
func TestAheadFromExecutable(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("images are for Linux")
	}
	if testenv.Race {
		t.Skip("what it starts is built without the race detector")
	}
	dir := t.TempDir()
	path, wasm, tree := filepath.Join(dir, "embedding"), filepath.Join(dir, "module.wasm"), workspace(t)
	module, err := probeWasm()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(wasm, module, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := built.Programs(t.Context(), dir, false, "./testdata/embedding"); err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	program = append(program, make([]byte, 1000-len(program)%1000)...) // at no page
	pack, err := exec.CommandContext(t.Context(), path, "pack", wasm).Output()
	if err != nil {
		t.Fatal(err)
	}
	_, placed, err := codecache.Place(pack, append(program[:len(program):len(program)], pack...))
	if err != nil {
		t.Fatal(err)
	}
	type report struct {
		Instances sandbox.Instances
		Response  *abi.Response
		Fuel      int64
		Maps      string
		Logs      string
	}
	var reports []report
	for _, tt := range []struct {
		name string
		pack []byte
		from string
	}{{"placed", placed, "program"}, {"not placed", pack, "/memfd:waymark-image"}} {
		exe := filepath.Join(t.TempDir(), "program")
		if err := os.WriteFile(exe, append(program[:len(program):len(program)], tt.pack...), 0o700); err != nil {
			t.Fatal(err)
		}
		out, err := command(t.Context(), exe, "load", wasm, fmt.Sprint(len(program)), tree)
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		var got report
		if err := json.Unmarshal(out, &got); err != nil {
			t.Fatal(err)
		}
		if !got.Instances.Ahead || got.Logs != "" {
			t.Errorf("%s: %+v, it says %q", tt.name, got.Instances, got.Logs)
		}
		if tt.from == "program" {
			tt.from = exe
		}
		if n := privately(got.Maps, tt.from); n == 0 {
			t.Errorf("%s: nothing of %s is mapped to be written:\n%s", tt.name, tt.from, got.Maps)
		}
		if n := privately(got.Maps, "/memfd:waymark-image"); tt.from == exe && n > 0 {
			t.Errorf("%s: there is a copy", tt.name)
		}
		got.Maps = ""
		reports = append(reports, got)
	}
	if a, b := fmt.Sprintf("%+v %+v", reports[0].Response, reports[0].Fuel), fmt.Sprintf("%+v %+v", reports[1].Response, reports[1].Fuel); a != b {
		t.Errorf("a run gives\n%s\nand without the executable\n%s", a, b)
	}
}

func command(ctx context.Context, name string, args ...string) ([]byte, error) {
	out, err := exec.CommandContext(ctx, name, args...).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	return out, err
}

// privately counts the mappings of a file that are written to, of which the program's
// own data is one.
func privately(maps, file string) (n int) {
	for line := range strings.Lines(maps) {
		if fields := strings.Fields(line); len(fields) > 5 && fields[1] == "rw-p" && fields[5] == file {
			n++
		}
	}
	return n
}
