package plugin_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"waymark/host/plugin"
	"waymark/host/resolve"
	"waymark/host/vfs"
	"waymark/snapshot"
	"waymark/test/wasmtest"
)

// tiny is a module that finds the file F.md of a root.
func tiny(t *testing.T, name, version string) []byte {
	t.Helper()
	describe, err1 := json.Marshal(map[string]any{"abi": 1, "name": name, "version": version, "resolvers": []any{
		map[string]any{"name": "r", "kinds": []string{"command"}, "reads": []string{"F.md"}},
	}})
	found, err2 := json.Marshal(map[string]any{"resources": []any{
		map[string]any{"kind": "command", "path": "F.md", "key": name, "name": version, "content": map[string]string{"file": "F.md"}},
	}})
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	return wasmtest.File{Describe: string(describe), Resolve: string(found)}.Bytes()
}

// directory makes a plugin directory of files by name.
func directory(t *testing.T, files map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	for name, wasm := range files {
		if err := os.WriteFile(filepath.Join(dir, name), wasm, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir, 0o700); err != nil { // whatever the umask is
		t.Fatal(err)
	}
	return dir
}

// newCatalog makes a Catalog that ends with the test.
func newCatalog(t *testing.T, opts plugin.Options, config plugin.Config) *plugin.Catalog {
	t.Helper()
	life, end := context.WithCancel(context.Background())
	c := plugin.New(life, opts, config)
	t.Cleanup(func() {
		end()
		c.Close()
		c.Close()
		if _, err := c.Prepare(context.Background(), config); err == nil {
			t.Error("a Catalog that was closed takes another configuration")
		}
	})
	return c
}

func load(t *testing.T, c *plugin.Catalog) {
	t.Helper()
	if err := c.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func acquire(t *testing.T, c *plugin.Catalog) *plugin.List {
	t.Helper()
	list, err := c.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// texts spells the states of a list as in "a 1 ready".
func texts(list *plugin.List) []string {
	var out []string
	for _, p := range list.States(nil) {
		out = append(out, p.Name+" "+p.Version+" "+string(p.State))
	}
	return out
}

// runs reports whether all resolvers of a list come to an end on a root.
func runs(t *testing.T, list *plugin.List) error {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "F.md"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := vfs.OpenRoot(dir, vfs.RootOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	outcomes, err := resolve.New(resolve.Options{NoMemo: true}).Resolve(t.Context(), list.Resolvers(), []resolve.Root{{FS: root}})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range outcomes {
		err = errors.Join(err, o.Err)
	}
	return err
}

// TestRelease: the modules of a list can be used from Acquire to Release,
// whatever becomes of their files, and not for longer.
func TestRelease(t *testing.T) {
	t.Parallel()
	dir := directory(t, map[string][]byte{"a.wasm": tiny(t, "a", "1"), "b.wasm": tiny(t, "b", "1")})
	c := newCatalog(t, plugin.Options{}, plugin.Config{Dirs: []string{dir}})
	load(t, c)
	one, again := acquire(t, c), acquire(t, c)
	changed := c.Changed()
	if err := os.WriteFile(filepath.Join(dir, "a.wasm"), tiny(t, "a", "2"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := c.Retry(t.Context()); err != nil { // looks at the files at once
		t.Fatal(err)
	}
	<-changed
	two := acquire(t, c)
	if got := texts(two); !slices.Equal(got, []string{"a 2 ready", "b 1 ready"}) || two.SameModules(one) || !one.SameModules(again) {
		t.Errorf("the second list is %q", got)
	}
	again.Release()
	for _, list := range []*plugin.List{one, two} {
		if err := runs(t, list); err != nil {
			t.Errorf("%q: %v", texts(list), err)
		}
	}
	one.Release()
	if err := runs(t, one); err == nil {
		t.Error("a module runs that no list has any more")
	}
	if err := runs(t, two); err != nil {
		t.Errorf("a module of both lists: %v", err)
	}
}

// TestPrepare: a configuration is in force when it was committed, and one that
// wasn't leaves everything as it was, the built-in module too.
func TestPrepare(t *testing.T) {
	t.Parallel()
	opts := plugin.Options{Builtin: func() ([]byte, error) { return tiny(t, "built-in", "1"), nil }}
	config := plugin.Config{Dirs: []string{directory(t, map[string][]byte{"a.wasm": tiny(t, "a", "1")})}}
	c := newCatalog(t, opts, config)
	load(t, c)
	before := c.Current()
	next := plugin.Config{Dirs: []string{directory(t, map[string][]byte{"b.wasm": tiny(t, "b", "1")})}}
	next.Limits.Memory = 1 << 20
	for _, commit := range []bool{false, true} {
		change, err := c.Prepare(t.Context(), next)
		if err != nil {
			t.Fatal(err)
		}
		if commit {
			change.Commit()
		}
		change.Close()
		if err := c.Retry(t.Context()); err != nil {
			t.Fatal(err)
		}
		now, want := acquire(t, c), []string{"built-in 1 ready", "a 1 ready"}
		if commit {
			want[1] = "b 1 ready"
		}
		if got := texts(now); !slices.Equal(got, want) || now.SameModules(before) == commit {
			t.Errorf("committed %v: %q, want %q", commit, got, want)
		}
		if err := runs(t, now); err != nil {
			t.Errorf("committed %v: %v", commit, err)
		}
		now.Release()
	}
}

// TestAcquireWaits: while modules are loaded for the first time, there is no
// list without them.
func TestAcquireWaits(t *testing.T) {
	t.Parallel()
	begun, goOn := make(chan struct{}), make(chan struct{})
	c := newCatalog(t, plugin.Options{Builtin: func() ([]byte, error) {
		close(begun)
		<-goOn
		return nil, errors.New("there are no bytes")
	}}, plugin.Config{})
	acquire(t, c).Release() // not before
	loaded := make(chan error, 1)
	go func() { loaded <- c.Load(t.Context()) }()
	<-begun
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Acquire(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("during the load: %v", err)
	}
	close(goOn)
	acquire(t, c).Release()
	if err := <-loaded; err == nil || err.Error() != "there are no bytes" {
		t.Errorf("loaded: %v", err)
	}
}

// TestApproveWhatWasShown: an approval is for the content that waits in the list,
// not for one that came since.
func TestApproveWhatWasShown(t *testing.T) {
	t.Parallel()
	one, two := tiny(t, "a", "1"), tiny(t, "a", "2")
	dir := directory(t, map[string][]byte{"a.wasm": one})
	config := plugin.Config{Dirs: []string{dir}, Entries: []plugin.Entry{{Name: "a", SHA256: "another"}}}
	c := newCatalog(t, plugin.Options{}, config)
	load(t, c)
	waits := c.Waiting()
	if len(waits) != 1 || waits[0].Version != "1" {
		t.Fatalf("waiting: %+v", waits)
	}
	if err := os.WriteFile(filepath.Join(dir, "a.wasm"), two, 0o600); err != nil {
		t.Fatal(err)
	}
	change, err := c.Prepare(t.Context(), config) // reads the file
	if err != nil {
		t.Fatal(err)
	}
	change.Close()
	if _, err := c.Approve(t.Context(), "a", waits[0].Digest); !errors.Is(err, plugin.ErrNotWaiting) {
		t.Errorf("approved: %v", err)
	}
	if err := c.Retry(t.Context()); err != nil {
		t.Fatal(err)
	}
	if states := c.Current().States(nil); len(states) != 1 || states[0].State != snapshot.PluginNeedsApproval || states[0].Version != "2" {
		t.Errorf("states %+v", states)
	}
	if _, err := c.Approve(t.Context(), "a", ""); err != nil {
		t.Error(err)
	}
	if got := texts(c.Current()); !slices.Equal(got, []string{"a 2 ready"}) {
		t.Errorf("after the approval: %q", got)
	}
}

// TestCheckDir: a directory in which others could put modules is told before
// there is one.
func TestCheckDir(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(plugin.CheckDir(dir), plugin.CheckDir(filepath.Join(dir, "missing"))); err != nil {
		t.Error(err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := plugin.CheckDir(dir); err == nil || err.Error() != "writable by everyone: chmod o-w it" {
		t.Errorf("open to all: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "f"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := plugin.CheckDir(filepath.Join(dir, "f")); err == nil {
		t.Error("a file is taken for a directory")
	}
}

// TestOneFileOnce: a file is one row, under the first of the names that lead to
// it.
func TestOneFileOnce(t *testing.T) {
	t.Parallel()
	dir := directory(t, map[string][]byte{"a.wasm": tiny(t, "a", "1"), "b.wasm": tiny(t, "b", "1")})
	link := filepath.Join(t.TempDir(), "link")
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	relative, err := filepath.Rel(here, dir)
	if err := errors.Join(err, os.Symlink(dir, link), os.Symlink("a.wasm", filepath.Join(dir, "z.wasm"))); err != nil {
		t.Fatal(err)
	}
	c := newCatalog(t, plugin.Options{}, plugin.Config{
		Files: []string{filepath.Join(dir, "b.wasm")}, Dirs: []string{relative, dir, dir + "/.", link},
	})
	load(t, c)
	list := acquire(t, c)
	defer list.Release()
	if got := texts(list); !slices.Equal(got, []string{"b 1 ready", "a 1 ready"}) {
		t.Errorf("%q", got)
	}
	for _, p := range list.States(nil) {
		if p.Name == "a" && p.Path != filepath.Join(relative, "a.wasm") {
			t.Errorf("it is called %s", p.Path)
		}
	}
}

// TestLoading: a list is loading as long as a module has no version that can be used
// because its first one is still being tried.
func TestLoading(t *testing.T) {
	t.Parallel()
	dir := directory(t, map[string][]byte{"a.wasm": tiny(t, "a", "1")})
	c := newCatalog(t, plugin.Options{ReloadWithin: 1}, plugin.Config{})
	load(t, c)
	check := func(when string, loading bool, want ...string) {
		t.Helper()
		list := acquire(t, c)
		defer list.Release()
		if got := texts(list); list.Loading() != loading || len(got) != len(want) || len(want) > 0 && !slices.Equal(got, want) {
			t.Errorf("%s: loading %v, %q; want %v, %q", when, list.Loading(), got, loading, want)
		}
	}
	check("without modules", false)
	change, err := c.Prepare(t.Context(), plugin.Config{Dirs: []string{dir}}) // which doesn't wait for it
	if err != nil {
		t.Fatal(err)
	}
	change.Commit()
	change.Close()
	check("its first version", true, "  compiling") // whose name nobody knows yet
	load(t, c)
	check("loaded", false, "a 1 ready")
	if err := os.WriteFile(filepath.Join(dir, "a.wasm"), []byte("no module"), 0o600); err != nil {
		t.Fatal(err)
	}
	load(t, c)
	check("replaced by what is none", false, "a 1 ready")
}

// memory keeps blobs.
type memory map[string][]byte

func (m memory) Get(name string) ([]byte, bool) { data, ok := m[name]; return data, ok }

func (m memory) Put(name string, data []byte) error { m[name] = data; return nil }

// TestBuiltinDigest: of a module that is part of the program the bytes are asked for
// when it has to be compiled, and its digest once for each program. Bytes of another
// digest aren't used.
func TestBuiltinDigest(t *testing.T) {
	t.Parallel()
	wasm, store := tiny(t, "built-in", "1"), memory{}
	for _, test := range []struct {
		name, salt, state string
		bytes             []byte
		reads, digests    int
	}{
		{"at first", "a", "built-in 1 ready", wasm, 1, 1},
		{"later", "a", "built-in 1 ready", wasm, 0, 0},
		{"another program", "b", "built-in 1 ready", wasm, 1, 1},
		{"without an identity", "", "built-in 1 ready", wasm, 1, 1},
		{"other bytes", "c", "  rejected", tiny(t, "other", "1"), 1, 1},
	} {
		reads, digests := 0, 0
		c := newCatalog(t, plugin.Options{
			Store: store, Salt: test.salt,
			Builtin:       func() ([]byte, error) { reads++; return test.bytes, nil },
			BuiltinDigest: func() (string, error) { digests++; return fmt.Sprintf("%x", sha256.Sum256(wasm)), nil },
		}, plugin.Config{})
		load(t, c)
		list := acquire(t, c)
		if got := texts(list); len(got) != 1 || got[0] != test.state {
			t.Errorf("%s: %q, want %q", test.name, got, test.state)
		}
		list.Release()
		if reads != test.reads || digests != test.digests {
			t.Errorf("%s: %d reads and %d digests, want %d and %d", test.name, reads, digests, test.reads, test.digests)
		}
	}
}

// TestBuiltinIsTriedAgain: where the built-in module couldn't be loaded, which is the
// machine's fault, that lasts until the next try: when somebody asks for one, and else by
// itself.
func TestBuiltinIsTriedAgain(t *testing.T) {
	t.Parallel()
	wasm := tiny(t, "built-in", "1")
	for _, asked := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			reads := 0
			c := newCatalog(t, plugin.Options{
				Builtin: func() ([]byte, error) {
					if reads++; reads == 1 {
						return nil, errors.New("this machine is busy")
					}
					return wasm, nil
				},
				BuiltinDigest: func() (string, error) { return fmt.Sprintf("%x", sha256.Sum256(wasm)), nil },
			}, plugin.Config{})
			load(t, c)
			if got := texts(c.Current()); len(got) != 1 || !strings.Contains(got[0], "rejected") {
				t.Fatalf("at first: %q", got)
			}
			changed := c.Changed()
			if asked {
				if err := c.Retry(t.Context()); err != nil {
					t.Fatal(err)
				}
			} else {
				ctx, cancel := context.WithCancel(t.Context())
				run := make(chan error)
				go func() { run <- c.Run(ctx) }()
				<-changed
				cancel()
				if err := <-run; !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			}
			if got := texts(c.Current()); len(got) != 1 || got[0] != "built-in 1 ready" {
				t.Errorf("asked %v: %q", asked, got)
			}
		})
	}
}

// TestLazyModuleIsTriedAgain: a module that is known from an earlier process is loaded when
// it is needed first. Where that fails for the machine's sake, it isn't the last try.
func TestLazyModuleIsTriedAgain(t *testing.T) {
	t.Parallel()
	wasm, store := tiny(t, "built-in", "1"), memory{}
	synctest.Test(t, func(t *testing.T) {
		var failing error
		opts := plugin.Options{
			Store: store, Salt: "a",
			Builtin:       func() ([]byte, error) { return wasm, failing },
			BuiltinDigest: func() (string, error) { return fmt.Sprintf("%x", sha256.Sum256(wasm)), nil },
		}
		load(t, newCatalog(t, opts, plugin.Config{})) // which keeps its description
		failing = errors.New("this machine is busy")
		c := newCatalog(t, opts, plugin.Config{})
		load(t, c)
		list := acquire(t, c)
		defer list.Release()
		get := list.Resolvers()[0].Module.Get
		if _, err := get(t.Context()); !errors.Is(err, failing) {
			t.Fatalf("on a busy machine: %v", err)
		}
		failing = nil
		changed := c.Changed()
		ctx, cancel := context.WithCancel(t.Context())
		run := make(chan error)
		go func() { run <- c.Run(ctx) }()
		<-changed
		cancel()
		if err := <-run; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		list = acquire(t, c)
		defer list.Release()
		if _, err := list.Resolvers()[0].Module.Get(t.Context()); err != nil {
			t.Errorf("later: %v", err)
		}
	})
}
