package config_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"waymark/host/config"
)

// write makes a file in a directory of the test's own.
func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "plugin.toml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestLoad(t *testing.T) {
	machine := write(t, "limits.time = \"1s\"\nlimits.opens = 1\n")
	own := write(t, "limits.time = \"3s\"\n")
	missing := filepath.Join(t.TempDir(), "missing", "plugin.toml")
	below := filepath.Join(own, "plugin.toml") // its parent is a file

	got, err := config.Load(machine, missing, below, own)
	if err != nil {
		t.Fatal(err)
	}
	want := config.Default()
	want.Limits.Time, want.Limits.Opens = 3*time.Second, 1
	want.Files = []string{machine, own}
	if diff := cmp.Diff(want, got, values); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestLoadOwn: a user's own file may not say whose signatures count, one that was
// named may.
func TestLoadOwn(t *testing.T) {
	file := write(t, "[mcp]\nkeys = [\""+strings.Repeat("A", 43)+"=\"]\n")
	_, err := config.Load(file)
	var e *config.Error
	if !errors.As(err, &e) || e.Line != 2 || !strings.Contains(e.Error(), config.MachineFile) {
		t.Errorf("a user's own: %v", err)
	}
	if c, err := config.LoadFile(file); err != nil || len(c.MCP.Keys) != 1 {
		t.Errorf("one that was named: %v", err)
	}
}

// TestLoadServers: the tables of servers are merged by name.
func TestLoadServers(t *testing.T) {
	machine := write(t, "[mcp.servers.a]\nports = []\noff = true\n[mcp.servers.b]\nunix = true")
	own := write(t, "[mcp.servers.a]\noff = false\nread = [\"x\"]")
	got, err := config.Load(machine, own)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]*config.MCPServer{"a": {Ports: []uint16{}, Read: []string{"x"}}, "b": {Unix: true}}
	if diff := cmp.Diff(want, got.MCP.Servers); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLoadWithoutFiles(t *testing.T) {
	got, err := config.Load()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(config.Default(), got, values); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLoadFileReadsNothingElse(t *testing.T) {
	got, err := config.LoadFile(write(t, "exclude = [\"x\"]"))
	if err != nil || len(got.Files) != 1 || len(got.Exclude) != 1 {
		t.Errorf("got %+v, %v", got, err)
	}
	below := write(t, "limits.opens = 7")
	got, err = config.LoadFile(write(t, "exclude = [\"x\"]"), below, filepath.Join(t.TempDir(), "nothing.toml"))
	if err != nil || len(got.Files) != 2 || len(got.Exclude) != 1 || got.Limits.Opens != 7 {
		t.Errorf("over another: %+v, %v", got, err)
	}
	if got, err = config.LoadFile(below, below); err != nil || len(got.Files) != 1 {
		t.Errorf("over itself: %+v, %v", got, err)
	}
	_, err = config.LoadFile(filepath.Join(t.TempDir(), "nothing.toml"), below)
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "--config") {
		t.Errorf("a missing file: %v", err)
	}
}

func TestLoadErrors(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct{ name, file, want string }{
		{"what is in it", write(t, "x = 1"), "plugin.toml:1:1: unknown key x"},
		{"a directory", t.TempDir(), "not a regular file"},
		{"a FIFO", fifo, "not a regular file"},
		{"a large file", write(t, strings.Repeat("#\n", 1<<20)), "more than 1MiB"},
		{"not UTF-8", write(t, "# \xff"), "not UTF-8"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for _, load := range []func() (*config.Config, error){
				func() (*config.Config, error) { return config.Load(test.file) },
				func() (*config.Config, error) { return config.LoadFile(test.file) },
			} {
				if c, err := load(); c != nil || err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("got %v, want %q", err, test.want)
				}
			}
		})
	}
}
