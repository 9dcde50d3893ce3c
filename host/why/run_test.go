package why_test

import (
	"cmp"
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"waymark/abi"
	"waymark/host/resolve"
	"waymark/host/sandbox"
	"waymark/host/sandbox/guesttest"
	"waymark/host/vfs"
	"waymark/host/why"
	"waymark/snapshot"
	"waymark/test/built"
	"waymark/test/contracts/vfstest"
	"waymark/test/testenv"
)

// modules are loaded once for all tests: compiling one takes seconds.
var modules struct {
	sync.Mutex // guards the fields below
	host       *sandbox.Host
	loaded     map[string]*sandbox.Module
}

func TestMain(m *testing.M) {
	testenv.OrdinaryMain()
	modules.host = sandbox.New(sandbox.Options{CacheDir: built.CodeCache()})
	modules.loaded = map[string]*sandbox.Module{}
	code := m.Run()
	for _, module := range modules.loaded {
		_ = module.Close()
	}
	os.Exit(code)
}

// The modules that the tests run.
const (
	builtin = "waymark/plugins/builtin"
	dropin  = "../testdata/dropin"
	flaky   = "../resolve/testdata/flaky"
)

func load(t testing.TB, pkg string) *sandbox.Module {
	t.Helper()
	modules.Lock()
	defer modules.Unlock()
	if m := modules.loaded[pkg]; m != nil {
		return m
	}
	path, err := built.Guest(context.Background(), pkg)
	if err != nil {
		t.Fatal(err)
	}
	wasm, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	m, err := modules.host.Load(context.Background(), wasm, sandbox.Limits{Time: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	modules.loaded[pkg] = m
	return m
}

// world is a tree, and what the operator says of it.
type world struct {
	// tree is in the notation of vfstest.Build.
	tree []string
	// root is the root's path in the tree; empty is the tree itself. roots
	// replaces it where there are several, in order.
	root  string
	role  abi.Role
	roots []rootSpec
	// exclude, mcpFiles, disable and config are the operator's.
	exclude, mcpFiles, disable []string
	config                     map[string]string
	caps                       snapshot.Caps
	// plugins are loaded besides the built-in module.
	plugins []resolve.Resolver
	module  string // of plugins
	// after changes the tree once it has been resolved; then it is resolved
	// again.
	after func(t testing.TB, dir string)
	// missing are configured roots that don't exist, in the tree.
	missing []string
}

type rootSpec struct {
	path   string
	role   abi.Role
	source bool
}

// build makes the tree and runs all resolvers on it, as the host does.
func (w *world) build(t testing.TB) (dir string, in why.Input) {
	t.Helper()
	dir = vfstest.Build(t, w.tree)
	t.Cleanup(func() { vfstest.Reopen(dir) })
	if w.roots == nil {
		w.roots = []rootSpec{{w.root, w.role, false}}
	}
	var roots []resolve.Root
	for _, spec := range w.roots {
		fs, err := vfs.OpenRoot(filepath.Join(dir, spec.path), vfs.RootOptions{Exclude: w.exclude, MCPFiles: w.mcpFiles})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = fs.Close() })
		root := resolve.Root{FS: fs, Role: spec.role, Position: len(roots)}
		if spec.source {
			root.SourcePath = fs.Path()
		}
		roots = append(roots, root)
		in.Roots = append(in.Roots, why.Root{FS: fs, Role: root.Role, SourcePath: root.SourcePath})
	}
	for _, m := range w.missing {
		in.Missing = append(in.Missing, filepath.Join(dir, m))
	}
	engine, resolvers := resolve.New(resolve.Options{MaxResourceBytes: w.caps.MaxResourceBytes}), w.resolvers(t)
	outcomes, err := engine.Resolve(t.Context(), resolvers, roots)
	if w.after != nil && err == nil {
		w.after(t, dir)
		outcomes, err = engine.Resolve(t.Context(), resolvers, roots)
	}
	if err != nil {
		t.Fatal(err)
	}
	w.fill(&in, outcomes, len(resolvers))
	return dir, in
}

func (w *world) resolvers(t testing.TB) []resolve.Resolver {
	t.Helper()
	m := load(t, builtin)
	var list []resolve.Resolver
	for _, info := range m.Description().Resolvers {
		if !slices.Contains(w.disable, info.Name) {
			list = append(list, resolve.Resolver{Module: guesttest.Module(m), Info: info, Config: []byte(w.config[info.Name]), Manifests: info.Name == "context", Bundles: true})
		}
	}
	for rank, r := range w.plugins {
		m := load(t, cmp.Or(w.module, dropin))
		r.Module, r.Info, r.Rank, r.DropIn = guesttest.Module(m), m.Description().Resolvers[0], rank+1, true
		list = append(list, r)
	}
	return list
}

// fill makes the input of what was observed.
func (w *world) fill(in *why.Input, outcomes []resolve.Outcome, resolvers int) {
	var candidates []snapshot.Candidate
	for i, o := range outcomes {
		candidates = append(candidates, o.Candidates...)
		in.Runs = append(in.Runs, why.Run{
			Resolver: o.Resolver, Root: i / resolvers, View: o.View, Filter: o.Filter,
			Trace: o.Trace, Denied: o.Denied, Candidates: o.Candidates, Err: o.Err,
		})
	}
	in.Snapshot = &snapshot.Snapshot{Version: 1}
	in.Snapshot.Resources, in.Notes = snapshot.Assemble(candidates, w.caps)
}

// relative takes the tree's path out of a text.
func relative(text, dir string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, dir+"/", ""), dir, ".")
}

// skill is the line of a tree that makes a skill in a directory.
func skill(dir, name string) string {
	return dir + "/SKILL.md = ---\nname: " + name + "\ndescription: About " + name + ".\n---\nbody\n"
}

// put writes a file of a tree.
func put(t testing.TB, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// ids are those of the resources, relative to the tree.
func ids(in why.Input, dir string) []string {
	set := map[string]bool{}
	for i := range in.Snapshot.Resources {
		set[relative(in.Snapshot.Resources[i].ID(), dir)] = true
	}
	return slices.Sorted(maps.Keys(set))
}
