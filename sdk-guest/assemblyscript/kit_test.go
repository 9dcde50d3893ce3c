//go:build !wasip1

package assemblyscript_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"waymark/abi"
	"waymark/host/sandbox"
	"waymark/host/vfs"
	"waymark/test/built"
)

var buildProbe = sync.OnceValues(func() ([]byte, error) {
	return built.BuildAssemblyScript(context.Background(), "testdata/probe")
})

// probeWasm is the module in testdata/probe. The short form has none.
func probeWasm(t *testing.T) []byte {
	t.Helper()
	if testing.Short() {
		t.Skip("builds with npm and node")
	}
	wasm, err := buildProbe()
	built.Need(t, err)
	return wasm
}

// world is the probe, loaded, and a root.
type world struct {
	t      *testing.T
	module *sandbox.Module
	dir    string
}

func newWorld(t *testing.T, limits sandbox.Limits) *world {
	t.Helper()
	wasm := probeWasm(t)
	if limits.Time == 0 {
		limits.Time = time.Minute
	}
	m, err := sandbox.New(sandbox.Options{CacheDir: built.CodeCache()}).Load(t.Context(), wasm, limits)
	for limits.Time < time.Minute && err != nil && strings.Contains(err.Error(), "describe fails: deadline exceeded") {
		limits.Time *= 4 // the machine stood still
		m, err = sandbox.New(sandbox.Options{CacheDir: built.CodeCache()}).Load(t.Context(), wasm, limits)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return &world{t, m, t.TempDir()}
}

func (w *world) write(name, text string) {
	w.t.Helper()
	path := filepath.Join(w.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) ask(resolver string, config map[string]any) (*sandbox.Result, error) {
	w.t.Helper()
	if config == nil {
		config = map[string]any{}
	}
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

// attributes runs a resolver and returns what its rows say, by path.
func (w *world) attributes(resolver string, config map[string]any) map[string]map[string]string {
	w.t.Helper()
	res, err := w.ask(resolver, config)
	if err != nil {
		w.t.Fatal(err)
	}
	rows := map[string]map[string]string{}
	for _, r := range res.Response.Resources {
		row := map[string]string{}
		for k, v := range r.Attributes {
			row[k] = v.Text + strings.Join(v.List, "\n")
		}
		if r.Error != "" {
			row["error"] = r.Error
		}
		rows[r.Path] = row
	}
	return rows
}

func TestDescription(t *testing.T) {
	d := newWorld(t, sandbox.Limits{}).module.Description()
	if d.ABI != abi.Version || d.Name != "as-probe" || d.Version != "1.2.3" || len(d.Resolvers) != 7 {
		t.Errorf("got %+v", d)
	}
	want := abi.Resolver{
		Name: "request", Kinds: []abi.Kind{abi.KindInstructionFile, abi.KindCommand}, Summary: `what was asked, "quoted" – ünï`,
		Reads: []string{"**"}, ReadsFromConfig: []string{"names"},
	}
	if diff := cmp.Diff(want, d.Resolvers[0]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRequest(t *testing.T) {
	w := newWorld(t, sandbox.Limits{})
	got := w.attributes("request", map[string]any{
		"text": "a\"\\\n\t/ü😀", "flag": true, "number": int64(-1) << 50, "names": []string{"a", "b"}, "nested": map[string]any{"k": []any{nil, 1.5e3}},
	})["request"]
	want := map[string]string{
		"resolver": "request", "root": "ünï|one.md|skills", "limits": "1099511627776|7",
		"text": "a\"\\\n\t/ü😀", "flag": "true", "number": "-1125899906842624", "names": "a\nb", "keys": "k",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got = w.attributes("request", nil)["request"]
	for key, def := range map[string]string{"text": "none", "flag": "false", "number": "-1", "names": "none"} {
		if got[key] != def {
			t.Errorf("default of %s: got %q, want %q", key, got[key], def)
		}
	}
	if got := w.attributes("request", map[string]any{"names": "one"})["request"]["names"]; got != "one" {
		t.Errorf("a single string as a list is %q", got)
	}
}

// TestBadConfig: the texts are those of the Go SDK.
func TestBadConfig(t *testing.T) {
	w := newWorld(t, sandbox.Limits{})
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

func TestRows(t *testing.T) {
	res, err := newWorld(t, sandbox.Limits{}).ask("rows", nil)
	if err != nil {
		t.Fatal(err)
	}
	inline := "quotes \" \\ \n\u0001 ünï 😀 \ufffd!"
	want := &abi.Response{
		Resources: []abi.Resource{
			{Kind: abi.KindInstructionFile, Path: "a.md", Content: &abi.Content{File: "a.md"}},
			{Kind: abi.KindCommand, Path: "a.md", Content: &abi.Content{Inline: &inline}},
			{Kind: abi.KindInstructionFile, Path: "b.md", Content: &abi.Content{File: "b.md"}, Status: "invalid", Error: "it breaks a rule"},
			{Kind: abi.KindCommand, Path: "dir", Content: &abi.Content{File: "dir/c.md"}, Attributes: map[string]abi.Value{
				"a": abi.String("first"), "e": abi.Strings(), "m": abi.Strings("a", ""), "z": abi.String("again"),
			}},
		},
		Warnings: []string{"one", "two"},
	}
	if diff := cmp.Diff(want, res.Response); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestVectors holds the kit's reader of requests to the ABI's vectors.
func TestVectors(t *testing.T) {
	for folder, valid := range map[string]bool{"request": true, "request/invalid": false} {
		w := newWorld(t, sandbox.Limits{})
		files, err := filepath.Glob("../../abi/testdata/v1/" + folder + "/*.json")
		if err != nil || len(files) == 0 {
			t.Fatalf("no vectors (%v)", err)
		}
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			if filepath.Base(f) != "index.json" {
				w.write(filepath.Base(f), string(text))
			}
		}
		for name, row := range w.attributes("vectors", nil) {
			if got := row["error"] == ""; got != valid {
				t.Errorf("%s/%s: valid is %v: %v", folder, name, got, row)
			}
			if !valid && !strings.HasPrefix(row["error"], "bad request: ") {
				t.Errorf("%s/%s: %q", folder, name, row["error"])
			}
		}
	}
}

// TestJSON: what is JSON and what isn't, as encoding/json sees it.
func TestJSON(t *testing.T) {
	w := newWorld(t, sandbox.Limits{})
	texts := []string{
		"", " ", "{}", "[]", "null", "true", "falsey", "1", "-0", "01", "1.", "1.5e+3", "1e", "-", "\"a\"", "\"a", "\"\t\"", `"\u00e4\n\/"`, `"\x"`, `"\u12"`,
		`"\ud83d\ude00"`, "[1,]", "[1 2]", "[,]", `{"a":1,}`, `{"a" 1}`, `{a:1}`, `{"a":{"b":[{}]}}`, "{} {}", "\ufeff{}", "nul", "+1", ".5", "[[]", "]",
	}
	for i, text := range texts {
		w.write(string(rune('A'+i/26))+string(rune('a'+i%26)), text)
	}
	rows := w.attributes("vectors", nil)
	for i, text := range texts {
		row := rows[string(rune('A'+i/26))+string(rune('a'+i%26))]
		if got, want := row["json"] == "", json.Valid([]byte(text)); got != want {
			t.Errorf("%q: valid is %v, want %v: %s", text, got, want, row["json"])
		}
	}
	// What the ABI asks beyond that.
	w = newWorld(t, sandbox.Limits{})
	for name, text := range map[string]string{
		"twice": `{"a":1,"a":2}`, "lone": `"\ud83d"`, "low": `"\ude00\ud83d"`, "deep": strings.Repeat("[", 600) + strings.Repeat("]", 600),
	} {
		w.write(name, text)
	}
	w.write("fine", strings.Repeat("[", 500)+strings.Repeat("]", 500))
	for name, row := range w.attributes("vectors", nil) {
		if (row["json"] == "") != (name == "fine") {
			t.Errorf("%s: %q", name, row["json"])
		}
	}
}

// TestLock: what is installed is pinned, wherever it comes from.
func TestLock(t *testing.T) {
	text, err := os.ReadFile("testdata/probe/package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	var lock struct {
		Name     string
		Packages map[string]struct{ Version, Resolved, Integrity string }
	}
	if err := json.Unmarshal(text, &lock); err != nil {
		t.Fatal(err)
	}
	names := slices.Sorted(maps.Keys(lock.Packages))
	want := []string{"", "node_modules/@extism/as-pdk", "node_modules/assemblyscript", "node_modules/binaryen", "node_modules/long"}
	if lock.Name != "as-probe" || !slices.Equal(names, want) {
		t.Errorf("%s locks %q, want %q", lock.Name, names, want)
	}
	for _, name := range want[1:] {
		if p := lock.Packages[name]; p.Version == "" || p.Integrity == "" || p.Resolved != "" {
			t.Errorf("%s: %+v; want a version and an integrity, and no registry's address", name, p)
		}
	}
}
