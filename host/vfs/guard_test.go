package vfs_test

import (
	"errors"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"waymark/host/vfs"
	"waymark/internal/beneath"
	"waymark/test/contracts/vfstest"
)

// TestSecretGuard: the list, in every spelling, less what is granted.
func TestSecretGuard(t *testing.T) {
	top, inGit := beneath.NewBase(".", "/"), beneath.NewBase("home/me/.git/wt", "/home/me/.git/wt")
	inDocker := beneath.NewBase("home/me/.docker", "/home/me/.docker")
	for _, c := range []struct {
		below   beneath.Base
		path    string
		granted []string
		want    string
	}{
		{top, "home/me/.ssh/id_rsa", nil, ".ssh/**"}, {top, "home/me/.SSH/x/y", nil, ".ssh/**"}, {top, "home/me/.ssh", nil, ".ssh/**"},
		{top, "w/ID_RSA", nil, "id_rsa"}, {top, "w/GIT~1/config", nil, ".git/**"}, {top, "w/.env.local", nil, ".env*"},
		{top, "w/.env.local", []string{".env*"}, ""}, {top, "w/.ssh/id_rsa", []string{".ssh/**"}, "id_rsa"},
		{top, "w/.ssh/id_rsa", []string{".ssh/**", "id_rsa"}, ""}, {top, "w/.ssh/id_rsa", []string{vfs.AllSecrets}, ""},
		{top, "w/AGENTS.md", nil, ""}, {top, ".", nil, ""}, {top, "w/.mcp.json", nil, ""},
		{inGit, "file", nil, ""}, {inGit, ".git/config", nil, ".git/**"}, {inDocker, "config.json", nil, ".docker/config.json"},
	} {
		guard, err := vfs.NewSecretGuard(c.granted)
		if err != nil {
			t.Fatal(err)
		}
		if entry, ok := guard.Entry(c.below, c.path); entry.Pattern != c.want || ok != (c.want != "") {
			t.Errorf("%s below %s, %q granted: %q", c.path, c.below.Path(), c.granted, entry.Pattern)
		}
	}
	var pattern *vfs.PatternError
	if _, err := vfs.NewSecretGuard([]string{".enw"}); !errors.As(err, &pattern) {
		t.Errorf("what is no entry: %v", err)
	}
}

// TestSecretLink: by one of its names a file is on the list.
func TestSecretLink(t *testing.T) {
	dir := vfstest.Build(t, []string{"sub/.ssh/key = TOKEN", "notes => sub/.ssh/key", "plain = x", "other => plain", ".mcp.json = x", "config => .mcp.json"})
	root, err := vfs.OpenRoot(dir, vfs.RootOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, c := range []struct {
		name    string
		granted []string
		want    error
	}{
		{"notes", nil, vfs.ErrSecretLink}, {"notes", []string{".env*"}, vfs.ErrSecretLink}, {"notes", []string{".ssh/**"}, nil},
		{"notes", []string{"*"}, nil}, {"other", nil, nil}, {"config", nil, nil},
	} {
		guard, err := vfs.NewSecretGuard(c.granted)
		if err != nil {
			t.Fatal(err)
		}
		var st unix.Stat_t
		if err := unix.Lstat(filepath.Join(dir, c.name), &st); err != nil {
			t.Fatal(err)
		}
		links := root.SecretLinks(guard)
		defer links.Close()
		if err := links.Check(&st); !errors.Is(err, c.want) {
			t.Errorf("%s, %q granted: %v", c.name, c.granted, err)
		}
	}
}
