package vfs_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"waymark/host/vfs"
	"waymark/test/contracts/vfstest"
)

// TestSwaps replaces files and directories by links, and back, while they are
// read by several runs: never a byte of what is outside or protected.
func TestSwaps(t *testing.T) {
	dir := vfstest.Build(t, []string{
		"AGENTS.md = fine", "real/file = fine", "dir/file = fine", ".env = TOKEN", ".mcp.json = TOKEN", ".git/file = TOKEN", "real/sub/file = fine",
	})
	targets := [][2]string{
		{"AGENTS.md", "../out/secret.txt"}, {"AGENTS.md", ".env"}, {"AGENTS.md", ".mcp.json"}, {"AGENTS.md", "real/file"},
		{"AGENTS.md", filepath.Join(filepath.Dir(dir), "out", "secret.txt")},
		{"dir", "../out/dir"}, {"dir", ".git"}, {"dir", "real"}, {"dir", "real/sub"}, {"dir", filepath.Join(filepath.Dir(dir), "out", "dir")},
	}
	root, filter, _ := begin(t, everything(dir))
	var swaps atomic.Int64
	done := make(chan struct{})
	var swapper, readers sync.WaitGroup
	swapper.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
			}
			c := targets[i%len(targets)]
			path, kept := filepath.Join(dir, c[0]), filepath.Join(dir, "kept.txt")
			_ = os.Rename(path, kept)
			_ = os.Symlink(c[1], path)
			swaps.Add(1)
			_ = os.Remove(path)
			_ = os.Rename(kept, path)
		}
	})
	for range 3 {
		readers.Go(func() {
			for i := 0; i < 1500 || swaps.Load() < 300; i++ {
				run := root.Begin(filter, vfs.Limits{})
				for _, name := range []string{"AGENTS.md", "dir/file", "dir/sub/file"} {
					got, _ := direct{run}.Read(name, 0, 100)
					if s := string(got); s != "" && s != "fine" {
						t.Errorf("%s: read %q", name, s)
					}
					if c, _ := run.Content(name); len(c.Data) > 0 && string(c.Data) != string(got) {
						t.Errorf("%s: the guest saw %q, the host %q", name, got, c.Data)
					}
				}
				list, _ := direct{run}.List("dir")
				for _, e := range list {
					if strings.Contains(e.Name, "secret") {
						t.Errorf("listed %v", list)
					}
				}
				root.Check(filter, run.Trace())
				_ = run.Close()
			}
		})
	}
	readers.Wait()
	close(done)
	swapper.Wait()
}

// TestRewrites overwrites a file in place while it is read: what the guest
// saw is one version, or the file is unreadable.
func TestRewrites(t *testing.T) {
	dir := vfstest.Build(t, []string{"f = 30000*a"})
	path := filepath.Join(dir, "f")
	root, filter, _ := begin(t, everything(dir))
	done := make(chan struct{})
	var writer sync.WaitGroup
	writer.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
			}
			next := path + ".new"
			_ = os.WriteFile(next, []byte(strings.Repeat(string(rune('a'+i%26)), 20_000+i%20_000)), 0o644)
			_ = os.Rename(next, path)
		}
	})
	for range 1000 {
		run := root.Begin(filter, vfs.Limits{})
		got, e := direct{run}.Read("f", 0, 100_000)
		if e == "" && (len(got) == 0 || strings.Trim(string(got), string(got[:1])) != "") {
			t.Errorf("a mixture of two versions, %d bytes", len(got))
		}
		if c, err := run.Content("f"); err == nil && string(c.Data) != string(got) {
			t.Error("the host has another version than the guest")
		}
		_ = run.Close()
	}
	close(done)
	writer.Wait()
}
