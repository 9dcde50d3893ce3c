package config_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"waymark/host/config"
)

// find is FindPaths in an environment of the test's own; without "HOME" in
// it there is no home directory.
func find(vars map[string]string) (*config.Paths, error) {
	return config.FindPaths(config.Environment{
		Getenv: func(name string) string { return vars[name] },
		Home: func() (string, error) {
			if vars["HOME"] == "" {
				return "", errors.New("none")
			}
			return vars["HOME"], nil
		},
	})
}

func TestFindPaths(t *testing.T) {
	shared, home := t.TempDir(), t.TempDir()
	run := home + "/run"
	if err := errors.Join(os.Mkdir(shared+"/run", 0o700), os.Chmod(shared, 0o1777), os.Mkdir(run, 0o700)); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		vars map[string]string
		want string // socket, sockets, state, cache and configuration files
		own  []string
	}{
		{
			"a home directory is enough", map[string]string{"HOME": "/h"},
			" /h/.local/state/waymark/w /h/.local/state/waymark /h/.cache/waymark [/etc/waymark/plugin.toml /h/.config/waymark/plugin.toml]",
			[]string{"/etc/waymark", "/h/.config/waymark", "/h/.local/state/waymark", "/h/.cache/waymark"},
		},
		{
			"XDG", map[string]string{"HOME": home, "XDG_STATE_HOME": "/s", "XDG_CACHE_HOME": "/c", "XDG_CONFIG_HOME": "/f", "XDG_RUNTIME_DIR": run},
			" " + run + "/waymark/w /s/waymark /c/waymark [/etc/waymark/plugin.toml /f/waymark/plugin.toml]",
			[]string{"/etc/waymark", "/f/waymark", "/s/waymark", "/c/waymark", run + "/waymark/w"},
		},
		{
			"relative paths and missing directories are ignored",
			map[string]string{"HOME": "/h", "XDG_STATE_HOME": "s", "XDG_RUNTIME_DIR": run + "/missing"},
			" /h/.local/state/waymark/w /h/.local/state/waymark /h/.cache/waymark [/etc/waymark/plugin.toml /h/.config/waymark/plugin.toml]",
			[]string{"/etc/waymark", "/h/.config/waymark", "/h/.local/state/waymark", "/h/.cache/waymark"},
		},
		{
			"a directory for sockets in which nobody can be kept from renaming them",
			map[string]string{"HOME": "/h", "XDG_RUNTIME_DIR": shared + "/run"},
			" /h/.local/state/waymark/w /h/.local/state/waymark /h/.cache/waymark [/etc/waymark/plugin.toml /h/.config/waymark/plugin.toml]",
			[]string{"/etc/waymark", "/h/.config/waymark", "/h/.local/state/waymark", "/h/.cache/waymark"},
		},
		{
			"the socket's own variable wins, with or without its scheme",
			map[string]string{"HOME": home, "XDG_STATE_HOME": "/s", "XDG_CACHE_HOME": "/c", "XDG_CONFIG_HOME": "/f", "XDG_RUNTIME_DIR": run, "WAYMARK_SOCKET": "unix:/x/../y.sock"},
			"/y.sock " + run + "/waymark/w /s/waymark /c/waymark [/etc/waymark/plugin.toml /f/waymark/plugin.toml]",
			[]string{"/etc/waymark", "/f/waymark", "/s/waymark", "/c/waymark", run + "/waymark/w"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := find(test.vars)
			if err != nil {
				t.Fatal(err)
			}
			if is := fmt.Sprintf("%s %s %s %s %s", got.Socket, got.Sockets, got.State.Path(), got.Cache.Path(), got.ConfigFiles); is != test.want {
				t.Errorf("got  %s\nwant %s", is, test.want)
			}
			if diff := cmp.Diff(test.own, got.Own.Paths()); diff != "" {
				t.Errorf("the registry (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFindPathsErrors(t *testing.T) {
	tests := []struct {
		name string
		vars map[string]string
		want string
	}{
		{"no home", map[string]string{}, "XDG_STATE_HOME"},
		{"no home, no cache", map[string]string{"XDG_STATE_HOME": "/s"}, "XDG_CACHE_HOME"},
		{"a relative socket", map[string]string{"HOME": "/h", "WAYMARK_SOCKET": "x"}, "absolute"},
		{"a long socket", map[string]string{"HOME": "/h", "WAYMARK_SOCKET": "/" + strings.Repeat("h", 103)}, "WAYMARK_SOCKET"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if _, err := find(test.vars); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want a hint at %s", err, test.want)
			}
		})
	}
}

func TestFindPathsOfThisProcess(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", "/s")
	t.Setenv("HOME", "/h")
	got, err := config.FindPaths(config.Environment{})
	if err != nil || got.State.Path() != "/s/waymark" || got.Home != "/h" {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestExpand(t *testing.T) {
	p := &config.Paths{Home: "/h"}
	for in, want := range map[string]string{"~": "/h", "~/a/../b": "/h/b", "/a": "/a", "~other/a": "~other/a", "a/~": "a/~", "": ""} {
		if got, err := p.Expand(in); err != nil || got != want {
			t.Errorf("Expand(%q) = %q, %v; want %q", in, got, err, want)
		}
	}
	if got, err := (&config.Paths{}).Expand("~/a"); err == nil {
		t.Errorf("without a home directory: %q", got)
	}
}

func TestMakePrivate(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, "a", "b")
	for range 2 { // the second time it is there
		if err := config.MakePrivate(dir); err != nil {
			t.Fatal(err)
		}
		checkMode(t, dir)
		checkMode(t, filepath.Dir(dir))
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := config.MakePrivate(dir); err != nil {
		t.Fatal(err)
	}
	checkMode(t, dir)

	file := filepath.Join(base, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := config.MakePrivate(file); err == nil {
		t.Error("a file passes for a directory")
	}
}

func checkMode(t *testing.T, dir string) {
	t.Helper()
	info, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o700 {
		t.Errorf("%s has mode %v", dir, info.Mode())
	}
}
