package host_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"waymark/abi"
	"waymark/host"
	"waymark/host/resolve"
	"waymark/host/sandbox"
	"waymark/host/sandbox/guesttest"
	"waymark/host/vfs"
	"waymark/snapshot"
	"waymark/test/contracts/vfstest"
	"waymark/test/testenv"
)

// TestIncrementalEqualsClean: after any sequence of edits, a Host that has
// seen them all says what one that remembers nothing says, and its version
// rises exactly when something pushed changed.
func TestIncrementalEqualsClean(t *testing.T) {
	t.Parallel()
	incremental(t)
}

// TestIncrementalAsOrdinaryUser is the same for somebody whom permissions keep
// out.
func TestIncrementalAsOrdinaryUser(t *testing.T) {
	t.Parallel()
	testenv.RunOrdinary(t, incremental)
}

func incremental(t *testing.T) {
	g := generator{testenv.Rand(t)}
	sequences, steps := testenv.Rounds(1, 5, 200), testenv.Rounds(25, 50, 200)
	clean := newClean(t)
	for range sequences {
		dir := vfstest.Build(t, g.tree())
		e := editor{g, dir, filepath.Join(filepath.Dir(dir), "out"), nil}
		t.Cleanup(func() {
			vfstest.Reopen(dir)
			vfstest.Reopen(e.out)
		})
		roots := []host.RootSpec{
			{Path: dir}, {Path: filepath.Join(dir, "skills"), Optional: true},
			{Path: filepath.Join(dir, ".mcp.json"), Optional: true, Role: abi.RoleMCP},
		}
		for range 1 + g.IntN(6) { // many of which have the same of nothing
			other := vfstest.Build(t, g.tree()[:1])
			t.Cleanup(func() { vfstest.Reopen(other) })
			roots = append(roots, host.RootSpec{Path: other})
		}
		h := newHost(t, host.Options{Builtin: module(builtin(t)), Roots: roots})
		before := refresh(t, h).Snapshot
		for range steps {
			for range 1 + g.IntN(3) {
				e.edit()
			}
			after := refresh(t, h).Snapshot
			checkVersion(t, before, after)
			want := clean.resources(t, roots)
			compare(t, "resources", spell(after.Resources, dir), spell(want, dir))
			compare(t, "resources after a start", spell(clean.again().resources(t, roots), dir), spell(want, dir))
			if t.Failed() {
				t.Fatalf("after\n%s", quoteLines(e.done[max(0, len(e.done)-20):]))
			}
			before = after
		}
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func checkVersion(t *testing.T, before, after *snapshot.Snapshot) {
	t.Helper()
	want := before.Version
	if !snapshot.SameContent(before, after) {
		want++
	}
	if after.Version != want {
		t.Errorf("version %d after %d, want %d", after.Version, before.Version, want)
	}
}

// spell is all that is pushed of a resource, in one line.
func spell(list []snapshot.Resource, dir string) []string {
	out := lines(list, dir)
	for i, r := range list {
		out[i] += fmt.Sprintf(" %q %q %d %v %s %s %v %q", r.Name, r.Description, r.SizeBytes, r.ContentHash, r.SourcePath, r.Resolver, r.Stale, r.Payload)
	}
	return out
}

// clean resolves without memory: new roots and no memos every time.
type clean struct {
	module *sandbox.Module
	engine *resolve.Engine
}

func newClean(t *testing.T) clean {
	d := newDifferential(t)
	return clean{d.module, resolve.New(resolve.Options{NoMemo: true})}
}

// again is the same with an engine that remembers, but nothing yet.
func (c clean) again() clean { return clean{c.module, resolve.New(resolve.Options{})} }

func (c clean) resources(t *testing.T, specs []host.RootSpec) []snapshot.Resource {
	t.Helper()
	var resolvers []resolve.Resolver
	for _, info := range c.module.Description().Resolvers {
		resolvers = append(resolvers, resolve.Resolver{Module: guesttest.Module(c.module), Info: info, Manifests: info.Name == "context", Bundles: true})
	}
	var roots []resolve.Root
	var mcp string // the file of role mcp, which is none for any other kind
	for _, spec := range specs {
		if target, err := filepath.EvalSymlinks(spec.Path); err == nil && spec.Role == abi.RoleMCP && !isDirectory(target) {
			mcp = target
		}
	}
	for _, spec := range specs {
		var opts vfs.RootOptions
		if base, err := filepath.EvalSymlinks(spec.Path); err == nil && mcp != "" {
			if !isDirectory(base) {
				base = filepath.Dir(base)
			}
			if rel, err := filepath.Rel(base, mcp); err == nil && filepath.IsLocal(rel) {
				opts.MCPFiles = []string{rel}
			}
		}
		root, err := vfs.OpenRoot(spec.Path, opts)
		if err != nil {
			continue
		}
		defer root.Close()
		roots = append(roots, resolve.Root{FS: root, Role: spec.Role, Position: len(roots)})
	}
	outcomes, err := c.engine.Resolve(t.Context(), resolvers, roots)
	if err != nil {
		t.Fatal(err)
	}
	var candidates []snapshot.Candidate
	for _, o := range outcomes {
		candidates = append(candidates, o.Candidates...)
	}
	list, _ := snapshot.Assemble(candidates, snapshot.Caps{})
	return list
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// editor changes a tree at random. What can't be done, because something is in
// the way, isn't; neither is what a link would lead out of the test's own
// directories, to what is the machine's.
type editor struct {
	generator
	dir, out string
	done     []string
}

func (e *editor) edit() {
	at := func(path string) string { return filepath.Join(e.dir, path) }
	path := e.somewhere()
	if !e.ours(filepath.Dir(at(path))) {
		return
	}
	var err error
	var what string
	switch op := e.IntN(18); op {
	case 0, 1, 2, 3:
		what, err = "write", e.write(at(path), e.content(path), os.O_TRUNC)
	case 4:
		what, err = "append", e.write(at(path), "more\n", os.O_APPEND)
	case 5:
		what, err = "replace", e.replace(at(path), e.content(path))
	case 6, 7:
		what, err = "remove", removeAll(at(path))
	case 8:
		if to := e.somewhere(); e.ours(filepath.Dir(at(to))) {
			what, err = "rename to "+to, os.Rename(at(path), at(to))
		}
	case 9, 10:
		target := strings.NewReplacer("$ROOT", e.dir, "$OUT", e.out).Replace(e.target())
		if e.IntN(2) == 0 {
			_ = removeAll(at(path))
		}
		_ = os.MkdirAll(filepath.Dir(at(path)), 0o755)
		what, err = "link to "+target, os.Symlink(target, at(path))
	case 11:
		if e.ours(at(path)) {
			what, err = "make directory", os.MkdirAll(at(path), 0o755)
		}
	case 12:
		what, err = "replace directory", e.replaceDir(at(path))
	case 13, 15:
		mode := pick(e.generator, os.FileMode(0o644), 0o755, 0o600, 0o700, 0o711, 0o311, 0o444, 0o500, 0o200, 0)
		switch e.IntN(8) {
		case 0:
			path = pick(e.generator, ".", "..") // the root, and what it lies in
		case 1, 2, 3:
			path = e.existing(path, func(d os.DirEntry) bool { return !d.Type().IsRegular() })
		}
		if e.ours(at(path)) {
			what, err = fmt.Sprintf("chmod %o", mode), os.Chmod(at(path), mode)
		}
	case 16:
		what = "reopen all"
		vfstest.Reopen(e.dir)
	case 17:
		if !e.ours(filepath.Dir(at(path))) {
			return
		}
		if e.IntN(2) == 0 {
			_ = removeAll(at(path))
		}
		kind := pick[uint32](e.generator, unix.S_IFIFO, unix.S_IFSOCK)
		what, err = fmt.Sprintf("make special %o", kind), unix.Mknod(at(path), kind|0o644, 0)
	case 14:
		if to := e.somewhere(); e.ours(filepath.Dir(at(to))) {
			_ = os.MkdirAll(filepath.Dir(at(to)), 0o755)
			what, err = "hard link "+to, os.Link(at(path), at(to))
		}
	}
	if err == nil && what != "" {
		e.done = append(e.done, path+": "+what)
	}
}

// ours reports whether a path is in the test's directories, links followed.
func (e *editor) ours(path string) bool { return vfstest.Inside(filepath.Dir(e.dir), path) }

// somewhere is a path that is there, or a place where something would count.
func (e *editor) somewhere() string {
	if e.IntN(2) == 0 {
		return e.place()
	}
	return e.existing(e.place(), func(os.DirEntry) bool { return true })
}

// existing is one of the paths below the root that are wanted, or another where
// there is none.
func (e *editor) existing(other string, wanted func(os.DirEntry) bool) string {
	var there []string
	_ = filepath.WalkDir(e.dir, func(path string, d os.DirEntry, err error) error {
		if rel, relErr := filepath.Rel(e.dir, path); err == nil && relErr == nil && rel != "." && wanted(d) {
			there = append(there, rel)
		}
		return nil
	})
	if len(there) == 0 {
		return other
	}
	slices.Sort(there)
	return there[e.IntN(len(there))]
}

func (e *editor) write(path, content string, flag int) error {
	if !e.ours(path) {
		return os.ErrPermission
	}
	_ = os.MkdirAll(filepath.Dir(path), 0o755)
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return os.ErrInvalid // a FIFO would block
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|flag, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(content)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}

// replace does what editors do: write another file and rename it.
func (e *editor) replace(path, content string) error {
	tmp := filepath.Join(filepath.Dir(e.dir), "tmp")
	if err := os.WriteFile(tmp, []byte(content), 0o644); err != nil {
		return err
	}
	_ = os.MkdirAll(filepath.Dir(path), 0o755)
	return os.Rename(tmp, path)
}

// replaceDir puts another directory in a directory's place.
func (e *editor) replaceDir(path string) error {
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() {
		return os.ErrInvalid
	}
	if err := removeAll(path); err != nil {
		return err
	}
	name := filepath.Base(path)
	put := e.write
	if e.IntN(3) == 0 {
		return os.Mkdir(path, 0o755)
	}
	return put(filepath.Join(path, "SKILL.md"), e.frontMatter(name), os.O_TRUNC)
}

// removeAll is os.RemoveAll where the parent is a directory: that function
// opens the parent, and one that is a FIFO would block it for ever.
func removeAll(path string) error {
	if info, err := os.Stat(filepath.Dir(path)); err != nil || !info.IsDir() {
		return os.ErrInvalid
	}
	return os.RemoveAll(path)
}
