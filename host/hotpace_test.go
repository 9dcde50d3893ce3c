package host_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"waymark/host"
	"waymark/host/watch"
	"waymark/test/wasmtest"
)

// TestDropInDegraded: where nothing can be watched, plugin files are polled.
func TestDropInDegraded(t *testing.T) {
	noLeaks(t)
	b := hotplug(t, host.Options{Watch: watch.Options{
		Poll: 5 * time.Millisecond, NewBackend: func() (watch.Backend, error) { return nil, errors.New("no notifier here") },
	}})
	b.drop(t, "a.wasm", tiny{name: "a", version: "1"}.build())
	b.is(t, "dropped", "a.wasm ready; a=1")
	b.drop(t, "a.wasm", tiny{name: "a", version: "2"}.build())
	b.is(t, "changed", "a.wasm ready; a=2")
	if err := os.Remove(filepath.Join(b.dir, "a.wasm")); err != nil {
		t.Fatal(err)
	}
	b.is(t, "removed", "")
	if s := b.Status().Watch; s.Mode != watch.ModeDegraded {
		t.Errorf("watch state %+v", s)
	}
}

// TestCompileInBackground: while a module is loaded, which may take long, files
// are looked at as ever with the modules that are there, and what comes of a
// file says that it is being compiled.
func TestCompileInBackground(t *testing.T) {
	noLeaks(t)
	b := hotplug(t, host.Options{})
	b.drop(t, "a.wasm", tiny{name: "a", version: "1"}.build())
	b.is(t, "a good one", "a.wasm ready; a=1")
	endless := wasmtest.MustWAT(`(module
		(func (export "describe") (result i32) (loop $again (br $again)) (i32.const 0))
		(func (export "resolve") (result i32) (i32.const 0)))`)
	b.drop(t, "b.wasm", endless) // ends with the test, or with its deadline of some minutes
	b.is(t, "a slow one", "a.wasm ready; b.wasm compiling; a=1")
	put(t, filepath.Join(b.root, "F.md"), "edited meanwhile")
	s := refresh(t, b.Host).Snapshot
	if payloads(s) != "F.md=edited meanwhile" || state(s) != "a.wasm ready; b.wasm compiling; a=1" {
		t.Errorf("meanwhile there is %s, %s", state(s), payloads(s))
	}
}

// TestPluginFiles: files that were named one by one are used whoever may write
// to them, before those of directories, and need no approval; they are followed
// as the others are.
func TestPluginFiles(t *testing.T) {
	noLeaks(t)
	open := t.TempDir()
	file := filepath.Join(open, "build", "x.wasm")
	put(t, file, string(tiny{name: "a", version: "1"}.build()))
	if err := errors.Join(os.Chmod(open, 0o777), os.Chmod(file, 0o666)); err != nil {
		t.Fatal(err)
	}
	dir := pluginDir(t, map[string][]byte{"a.wasm": tiny{name: "a", version: "9"}.build()})
	b := hotplug(t, host.Options{PluginFiles: []string{file}, PluginDirs: []string{dir, dir}})
	b.reaches(t, "named", "x.wasm ready; a.wasm rejected the name \"a\" is taken by "+file)
	b.reaches(t, "named", "; a=1")
	more := tiny{name: "a", version: "2", reads: []string{"**"}}.build()
	if err := os.WriteFile(file, more, 0o600); err != nil {
		t.Fatal(err)
	}
	b.reaches(t, "changed", "; a=2")
	if err := os.RemoveAll(filepath.Dir(file)); err != nil {
		t.Fatal(err)
	}
	b.reaches(t, "removed", "x.wasm ready the new version of x.wasm is not used: "+file+": no such file or directory: copy the module there")
	b.reaches(t, "removed", "; a=2") // who has named it wants it
	b.drop(t, "other.wasm", tiny{name: "b", version: "1"}.build())
	b.reaches(t, "another", "b=1")
}

// TestLooksChangeNothing: a look at all files that finds nothing new changes
// nothing, however often.
func TestLooksChangeNothing(t *testing.T) {
	noLeaks(t)
	b := hotplug(t, host.Options{})
	b.drop(t, "a.wasm", tiny{name: "a", version: "1"}.build())
	b.drop(t, "b.wasm", []byte("broken"))
	b.drop(t, "c.wasm", tiny{name: "c", version: "1", fails: true}.build())
	b.reaches(t, "all", "a.wasm ready; b.wasm rejected not WebAssembly")
	b.reaches(t, "all", "c.wasm rejected its resolver fails")
	b.reaches(t, "all", "; a=1")
	version := b.Current().Version
	for range 5 {
		if _, err := b.RetryPlugins(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if now := b.Current().Version; now != version {
		t.Errorf("version %d, before %d: %s", now, version, state(b.Current()))
	}
	if n := strings.Count(b.logs.String(), "plugin not used"); n != 2 {
		t.Errorf("what is wrong is logged %d times", n)
	}
}
