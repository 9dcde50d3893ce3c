package host_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waymark/host"
	"waymark/snapshot"
	"waymark/test/testenv"
)

// TestHotplugRandom drops, changes, spoils, renames and removes plugin files
// at random while the agent runs. Whenever all files that are left can be used,
// the agent comes to what a clean start would find.
func TestHotplugRandom(t *testing.T) {
	noLeaks(t)
	g := &gardener{bench: hotplug(t, host.Options{}), Rand: testenv.Rand(t)}
	for range testenv.Rounds(25, 25, 500) {
		g.done = nil
		for range 1 + g.IntN(8) {
			g.step(t)
		}
		g.mend(t)
		clean := newHost(t, host.Options{PluginDirs: []string{g.dir}, Roots: []host.RootSpec{{Path: g.root}}})
		want := state(refresh(t, clean).Snapshot)
		last := ""
		awaitSnapshot(t, g.Host, fmt.Sprintf("after %s: want %q", strings.Join(g.done, ", "), want), func(s *snapshot.Snapshot) bool {
			last = state(s)
			return last == want
		})
	}
}

// gardener does things to plugin files.
type gardener struct {
	*bench
	*rand.Rand
	done []string
}

// step does one thing.
func (g *gardener) step(t *testing.T) {
	t.Helper()
	file := g.file()
	var err error
	switch what := g.IntN(9); what {
	case 0, 1, 2:
		wasm := g.module()
		g.record("drop %s", file)
		g.drop(t, file, wasm)
	case 3:
		g.record("write %s", file)
		err = os.WriteFile(g.path(file), g.module(), 0o600)
	case 4:
		wasm := g.module()
		g.record("cut %s", file)
		err = os.WriteFile(g.path(file), wasm[:g.IntN(len(wasm))], 0o600)
	case 5:
		to := g.file()
		g.record("rename %s to %s", file, to)
		err = os.Rename(g.path(file), g.path(to))
	case 6:
		g.record("remove %s", file)
		err = os.Remove(g.path(file))
	case 7:
		g.record("open %s to all", file)
		err = os.Chmod(g.path(file), 0o666)
	case 8:
		g.record("edit")
		put(t, filepath.Join(g.root, "F.md"), fmt.Sprint("text ", g.Uint32()))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
}

func (g *gardener) record(format string, args ...any) {
	g.done = append(g.done, fmt.Sprintf(format, args...))
}

func (g *gardener) file() string            { return string(rune('a'+g.IntN(4))) + ".wasm" }
func (g *gardener) path(file string) string { return filepath.Join(g.dir, file) }

// module is one of few modules in one of few versions, so that files and names
// get into each other's way.
func (g *gardener) module() []byte {
	return tiny{name: string(rune('m' + g.IntN(3))), version: fmt.Sprint(1 + g.IntN(3))}.build()
}

// mend lets all that is left be usable: what isn't leaves the version before it
// in use, of which a clean start knows nothing.
func (g *gardener) mend(t *testing.T) {
	t.Helper()
	taken := map[string]bool{}
	for i := range 4 {
		name := string(rune('a'+i)) + ".wasm"
		data, err := os.ReadFile(g.path(name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := errors.Join(err, os.Chmod(g.path(name), 0o600)); err != nil {
			t.Fatal(err)
		}
		if module := moduleName(data); module == "" || taken[module] {
			g.record("remove %s, %q of %d bytes", name, module, len(data))
			err = os.Remove(g.path(name))
		}
		if err != nil {
			t.Fatal(err)
		}
		taken[moduleName(data)] = true
	}
}

// moduleName is the name of a whole module of tiny's, "" of anything else.
func moduleName(data []byte) string {
	for i := range 9 {
		m := tiny{name: string(rune('m' + i/3)), version: fmt.Sprint(1 + i%3)}
		if string(data) == string(m.build()) {
			return m.name
		}
	}
	return ""
}
