package config_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"waymark/host/config"
)

func TestWorkspace(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root, link := dir+"/root", dir+"/link"
	if err := errors.Join(os.Mkdir(root, 0o700), os.Symlink("root", link), os.WriteFile(dir+"/file", nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	paths, err := find(map[string]string{"HOME": "/h"})
	if err != nil {
		t.Fatal(err)
	}
	workspace := func(root string) *config.Workspace {
		t.Helper()
		w, err := paths.Workspace(root)
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	// sha256sum of "/".
	want := config.Workspace{ID: "8a5edab28263", Root: "/", Socket: "/h/.local/state/waymark/w/8a5edab28263.sock", State: paths.State.In("w", "8a5edab28263")}
	if got := workspace("/"); *got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := workspace(""); got.ID != config.DefaultWorkspace || got.Root != "" || got.Socket != "/h/.local/state/waymark/w/default.sock" {
		t.Errorf("without a root: %+v", got)
	}
	// One directory has one workspace, by whatever name.
	t.Chdir(root)
	for _, name := range []string{link, ".", link + "/../root/", "../link"} {
		if got := workspace(name); *got != *workspace(root) || got.Root != root {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := workspace(dir); got.ID == workspace(root).ID {
		t.Errorf("two directories have one id: %+v", got)
	}
	if got := workspace("missing/x"); got.Root != root+"/missing/x" {
		t.Errorf("what doesn't exist: %+v", got)
	}
	if w, err := paths.Workspace(dir + "/file/x"); err == nil {
		t.Errorf("below a file: %+v", w)
	}
}

// TestWorkspaceSocket: WAYMARK_SOCKET wins; the path must not be too long.
func TestWorkspaceSocket(t *testing.T) {
	vars := map[string]string{"HOME": "/" + strings.Repeat("h", 100)}
	paths, err := find(vars)
	if err != nil {
		t.Fatal(err)
	}
	if w, err := paths.Workspace("/"); err == nil || !strings.Contains(err.Error(), "set WAYMARK_SOCKET") {
		t.Errorf("%+v, %v", w, err)
	}
	if path, err := paths.HubSocket(); err == nil || !strings.Contains(err.Error(), "set XDG_RUNTIME_DIR") {
		t.Errorf("%s, %v", path, err)
	}
	home := t.TempDir() // where it isn't taken for a directory of everybody's
	vars["WAYMARK_SOCKET"], vars["HOME"], vars["XDG_STATE_HOME"], vars["XDG_RUNTIME_DIR"] = "/a.sock", home, "/"+strings.Repeat("h", 100), home
	if paths, err = find(vars); err != nil {
		t.Fatal(err)
	}
	if w, err := paths.Workspace("/"); err != nil || w.Socket != "/a.sock" {
		t.Errorf("%+v, %v", w, err)
	}
	if path, err := paths.HubSocket(); err != nil || path != vars["XDG_RUNTIME_DIR"]+"/waymark/w/hub.sock" {
		t.Errorf("%s, %v", path, err)
	}
}

func TestWorkspaceStates(t *testing.T) {
	state := t.TempDir()
	paths, err := find(map[string]string{"HOME": "/h", "XDG_STATE_HOME": state})
	if err != nil {
		t.Fatal(err)
	}
	if list, err := paths.WorkspaceStates(); err != nil || len(list) > 0 {
		t.Errorf("before there is one: %v, %v", list, err)
	}
	var want []string
	for _, root := range []string{"/", "", "/x"} {
		w, err := paths.Workspace(root)
		if err == nil {
			err = config.MakePrivate(w.State.Path())
		}
		if err == nil {
			err = os.WriteFile(w.State.Path()+".sock", nil, 0o600) // where there is no directory for sockets
		}
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, w.State.Path())
	}
	slices.Sort(want)
	states, err := paths.WorkspaceStates()
	var list []string
	for _, state := range states {
		list = append(list, state.Path())
	}
	if err != nil || !slices.Equal(list, want) {
		t.Errorf("%v, %v, want %v", list, err, want)
	}
	if err := os.Chmod(filepath.Dir(want[0]), 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(filepath.Dir(want[0]), 0o700) })
	if list, err := paths.WorkspaceStates(); os.Geteuid() != 0 && !errors.Is(err, fs.ErrPermission) {
		t.Errorf("what can't be looked at: %v, %v", list, err)
	}
}
