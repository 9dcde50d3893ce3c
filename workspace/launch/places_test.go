//go:build linux

package launch_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"waymark/test/testenv"
	"waymark/workspace/launch"
)

// asUsers runs a test as who runs the tests, and if that is root also as root
// without power over files, and as another user.
func asUsers(t *testing.T, f func(t *testing.T)) {
	t.Run("self", f)
	if os.Geteuid() != 0 {
		return
	}
	t.Run("ordinary", func(t *testing.T) { testenv.RunOrdinary(t, f) })
	t.Run("nobody", func(t *testing.T) {
		const nobody = 65534
		exe, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(exe)
		if err != nil {
			t.Fatal(err)
		}
		d := dir(t)
		script(t, d+"/test", string(data))
		for _, path := range []string{d, filepath.Dir(d), d + "/tmp"} {
			if err := os.MkdirAll(path, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(path, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chown(d+"/tmp", nobody, nobody); err != nil {
			t.Fatal(err)
		}
		name, _, _ := strings.Cut(t.Name(), "/")
		cmd := exec.CommandContext(t.Context(), d+"/test", "-test.run=^"+name+"$/^self$", "-test.v")
		cmd.Dir, cmd.Env = d+"/tmp", append(os.Environ(), "TMPDIR="+d+"/tmp", "HOME="+d+"/tmp")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "--- PASS: "+name+"/self") {
			t.Errorf("as another user: %v\n%s", err, out)
		}
	})
}

// home is a home directory with an agent's directories and a workspace.
func home(t testing.TB) (string, launch.Places) {
	t.Helper()
	d := dir(t)
	for _, path := range []string{
		".ssh/id_ed25519", ".aws/credentials", ".config/gcloud/deep/er/token", ".config/tool/settings", ".netrc", "key.pem", ".env.local", ".NPMRC",
		".docker/config.json", ".docker/contexts/x", ".cargo/credentials.toml", ".cargo/registry/x", ".gitconfig", ".cache/x", "proj/main.go", "proj/.env",
		"proj/.git/config", "other/file", ".local/state/waymark/w/1/control.token", ".local/state/waymark/key", ".local/state/other/x", "dotfiles/aws",
	} {
		write(t, filepath.Join(d, "home", path), "content of "+path)
	}
	h := d + "/home"
	for link, target := range map[string]string{".aws/config": "../dotfiles/aws", "ssh": ".ssh", "proj/key": "../.ssh/id_ed25519", "elsewhere": "proj"} {
		if err := os.Symlink(target, filepath.Join(h, link)); err != nil {
			t.Fatal(err)
		}
	}
	return h, launch.Places{
		Home: h, Own: []string{h + "/.local/state/waymark", "/etc/waymark", h + "/.config/waymark", h + "/run/waymark/w"}, Root: h + "/proj",
	}
}

// supported skips a test where programs can't be confined.
func supported(t testing.TB) {
	t.Helper()
	if _, err := launch.Supported(); err != nil {
		if os.Getenv("WAYMARK_REQUIRE_ALL") != "" {
			t.Fatal(err)
		}
		t.Skip("SKIPPED:", err)
	}
}

// ops makes an op of each argument.
func ops(name string, args ...string) []op {
	var list []op
	for _, arg := range args {
		list = append(list, op{name, arg})
	}
	return list
}

// below puts names below a directory.
func below(dir string, names ...string) []string {
	var list []string
	for _, name := range names {
		list = append(list, filepath.Join(dir, name))
	}
	return list
}

func TestHideSecrets(t *testing.T) {
	supported(t)
	asUsers(t, func(t *testing.T) {
		h, places := home(t)
		p, err := launch.HideSecrets(places)
		if err != nil {
			t.Fatal(err)
		}
		hidden := below(h, ".ssh/id_ed25519", ".aws/credentials", ".aws/config", "dotfiles/aws", "ssh/id_ed25519", "proj/key", ".config/gcloud/deep/er/token",
			".netrc", "key.pem", ".env.local", ".NPMRC", ".docker/config.json", ".cargo/credentials.toml",
			".local/state/waymark/w/1/control.token", ".local/state/waymark/key")
		open := below(h, ".config/tool/settings", ".docker/contexts/x", ".cargo/registry/x", ".gitconfig", ".cache/x", "proj/main.go", "proj/.env",
			"proj/.git/config", "other/file", ".local/state/other/x", "elsewhere/main.go")
		inClosed := below(h, "new", ".ssh/new", ".config/new", ".config/waymark", ".local/new", ".local/state/new", ".local/state/waymark/new", ".docker/new", "dotfiles/new")
		inOpen := below(h, "proj/new", "other/new", ".cache/new", ".config/tool/new", ".docker/contexts/new", "proj/.git/new")
		expect(t, p, map[string][]op{
			"no": slices.Concat(ops("read", hidden...), ops("readAt", hidden...), ops("readPath", hidden...), ops("write", hidden...), ops("overwrite", hidden...),
				ops("truncate", hidden...), ops("remove", hidden[0], h+"/.netrc"), ops("create", inClosed...), ops("mkdir", inClosed...),
				[]op{
					{"rename", h + "/.ssh", h + "/proj/ssh"}, {"rename", h + "/.ssh/id_ed25519", h + "/proj/id"}, {"link", h + "/.netrc", h + "/proj/netrc"},
					{"rename", h + "/proj", h + "/.ssh/proj"}, {"rename", h + "/proj/.env", h + "/.ssh/id_ed25519"}, {"rename", h + "/.config", h + "/x"},
					{"link", h + "/.ssh/id_ed25519", h + "/other/id"}, {"mount", h + "/.ssh", h + "/other"}, {"mknod", h + "/other/disk"},
					{"symlink", "/tmp", h + "/.config/waymark"}, {"read", "/proc/self/cwd" + h + "/.netrc"}, {"read", "/proc/self/root" + h + "/.netrc"},
				}),
			"ok": slices.Concat(ops("read", open...), ops("readPath", open...), ops("write", open...), ops("overwrite", open[0]), ops("truncate", open[1]),
				ops("create", inOpen...), ops("mkdir", inOpen...), ops("list", "/", h, h+"/.ssh", h+"/proj"), ops("write", "/dev/null", "/dev/zero"),
				ops("read", "/proc/self/status"), ops("list", "/sys"),
				[]op{
					{"rename", h + "/other/file", h + "/proj/file"}, {"link", h + "/proj/file", h + "/other/again"}, {"symlink", "../.ssh", h + "/other/link"},
					{"create", "/dev/shm/waymark-test-" + strconv.Itoa(os.Getpid())},
				}),
		})
		expect(t, p, map[string][]op{"no": ops("read", h+"/other/link/id_ed25519")})
		// Root could have the kernel run a program; others need this for namespaces.
		if os.Geteuid() == 0 {
			expect(t, p, map[string][]op{"no": ops("write", "/proc/sys/kernel/core_pattern", "/proc/self/comm")})
		} else {
			expect(t, p, map[string][]op{"ok": ops("write", "/proc/self/comm")})
		}
	})
}

// What becomes a secret later isn't one for what runs already, and what was one is
// hidden until the next start.
func TestHideSecretsIsOfTheStart(t *testing.T) {
	supported(t)
	h, places := home(t)
	before, err := launch.HideSecrets(places)
	if err != nil {
		t.Fatal(err)
	}
	write(t, h+"/proj/later", "later")
	write(t, h+"/later", "later")
	write(t, h+"/later.key", "later")
	write(t, h+"/.docker/later", "later")
	expect(t, before, map[string][]op{
		"ok": ops("read", h+"/proj/later"),
		"no": ops("read", h+"/later", h+"/later.key", h+"/.docker/later"), // in directories that are on the way
	})
	after, err := launch.HideSecrets(places)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, after, map[string][]op{"ok": ops("read", h+"/later", h+"/.docker/later"), "no": ops("read", h+"/later.key")})
}

func TestGrantedSecrets(t *testing.T) {
	supported(t)
	h, places := home(t)
	places.Granted = []string{".ssh/**", ".netrc"}
	p, err := launch.HideSecrets(places)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, p, map[string][]op{
		"ok": slices.Concat(ops("read", h+"/.ssh/id_ed25519", h+"/.netrc"), ops("create", h+"/.ssh/new")),
		"no": ops("read", h+"/.aws/credentials", h+"/.local/state/waymark/key"),
	})
}

// A workspace in a place of the secret list was chosen by its owner; one in a
// directory of the agent gives nothing.
func TestRootInHiddenPlace(t *testing.T) {
	supported(t)
	h, places := home(t)
	for root, want := range map[string]string{"/.config/gcloud/deep": "ok", "/.ssh": "ok", "/.local/state/waymark/w": "no"} {
		places.Root = h + root
		p, err := launch.HideSecrets(places)
		if err != nil {
			t.Fatal(err)
		}
		expect(t, p, map[string][]op{want: ops("create", h+root+"/new")})
		expect(t, p, map[string][]op{"no": ops("read", h+"/.aws/credentials", h+"/.local/state/waymark/key")})
	}
}

func TestTmp(t *testing.T) {
	supported(t)
	h, places := home(t)
	write(t, h+"/.local/state/waymark/tmp/x", "")
	places.Tmp = h + "/.local/state/waymark/tmp"
	for _, profile := range []func(launch.Places) (*launch.Profile, error){launch.HideSecrets, planless} {
		p, err := profile(places)
		if err != nil {
			t.Fatal(err)
		}
		expect(t, p, map[string][]op{"ok": ops("create", places.Tmp+"/new"), "no": ops("read", h+"/.local/state/waymark/key")})
	}
	places.Tmp = h // which has secrets in it
	p, err := launch.HideSecrets(places)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, p, map[string][]op{"no": append(ops("read", h+"/.netrc"), ops("create", h+"/new")...)})
}

// planless is the profile of those who plan without a file.
func planless(p launch.Places) (*launch.Profile, error) { return launch.Plan("", p) }

// A plan that hasn't been written can't be made by a program.
func TestPlanNotThere(t *testing.T) {
	supported(t)
	_, places := home(t)
	plan := places.Root + "/none.md"
	p, err := launch.Plan(plan, places)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, p, map[string][]op{"no": ops("create", plan), "ok": ops("list", places.Root)})
}

func TestPlan(t *testing.T) {
	supported(t)
	asUsers(t, func(t *testing.T) {
		h, places := home(t)
		plan, tmp := h+"/proj/plan.md", h+"/tmp"
		write(t, plan, "plan")
		write(t, tmp+"/x", "x")
		places.Tmp = tmp
		p, err := launch.Plan(plan, places)
		if err != nil {
			t.Fatal(err)
		}
		expect(t, p, map[string][]op{
			"ok": slices.Concat(ops("write", plan, "/dev/null"), ops("overwrite", plan), ops("truncate", plan), ops("read", plan, h+"/proj/main.go", h+"/proj/.env", "/etc/passwd"),
				ops("create", tmp+"/new"), ops("list", h, h+"/proj"), []op{{"pair", strconv.Itoa(syscall.SOCK_STREAM)}, {"make", tmp + "/file"}}),
			"no": slices.Concat(ops("write", h+"/proj/main.go", h+"/other/file", h+"/.gitconfig"), ops("truncate", h+"/proj/main.go"), ops("create", h+"/proj/new", h+"/new", "/tmp/new-"+strconv.Itoa(os.Getpid()), "/dev/shm/new"),
				ops("remove", plan, h+"/proj/main.go"), ops("read", h+"/.ssh/id_ed25519", h+"/proj/key", h+"/.local/state/waymark/key"),
				[]op{
					{"rename", tmp + "/x", plan}, {"rename", tmp + "/x", h + "/proj/x"}, {"rename", plan, tmp + "/plan"}, {"rename", h + "/proj/main.go", tmp + "/main.go"},
					{"link", h + "/proj/main.go", tmp + "/main.go"}, {"link", tmp + "/x", h + "/proj/x"}, {"link", plan, h + "/proj/again"}, {"symlink", "/tmp", h + "/proj/s"},
				}),
		})
		// What Landlock doesn't know of: modes and the like, of hidden files too.
		expect(t, p, map[string][]op{"no": append(ops("chmod", plan, h+"/proj/main.go", h+"/.ssh/id_ed25519"), op{"setxattr", plan}, op{"chown", plan, "0"})})
		if os.Geteuid() == 0 && os.Getenv(testenv.OrdinaryEnv) == "" { // who sees what belongs to others
			if err := os.Chown(h+"/proj/main.go", 65534, 65534); err == nil {
				expect(t, p, map[string][]op{"ok": ops("read", h+"/proj/main.go"), "no": ops("write", h+"/proj/main.go")})
			}
		}
		// A link in the private directory leads to what may not be written, too.
		expect(t, p, map[string][]op{"ok": {{"symlink", h + "/proj/main.go", tmp + "/to"}}})
		expect(t, p, map[string][]op{"no": ops("write", tmp+"/to", "/proc/self/root"+h+"/proj/main.go")})

		// Somebody who isn't confined puts a link in the plan's place, or in that of
		// its directory, after the profile was made.
		if err := os.Rename(plan, plan+".old"); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(h+"/.gitconfig", plan); err != nil {
			t.Fatal(err)
		}
		cmd := command(t, &launch.Spec{Argv: []string{"true"}, Env: os.Environ(), Profile: p})
		if err := cmd.Start(); err == nil || !strings.Contains(err.Error(), plan+": a symbolic link is in this path") {
			t.Errorf("with a link in the plan's place: %v", err)
		}
	})
}

func TestPlanRefuses(t *testing.T) {
	h, places := home(t)
	if err := os.Link(h+"/proj/main.go", h+"/proj/again.md"); err != nil {
		t.Fatal(err)
	}
	for plan, want := range map[string]string{
		"plan.md":                          "an absolute path without links",
		h + "/proj/../plan.md":             "an absolute path without links",
		h + "/elsewhere/plan.md":           "an absolute path without links",
		h + "/.ssh/plan.md":                "lies in " + h + "/.ssh, which is hidden",
		h + "/.local/state/waymark/plan":   "which is hidden",
		"/proc/sys/kernel/core_pattern":    "which is hidden",
		"/dev/null":                        "which is hidden",
		h + "/proj":                        "isn't a regular file",
		h + "/proj/again.md":               "has other names",
		h + "/.config/waymark/plugin.toml": "which is hidden",
	} {
		if _, err := launch.Plan(plan, places); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", plan, err, want)
		}
	}
}

func TestPlacesRefused(t *testing.T) {
	for _, places := range []launch.Places{
		{}, {Home: "/h"}, {Own: []string{"/s"}}, {Home: "h", Own: []string{"/s"}}, {Home: "/h", Own: []string{"s"}}, {Home: "/h", Own: []string{"/s", "c"}},
		{Home: "/h/me", Own: []string{"/h"}}, {Home: "/h", Own: []string{"/s", "/"}}, {Home: "/h", Own: []string{"/s"}, Root: "r"}, {Home: "/h", Own: []string{"/s"}, Tmp: "t"},
	} {
		if p, err := launch.HideSecrets(places); err == nil {
			t.Errorf("%+v: %+v", places, p)
		}
	}
}

// The agent's directories can be links, to what is there or isn't: the links are
// protected like what they lead to.
func TestAgentDirectoriesByLinks(t *testing.T) {
	supported(t)
	h, places := home(t)
	for link, target := range map[string]string{".config/waymark": "../dotfiles/waymark", "state": "lib/state", "lib/state": "../var/none"} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(h, link)), 0o700), os.Symlink(target, filepath.Join(h, link))); err != nil {
			t.Fatal(err)
		}
	}
	write(t, h+"/dotfiles/waymark/plugin.toml", "x")
	write(t, h+"/var/x", "x")
	places.Own[0] = h + "/state/waymark"
	p, err := launch.HideSecrets(places)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, p, map[string][]op{"no": slices.Concat(
		ops("remove", h+"/.config/waymark", h+"/lib/state", h+"/state"), ops("read", h+"/.config/waymark/plugin.toml"),
		ops("write", h+"/dotfiles/waymark/plugin.toml"), ops("mkdir", h+"/var/none", h+"/lib/x", h+"/dotfiles/x"))})
}
