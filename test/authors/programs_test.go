package authors_test

import (
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"waymark/test/built"
)

// programs is a directory with agent, hub and harness.
var programs string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "waymark-authors-")
	if err != nil {
		panic(err)
	}
	programs = filepath.Join(dir, "bin")
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

var build = sync.OnceValue(func() error {
	if err := os.MkdirAll(programs, 0o700); err != nil {
		return err
	}
	return built.Programs(context.Background(), programs, false, "waymark/cmd/agent", "waymark/cmd/hub", "waymark/cmd/harness")
})

// home is where commands of one test live.
type home struct {
	t   *testing.T
	dir string
	env []string
}

func newHome(t *testing.T) *home {
	t.Helper()
	seeSources(t)
	if err := build(); err != nil {
		t.Fatal(err)
	}
	h := &home{t: t, dir: t.TempDir()}
	state := filepath.Join(h.dir, ".local", "state")
	cache := built.CacheHome() // so that nothing is compiled that another test has compiled
	if cache == "" {
		cache = filepath.Join(h.dir, ".cache")
	}
	h.share(state)
	h.env = []string{
		"HOME=" + h.dir, "PATH=" + programs + ":" + os.Getenv("PATH"), "LANG=C.UTF-8",
		"XDG_CACHE_HOME=" + cache, "XDG_STATE_HOME=" + state, "XDG_CONFIG_HOME=" + filepath.Join(h.dir, ".config"),
		"XDG_RUNTIME_DIR=" + filepath.Join(h.dir, "run"),
		"GOCACHE=" + goEnv(t, "GOCACHE"), "GOMODCACHE=" + goEnv(t, "GOMODCACHE"), "GOPROXY=off", "GOFLAGS=", "GOTOOLCHAIN=local",
	}
	if err := os.Mkdir(filepath.Join(h.dir, "run"), 0o700); err != nil {
		t.Fatal(err)
	}
	h.configure(filepath.Join(h.dir, ".config", "waymark"))
	return h
}

// configure has agents wait for their modules for as long as a machine may stand
// still: that they describe themselves sooner is not the point here, and one that
// doesn't is refused.
func (h *home) configure(dir string) {
	h.t.Helper()
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "plugin.toml"), []byte("[limits]\ntime = \"1m\"\n"), 0o600)
	}
	if err != nil {
		h.t.Fatal(err)
	}
}

// share puts the key into a directory of state that the compiled modules of all tests
// are sealed with.
func (h *home) share(state string) {
	h.t.Helper()
	if err := built.ShareKey(filepath.Join(state, "waymark", "key")); err != nil {
		h.t.Fatal(err)
	}
}

// command makes a command that runs in a directory with this home's
// environment.
func (h *home) command(ctx context.Context, dir, name string, args ...string) *exec.Cmd {
	if _, err := os.Stat(filepath.Join(programs, name)); err == nil {
		name = filepath.Join(programs, name)
	}
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, h.env
	return cmd
}

// long skips in the short form what needs another toolchain than Go's, or does once more
// what the tutorial and the copied examples do.
func long(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("it takes long")
	}
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// seeSources looks at every source file, so that `go test` doesn't repeat its
// last result when one has changed: the programs are built by other processes.
func seeSources(t *testing.T) {
	t.Helper()
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil //nolint:nilerr // removed meanwhile
		case entry.IsDir() && (entry.Name() == ".git" || entry.Name() == "node_modules" || entry.Name() == "dist"):
			return fs.SkipDir
		case entry.Type().IsRegular():
			_, _ = os.Stat(path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
