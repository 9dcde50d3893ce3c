//go:build !wasip1

package c_test

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"waymark/abi"
	"waymark/host/sandbox"
	"waymark/host/vfs"
	"waymark/sdk-guest/frontmatter"
	"waymark/sdk-guest/frontmatter/frontmattertest"
	"waymark/test/built"
)

// world is the probe, loaded, and a root.
type world struct {
	t      *testing.T
	module *sandbox.Module
	dir    string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	wasm, err := module()
	need(t, err)
	m, err := sandbox.New(sandbox.Options{CacheDir: built.CodeCache()}).Load(t.Context(), wasm, sandbox.Limits{Time: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return &world{t, m, t.TempDir()}
}

func (w *world) ask(resolver string, config map[string]any) (*sandbox.Result, error) {
	w.t.Helper()
	raw, err := json.Marshal(config)
	if err != nil {
		w.t.Fatal(err)
	}
	root, err := vfs.OpenRoot(w.dir, vfs.RootOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	filter, err := vfs.View{Reads: []string{"**"}}.Compile()
	if err != nil {
		w.t.Fatal(err)
	}
	run := root.Begin(filter, vfs.Limits{})
	defer func() { _ = run.Close() }()
	return w.module.Resolve(w.t.Context(), &abi.Request{
		ABI: abi.Version, Resolver: resolver, Config: raw,
		Root:   abi.Root{Name: "ünï", File: "one.md", Role: abi.RoleSkills},
		Limits: abi.Limits{MaxResourceBytes: 1 << 40, MaxResources: 7},
	}, run)
}

func (w *world) must(resolver string, config map[string]any) *sandbox.Result {
	w.t.Helper()
	if config == nil {
		config = map[string]any{}
	}
	res, err := w.ask(resolver, config)
	if err != nil {
		w.t.Fatal(err)
	}
	return res
}

// answer asks the probe what the oracle is asked.
func (w *world) answer(op, param byte, text string) string {
	w.t.Helper()
	res := w.must("ask", map[string]any{"question": hex.EncodeToString(append([]byte{op, param}, text...))})
	got, err := hex.DecodeString(*res.Response.Resources[0].Content.Inline)
	if err != nil {
		w.t.Error(err)
	}
	return string(got)
}

func TestDescription(t *testing.T) {
	d := newWorld(t).module.Description()
	if d.ABI != abi.Version || d.Name != "c-probe" || d.Version != "1.2.3" || len(d.Resolvers) != 4 {
		t.Errorf("got %+v", d)
	}
	want := abi.Resolver{
		Name: "request", Kinds: []abi.Kind{abi.KindInstructionFile, abi.KindCommand}, Summary: `what was asked, "quoted" – ü`,
		Reads: []string{"**"}, ReadsFromConfig: []string{"names"},
	}
	if diff := cmp.Diff(want, d.Resolvers[0]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRows(t *testing.T) {
	res := newWorld(t).must("request", map[string]any{
		"text": "a\"\\\n\t/ü😀", "flag": false, "number": int64(-1) << 63, "names": []string{"a", ""}, "nested": map[string]any{"k": []any{nil, 1.5e3}},
	})
	empty := ""
	want := &abi.Response{
		Resources: []abi.Resource{
			{
				Kind: abi.KindCommand, Path: "a", Key: "k", Content: &abi.Content{File: "b"}, Name: "n", Description: "d",
				Attributes: map[string]abi.Value{
					"root": abi.String("ünï|one.md|skills"), "limits": abi.String("1099511627776,7"), "text": abi.String("a\"\\\n\t/ü😀"),
					"flag": abi.String("no"), "number": abi.String("-9223372036854775808"), "names": abi.Strings("a", ""), "none": abi.Strings(),
				},
			},
			{Kind: abi.KindInstructionFile, Path: ".", Content: &abi.Content{Inline: &empty}, Status: "invalid", Error: "e"},
		},
		Warnings: []string{"careful"},
	}
	if diff := cmp.Diff(want, res.Response); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got := newWorld(t).must("request", nil).Response.Resources[0].Attributes
	for key, def := range map[string]abi.Value{
		"text": abi.String("default"), "flag": abi.String("yes"), "number": abi.String("-7"), "names": abi.Strings("default"),
	} {
		if diff := cmp.Diff(def, got[key]); diff != "" {
			t.Errorf("default of %s (-want +got):\n%s", key, diff)
		}
	}
}

// TestBadConfig: the texts are those of the Go SDK.
func TestBadConfig(t *testing.T) {
	w := newWorld(t)
	for want, config := range map[string]map[string]any{
		`config key "text" is a number, not a string`:                     {"text": 1},
		`config key "flag" is a string, not a boolean`:                    {"flag": "true"},
		`config key "number" is a number, not an integer`:                 {"number": 1.5},
		`config key "names" is an object, not a list of strings`:          {"names": map[string]any{}},
		`config key "names" is a list with null, not a list of strings`:   {"names": []any{"a", nil}},
		`config key "names" is a list with a list, not a list of strings`: {"names": []any{[]any{}}},
	} {
		_, err := w.ask("request", config)
		if !errors.Is(err, sandbox.ErrGuest) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// In wasm the kit answers as it does natively, and so like the Go SDK.
func TestSameInTheSandbox(t *testing.T) {
	w := newWorld(t)
	texts := seeds()
	for _, v := range vectors(t) {
		texts = append(texts, v.Block())
	}
	for _, text := range texts {
		for _, op := range "jwfsg" {
			want, _ := goAnswer(byte(op), 1, []byte(text))
			if got := w.answer(byte(op), 1, text); got != want {
				t.Errorf("%c %q:\ngot  %s\nwant %s", op, text, got, want)
			}
		}
	}
}

// TestFrontMatterBombs: what a block costs is a multiple of its size.
func TestFrontMatterBombs(t *testing.T) {
	w := newWorld(t)
	for name, block := range frontmattertest.Bombs() {
		for _, op := range []string{"s\x00", "s\x01", "g\x00"} {
			res := w.must("ask", map[string]any{"question": hex.EncodeToString([]byte(op + block))})
			if res.Fuel > 20_000*frontmatter.MaxSize {
				t.Errorf("%s: %d fuel", name, res.Fuel)
			}
			t.Logf("%s: %d fuel for a byte", name, res.Fuel/frontmatter.MaxSize)
		}
	}
}

func TestFiles(t *testing.T) {
	w := newWorld(t)
	outside := filepath.Join(t.TempDir(), "x")
	long := strings.Repeat("0123456789", 30_000)
	for name, text := range map[string]string{"b.md": "12345678901", "a.md": "1234", "empty": "", "long": long, "sub/c.md": "c"} {
		if err := errors.Join(os.MkdirAll(filepath.Join(w.dir, "sub"), 0o700), os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	err := errors.Join(
		os.WriteFile(outside, []byte("secret"), 0o600), os.Symlink(outside, filepath.Join(w.dir, "out")),
		os.Symlink("a.md", filepath.Join(w.dir, "link")), os.Symlink("gone", filepath.Join(w.dir, "broken")),
		syscall.Mkfifo(filepath.Join(w.dir, "fifo"), 0o600),
	)
	if err != nil {
		t.Fatal(err)
	}
	// stat, head, dir
	want := map[string][3]string{
		"a.md":          {"file 4", "1234", "Not a directory"},
		"b.md":          {"file 11", "12345678", "Not a directory"},
		"empty":         {"file 0", "", "Not a directory"},
		"link":          {"file 4", "1234", "Not a directory"},
		"sub":           {"dir 0", "Is a directory", "c.md file"},
		".":             {"dir 0", "Is a directory", "a.md file|b.md file|broken link|empty file|fifo other|link link|long file|out link|sub dir"},
		"gone":          {"No such file or directory", "No such file or directory", "No such file or directory"},
		"broken":        {"No such file or directory", "No such file or directory", "No such file or directory"},
		"out":           {"Permission denied", "Permission denied", "Permission denied"},
		"a.md/x":        {"Not a directory", "Not a directory", "Not a directory"},
		"../etc/passwd": {"Operation not permitted", "Operation not permitted", "Operation not permitted"},
	}
	var paths []string
	for path := range want {
		paths = append(paths, path)
	}
	for _, r := range w.must("files", map[string]any{"paths": paths}).Response.Resources {
		a := r.Attributes
		got := [3]string{a["stat"].Text, a["head"].Text, strings.Join(a["dir"].List, "|")}
		if got != want[r.Key] {
			t.Errorf("%s:\ngot  %q\nwant %q", r.Key, got, want[r.Key])
		}
		delete(want, r.Key)
	}
	for path := range want {
		t.Errorf("%s: no answer", path)
	}
	// A read that comes in pieces, and more than there is.
	res := w.must("files", map[string]any{"paths": "long", "head": 1 << 30})
	if got := res.Response.Resources[0].Attributes["head"].Text; got != long {
		t.Errorf("of 300,000 bytes %d came", len(got))
	}
	if got := w.must("files", map[string]any{"paths": "fifo"}).Response.Resources[0].Attributes["head"].Text; got != "I/O error" {
		t.Errorf("a pipe reads as %q", got)
	}
}

func TestOdd(t *testing.T) {
	w := newWorld(t)
	res := w.must("odd", map[string]any{"how": "log"})
	if len(res.Logs) != 3 || res.Logs[0] != (sandbox.LogLine{Level: "info", Text: "a line with \uFFFD in it"}) {
		t.Errorf("logs: %+v", res.Logs)
	}
	for how, want := range map[string]string{
		"fail": "it can't be done", "silent": "an error without text", "hungry": "waymark.h: out of memory",
	} {
		if _, err := w.ask("odd", map[string]any{"how": how}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", how, err, want)
		}
	}
	// An answer that needs many blocks of the arena.
	if rows := w.must("odd", map[string]any{"rows": 12_000}).Response.Resources; len(rows) != 12_000 || rows[11_999].Key != "11999" {
		t.Errorf("of 12,000 rows %d came", len(rows))
	}
}
