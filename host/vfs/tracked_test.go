package vfs_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"waymark/host/vfs"
	"waymark/test/contracts/vfstest"
)

var trackedTree = []string{"a/AGENTS.md = x", "a/b/AGENTS.md = x", "a/b/c.go = x", "AGENTS.md = x", "ä/" + strings.Repeat("long", 50) + "/AGENTS.md = x"}

func gitIn(t testing.TB, dir string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "core.fsync=none", "-c", "init.templateDir="}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "HOME="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
}

func isAgents(name []byte) bool { return bytes.HasSuffix(name, []byte("/AGENTS.md")) }

// TestTracked: of every form of git's index the wanted names are found, and nothing is read
// again as long as it is the same.
func TestTracked(t *testing.T) {
	t.Parallel()
	for name, how := range map[string][]string{
		"2": nil, "3": {"update-index", "--skip-worktree", "a/b/c.go"}, "4": {"update-index", "--index-version=4"},
		"sha256": {"init", "--object-format=sha256"}, "4 and sha256": {"init", "--object-format=sha256"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := vfstest.Build(t, trackedTree)
			if len(how) > 0 && how[0] == "init" {
				gitIn(t, dir, how...)
			} else {
				gitIn(t, dir, "init", "-q")
			}
			gitIn(t, dir, "add", "-A")
			if strings.HasPrefix(name, "4") {
				gitIn(t, dir, "update-index", "--index-version=4")
			} else if how != nil && how[0] != "init" {
				gitIn(t, dir, how...)
			}
			root := openProjects(t, dir, vfs.RootOptions{})
			found, err := root.Tracked(".", vfs.Tracked{}, isAgents)
			want := []string{"a/AGENTS.md", "a/b/AGENTS.md", "ä/" + strings.Repeat("long", 50) + "/AGENTS.md"}
			if err != nil || !slices.Equal(found.Names, want) {
				t.Errorf("%+v, %v", found, err)
			}
			again, err := root.Tracked(".", found, func([]byte) bool { t.Error("it is read again"); return false })
			if err != nil || !slices.Equal(again.Names, want) {
				t.Errorf("again %+v, %v", again, err)
			}
			gitIn(t, dir, "rm", "-q", "--cached", "a/AGENTS.md")
			if found, err = root.Tracked(".", again, isAgents); err != nil || !slices.Equal(found.Names, want[1:]) {
				t.Errorf("after it changed: %+v, %v", found, err)
			}
		})
	}
}

// TestTrackedNowhere: where there is no repository, or a link stands for one or for its index,
// nothing is tracked, and nothing is wrong.
func TestTrackedNowhere(t *testing.T) {
	t.Parallel()
	dir := vfstest.Build(t, append(slices.Clone(trackedTree), "linked/x = x", "linked/.git -> ../.git", "away/.git = gitdir: ../.git", "pipe/.git |", "none/x = x"))
	gitIn(t, dir, "init", "-q")
	gitIn(t, dir, "add", "-A", "a")
	if err := os.MkdirAll(filepath.Join(dir, "index/.git"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../../.git/index", filepath.Join(dir, "index/.git/index")); err != nil {
		t.Fatal(err)
	}
	root := openProjects(t, dir, vfs.RootOptions{})
	for _, at := range []string{"linked", "away", "pipe", "none", "index", "missing"} {
		if found, err := root.Tracked(at, vfs.Tracked{}, isAgents); err != nil || len(found.Names) > 0 {
			t.Errorf("%s: %+v, %v", at, found, err)
		}
	}
}

// FuzzIndex: whatever an index says, reading it ends.
func FuzzIndex(f *testing.F) {
	for _, version := range []uint32{2, 4} {
		head := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32([]byte("DIRC"), version), 2)
		entry := append(make([]byte, 60), 0, 11)
		f.Add(append(append(append(head, entry...), "a/AGENTS.md\x00"...), make([]byte, 80)...))
	}
	dir := f.TempDir()
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o700); err != nil {
		f.Fatal(err)
	}
	root, err := vfs.OpenRoot(dir, vfs.RootOptions{})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = root.Close() })
	f.Fuzz(func(t *testing.T, index []byte) {
		if err := os.WriteFile(filepath.Join(dir, ".git/index"), index, 0o600); err != nil {
			t.Fatal(err)
		}
		found, err := root.Tracked(".", vfs.Tracked{}, func([]byte) bool { return true })
		if err != nil && len(found.Names) > 0 {
			t.Errorf("%q is an error, and %q", index, found.Names)
		}
	})
}
