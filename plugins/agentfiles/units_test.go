//go:build !wasip1

package agentfiles_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"waymark/abi"
	"waymark/host/sandbox"
	"waymark/host/vfs"
	"waymark/plugins"
	"waymark/plugins/agentfiles"
	"waymark/plugins/conventions"
	"waymark/test/built"
	"waymark/test/testenv"
)

// cacheDir is shared by all tests: compiling a Go guest takes seconds.
var cacheDir = built.CodeCache()

// workspace is a tree of skills that is edited at random, and resolved in three
// ways: natively, in a sandbox that remembers nothing, and in one that
// remembers what it can.
type workspace struct {
	t      *testing.T
	r      *rand.Rand
	dir    string
	module *sandbox.Module
	root   *vfs.Root
	filter *vfs.Filter
	left   *vfs.Units
	done   []string
}

func newWorkspace(t *testing.T) *workspace {
	t.Helper()
	w := &workspace{t: t, r: testenv.Rand(t), dir: t.TempDir()}
	path, err := built.Guest(t.Context(), "waymark/plugins/builtin")
	if err != nil {
		t.Fatal(err)
	}
	wasm, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	host := sandbox.New(sandbox.Options{CacheDir: cacheDir})
	if w.module, err = host.Load(t.Context(), wasm, sandbox.Limits{Time: time.Minute, Response: 4 << 20}); err != nil {
		t.Fatal(err)
	}
	if w.root, err = vfs.OpenRoot(w.dir, vfs.RootOptions{}); err != nil {
		t.Fatal(err)
	}
	if w.filter, err = (vfs.View{Reads: agentfiles.Resolver(conventions.All).Reads}).Compile(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.module.Close(); _ = w.root.Close() })
	return w
}

func (w *workspace) request() *abi.Request {
	return &abi.Request{ABI: abi.Version, Resolver: agentfiles.Name, Root: abi.Root{Name: filepath.Base(w.dir)}}
}

// sandboxed resolves in a sandbox and returns the answer and how much was used.
func (w *workspace) sandboxed(remember bool) (*abi.Response, vfs.Usage) {
	w.t.Helper()
	run := w.root.Begin(w.filter, vfs.Limits{})
	defer func() { _ = run.Close() }()
	if remember && w.left != nil {
		run.Recall(w.root.CheckUnits(w.filter, w.left).Units)
	}
	res, err := w.module.Resolve(w.t.Context(), w.request(), run)
	if err != nil {
		w.t.Fatal(err)
	}
	if remember {
		w.left = run.Units()
	}
	return res.Response, run.Usage()
}

func (w *workspace) native() *abi.Response {
	w.t.Helper()
	input, err := json.Marshal(w.request())
	if err != nil {
		w.t.Fatal(err)
	}
	output, err := plugins.Module().HandleResolve(input, os.DirFS(w.dir))
	if err != nil {
		w.t.Fatal(err)
	}
	var resp abi.Response
	if err := json.Unmarshal(output, &resp); err != nil {
		w.t.Fatal(err)
	}
	return &resp
}

// compare resolves in all ways and returns the answer.
func (w *workspace) compare() *abi.Response {
	w.t.Helper()
	got, used := w.sandboxed(true)
	clean, cleanUsed := w.sandboxed(false)
	for name, want := range map[string]*abi.Response{"a clean run": clean, "a native one": w.native()} {
		if !reflect.DeepEqual(got, want) {
			w.t.Fatalf("other than %s after\n%s\n%s", name, strings.Join(w.done, "\n"), firstDifference(got, want))
		}
	}
	if used != cleanUsed {
		w.t.Fatalf("used %+v, a clean run %+v", used, cleanUsed)
	}
	return got
}

func firstDifference(got, want *abi.Response) string {
	for i := range min(len(got.Resources), len(want.Resources)) {
		if !reflect.DeepEqual(got.Resources[i], want.Resources[i]) {
			return fmt.Sprintf("row %d: %.500v\nwant %.500v", i, got.Resources[i], want.Resources[i])
		}
	}
	return fmt.Sprintf("%d rows, want %d; warnings %q, want %q", len(got.Resources), len(want.Resources), got.Warnings, want.Warnings)
}

func (w *workspace) write(name, text string) {
	path := filepath.Join(w.dir, name)
	_ = os.MkdirAll(filepath.Dir(path), 0o700)
	if err := os.WriteFile(path, []byte(text), 0o600); err == nil {
		w.done = append(w.done, fmt.Sprintf("write %.100s: %.60q (%d bytes)", name, text, len(text)))
	}
}

var (
	unitContainers = []string{"skills", ".agents/skills", ".claude/skills", ".codex/skills"}
	unitNames      = []string{"a", "b", "c", "d-e", "Bad Name", "ünïcode", "quo\"te"}
)

func (w *workspace) pick(list []string) string { return list[w.r.IntN(len(list))] }

// text is a SKILL.md, right or wrong.
func (w *workspace) text(name string) string {
	head := "---\nname: " + name + "\n"
	switch w.r.IntN(9) {
	case 0:
		return head + "description: >\n  folded\n  text\n---\n"
	case 1:
		return head + "x: [" + strings.Repeat("x, ", w.r.IntN(200)) + "y]\n---\n" // for the YAML library
	case 2:
		return head + "name: twice\n---\n"
	case 3:
		return "no front matter"
	case 4:
		return head + "x: " + strings.Repeat("long ", 1500) + "\ndescription: behind the head\n---\n"
	case 5:
		return head + "description: \"" + strings.Repeat(`\"`, w.r.IntN(1500)) + "\"\n---\n"
	}
	return head + fmt.Sprintf("description: Number %d.\n---\nbody\n", w.r.IntN(1000))
}

// link makes a relative link to a place in the workspace. It never leads out:
// natively nothing would stop it.
func (w *workspace) link(target, path string) {
	at, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return
	}
	root, err := filepath.EvalSymlinks(w.dir)
	if err != nil {
		w.t.Fatal(err)
	}
	if rel, err := filepath.Rel(at, filepath.Join(root, target)); err == nil {
		_ = os.Symlink(rel, path)
	}
}

// edit changes one random thing; errors are part of the game.
func (w *workspace) edit() {
	container, name := w.pick(unitContainers), w.pick(unitNames)
	dir := filepath.Join(w.dir, container, name)
	target := w.pick([]string{"skills/a", "skills/b", ".agents/skills/a", ".claude/skills/c", "lib/c", "skills", "."})
	var what string
	switch w.r.IntN(10) {
	case 0:
		what = "remove"
		_ = os.RemoveAll(dir)
	case 1, 2:
		what = "link to " + target
		_ = os.MkdirAll(filepath.Dir(dir), 0o700)
		_ = os.RemoveAll(dir)
		w.link(target, dir)
	case 3:
		what = "meta file a link to " + target
		_ = os.MkdirAll(dir, 0o700)
		_ = os.Remove(filepath.Join(dir, "SKILL.md"))
		w.link(target+"/SKILL.md", filepath.Join(dir, "SKILL.md"))
	case 4:
		what = "rename"
		_ = os.Rename(dir, filepath.Join(w.dir, container, w.pick(unitNames)))
	case 5:
		what = "container a link"
		_ = os.RemoveAll(filepath.Join(w.dir, ".codex"))
		_ = os.Symlink(w.pick([]string{".agents", ".claude", "."}), filepath.Join(w.dir, ".codex"))
	case 6:
		what = "a directory for a meta file"
		_ = os.RemoveAll(filepath.Join(dir, "SKILL.md"))
		_ = os.MkdirAll(filepath.Join(dir, "SKILL.md"), 0o700)
	default:
		w.write(container+"/"+name+"/SKILL.md", w.text(name))
		return
	}
	w.done = append(w.done, container+"/"+name+": "+what)
}

// TestUnitsAfterEdits: whatever is remembered, the answer is that of a run that
// remembers nothing, and of one without a sandbox.
func TestUnitsAfterEdits(t *testing.T) {
	w := newWorkspace(t)
	for range 20 {
		w.edit()
	}
	steps, remembered := testenv.Rounds(10, 60, 3000), 0
	for range steps {
		w.compare()
		remembered += w.root.CheckUnits(w.filter, w.left).Units.Len()
		w.edit()
	}
	if remembered < steps {
		t.Errorf("only %d units were remembered in %d steps", remembered, steps)
	}
}

// TestUnitsAndYAMLBudget: who gets what of the budget depends on all skills
// before, remembered or not.
func TestUnitsAndYAMLBudget(t *testing.T) {
	w := newWorkspace(t)
	slow := func(i, size int) {
		name := "s-" + string(rune('a'+i))
		w.write("skills/"+name+"/SKILL.md", "---\nname: "+name+"\nx: &y ["+strings.Repeat("x", size)+"]\n---\n")
	}
	invalid := func(resp *abi.Response) (n int) {
		for _, r := range resp.Resources {
			if strings.Contains(r.Error, "too much") {
				n++
			}
		}
		return n
	}
	for i := range 12 {
		slow(i, 50_000)
	}
	for _, step := range []struct {
		edit func()
		want int
	}{
		{func() {}, 2},
		{func() { slow(0, 10) }, 1},              // room for one of those that had none
		{func() { slow(1, 10); slow(2, 10) }, 0}, // and for the last
		{func() { slow(0, 60_000); slow(1, 60_000); slow(2, 60_000) }, 3},
		{func() { _ = os.RemoveAll(filepath.Join(w.dir, "skills/s-d")) }, 2},
		{func() { slow(11, 10) }, 2}, // small, but behind what was too much
	} {
		step.edit()
		if n := invalid(w.compare()); n != step.want {
			t.Errorf("%d skills had no room, want %d", n, step.want)
		}
	}
}

// TestUnitsAndSize: the same for the room in the answer.
func TestUnitsAndSize(t *testing.T) {
	w := newWorkspace(t)
	long := strings.Repeat("x", 240)
	for i := range 1750 { // rows that are long in themselves
		w.write(fmt.Sprintf("skills/l-%04d-%s/SKILL.md", i, long), "no front matter")
	}
	for i := range 580 {
		w.write(fmt.Sprintf("skills/d-%03d/SKILL.md", i), fmt.Sprintf("---\nname: d-%03d\ndescription: '%s'\n---\n", i, strings.Repeat("\"", 3000)))
	}
	first := w.compare()
	if len(first.Warnings) != 2 {
		t.Fatalf("the test tests little: %d rows, warnings %q", len(first.Resources), first.Warnings)
	}
	for i := range 4 {
		switch i {
		case 0:
			w.write("skills/d-000/SKILL.md", "---\nname: d-000\ndescription: short\n---\n")
		case 1:
			_ = os.RemoveAll(filepath.Join(w.dir, "skills/d-001"))
		case 2:
			w.write("skills/a/SKILL.md", "---\nname: a\ndescription: first of all\n---\n")
		case 3:
			w.write("skills/d-089/SKILL.md", "---\nname: d-089\ndescription: short\n---\n")
		}
		w.compare()
	}
}
