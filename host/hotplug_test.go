package host_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"waymark/host"
	"waymark/host/watch"
	"waymark/snapshot"
	"waymark/test/wasmtest"
)

// tiny is a module that finds the file F.md of every root, whatever is in it,
// and names the find after its version.
type tiny struct {
	name, version string
	reads         []string // besides F.md
	fails         bool     // resolve answers nonsense
	wild          bool     // resolve doesn't come back
}

// build assembles the module, in a millisecond.
func (m tiny) build() []byte {
	resolver := map[string]any{"name": "r", "kinds": []string{"command"}, "reads": append([]string{"F.md"}, m.reads...)}
	describe, err1 := json.Marshal(map[string]any{"abi": 1, "name": m.name, "version": m.version, "resolvers": []any{resolver}})
	row := map[string]any{"kind": "command", "path": "F.md", "key": m.name, "name": m.version, "content": map[string]string{"file": "F.md"}}
	resolve, err2 := json.Marshal(map[string]any{"resources": []any{row}})
	if err := errors.Join(err1, err2); err != nil {
		panic(err)
	}
	if m.fails {
		resolve = []byte("nonsense")
	}
	return wasmtest.File{Describe: string(describe), Resolve: string(resolve), Endless: m.wild}.Bytes()
}

// quick watches without waiting, and re-checks only for events.
var quick = watch.Options{Quiet: time.Millisecond, MaxWait: 10 * time.Millisecond, Recheck: time.Hour, SilentRecheck: time.Hour}

// bench is a Host that runs, with one plugin directory and one root.
type bench struct {
	*host.Host
	dir, root string
	logs      *logBuffer
}

// hotplug starts a Host on a plugin directory and a root with F.md.
func hotplug(t *testing.T, opts host.Options) *bench {
	t.Helper()
	b := &bench{root: t.TempDir(), logs: &logBuffer{}}
	put(t, filepath.Join(b.root, "F.md"), "text")
	if len(opts.PluginDirs) == 0 {
		opts.PluginDirs = []string{pluginDir(t, nil)}
	}
	b.dir = opts.PluginDirs[0]
	opts.Roots = append(opts.Roots, host.RootSpec{Path: b.root})
	if opts.Watch.NewBackend == nil {
		opts.Watch = quick
	}
	opts.Logger = debugLogger(b.logs)
	if opts.PluginSettle == 0 {
		opts.PluginSettle = time.Millisecond
	}
	b.Host = newHost(t, opts)
	running(t, b.Host)
	awaitSnapshot(t, b.Host, "first", func(s *snapshot.Snapshot) bool { return s.Version > 0 })
	return b
}

// drop replaces a plugin file as an installer does, in one step.
func (b *bench) drop(t testing.TB, name string, wasm []byte) {
	t.Helper()
	temp := filepath.Join(b.dir, "."+name+".tmp")
	if err := errors.Join(os.WriteFile(temp, wasm, 0o600), os.Rename(temp, filepath.Join(b.dir, name))); err != nil {
		t.Fatal(err)
	}
}

// state spells snapshots as in "b.wasm ready; a=1.0.0": plugins with their
// errors, then finds by module.
func state(s *snapshot.Snapshot) string {
	var list []string
	for _, p := range s.Plugins {
		list = append(list, strings.TrimSpace(filepath.Base(p.Path)+" "+string(p.State)+" "+p.Error))
	}
	for i := range s.Resources {
		list = append(list, s.Resources[i].Key+"="+s.Resources[i].Name)
	}
	return strings.Join(list, "; ")
}

// reaches waits until a text is in the state.
func (b *bench) reaches(t *testing.T, what, want string) {
	t.Helper()
	last := ""
	awaitSnapshot(t, b.Host, what+": "+want, func(s *snapshot.Snapshot) bool {
		if now := state(s); now != last {
			last = now
			t.Logf("%s: %s", what, now)
		}
		return strings.Contains(last, want)
	})
}

// is waits until the state is a text.
func (b *bench) is(t *testing.T, what, want string) {
	t.Helper()
	last := ""
	awaitSnapshot(t, b.Host, what, func(s *snapshot.Snapshot) bool {
		if now := state(s); now != last {
			last = now
			t.Logf("%s: %s", what, now)
		}
		return last == want
	})
}

// TestDropInLive: a module appears, changes and vanishes while the agent runs,
// by every way in which files do.
func TestDropInLive(t *testing.T) {
	noLeaks(t)
	b := hotplug(t, host.Options{})
	one, two, three := tiny{name: "a", version: "1"}.build(), tiny{name: "a", version: "2"}.build(), tiny{name: "a", version: "3"}.build()
	file := filepath.Join(b.dir, "a.wasm")
	old := time.Now().Add(-24 * time.Hour)
	steps := []struct {
		name string
		do   func() error
		want string
	}{
		{"moved in", func() error { b.drop(t, "a.wasm", one); return nil }, "a.wasm ready; a=1"},
		{"renamed over", func() error { b.drop(t, "a.wasm", two); return nil }, "a.wasm ready; a=2"},
		{"written in place", func() error { return os.WriteFile(file, three, 0o600) }, "a.wasm ready; a=3"},
		{"copied with its old time", func() error {
			temp := filepath.Join(b.dir, "temp")
			return errors.Join(os.WriteFile(temp, one, 0o600), os.Chtimes(temp, old, old), os.Rename(temp, file))
		}, "a.wasm ready; a=1"},
		{"written in place with the old time", func() error {
			return errors.Join(os.WriteFile(file, two, 0o600), os.Chtimes(file, old, old))
		}, "a.wasm ready; a=2"},
		{"renamed", func() error { return os.Rename(file, filepath.Join(b.dir, "b.wasm")) }, "b.wasm ready; a=2"},
		{"removed", func() error { return os.Remove(filepath.Join(b.dir, "b.wasm")) }, ""},
		{"as an editor does it", func() error {
			return errors.Join(os.WriteFile(file+"~", one, 0o600), os.Rename(file+"~", file), os.WriteFile(file+"~", one, 0o600))
		}, "a.wasm ready; a=1"},
		{"a link", func() error {
			target := filepath.Join(b.dir, "real")
			return errors.Join(os.WriteFile(target, three, 0o600), os.Remove(file), os.Symlink("real", file))
		}, "a.wasm ready; a=3"},
		{"what it leads to", func() error { return os.WriteFile(filepath.Join(b.dir, "real"), two, 0o600) }, "a.wasm ready; a=2"},
		{"the directory moved away", func() error { return os.Rename(b.dir, b.dir+".away") }, ""},
		{"and back", func() error { return os.Rename(b.dir+".away", b.dir) }, "a.wasm ready; a=2"},
		{"removed with all that is in it", func() error { return os.RemoveAll(b.dir) }, ""},
		{"made anew", func() error { return os.Mkdir(b.dir, 0o700) }, ""},
		{"filled anew", func() error { b.drop(t, "c.wasm", one); return nil }, "c.wasm ready; a=1"},
	}
	for _, step := range steps {
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		b.is(t, step.name, step.want)
	}
	version := b.Current().Version
	if err := os.Chtimes(filepath.Join(b.dir, "c.wasm"), old, old); err != nil {
		t.Fatal(err)
	}
	if _, err := b.RetryPlugins(t.Context()); err != nil { // looks at all files
		t.Fatal(err)
	}
	if now := b.Current().Version; now != version {
		t.Errorf("version %d after a file was only touched, before %d", now, version)
	}
}

// TestDropInLateDirectory: a plugin directory that comes step by step, over a
// link that is pointed elsewhere.
func TestDropInLateDirectory(t *testing.T) {
	noLeaks(t)
	base := pluginDir(t, nil)
	b := hotplug(t, host.Options{PluginDirs: []string{filepath.Join(base, "link/plugins")}})
	for _, v := range []string{"1", "2"} {
		dir := filepath.Join(base, "at"+v, "plugins")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "a.wasm"), tiny{name: "a", version: v}.build(), 0o600); err != nil {
			t.Fatal(err)
		}
		_ = os.Remove(filepath.Join(base, "link"))
		if err := os.Symlink("at"+v, filepath.Join(base, "link")); err != nil {
			t.Fatal(err)
		}
		b.is(t, "link to "+v, "a.wasm ready; a="+v)
	}
}
