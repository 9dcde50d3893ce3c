//go:build linux

package launch_test

import (
	"errors"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"waymark/workspace/launch"
)

// serverHome is home with what servers meet: caches, toolchains, a program, and
// directories of its own.
func serverHome(t testing.TB) (h string, p launch.Places, s launch.ServerPlaces) {
	t.Helper()
	h, p = home(t)
	for _, path := range []string{
		".npm/_cacache/x", ".cache/waymark/x", ".cache/mozilla/x", ".nvm/versions/node/bin/x", "go/pkg/mod/x", "go/bin/x", ".cargo/bin/x",
		".local/share/app/x", ".local/share/uv/python/x", ".local/bin/x", ".bash_history", ".bashrc", ".gitconfig", "proj/sub/x", "proj/.git/hooks/x",
		".local/state/waymark/w/1/tmp/x", ".local/state/waymark/w/1/cache/x", ".local/state/waymark/w/2/cache/x", ".config/fish/completions/x", ".config/systemd/user/x",
		".local/share/bash-completion/completions/x", "run/waymark/w/agent.sock.d/x", "tools/one/lib/x",
	} {
		write(t, filepath.Join(h, path), "content of "+path)
	}
	script(t, h+"/tools/one/bin/server", "#!/bin/sh\n")
	// The agent makes it; another user is to look into it.
	own := h + "/.local/state/waymark/w/1"
	return h, p, launch.ServerPlaces{Program: h + "/tools/one/bin/server", Dir: h + "/proj", Cache: own + "/cache", Tmp: own + "/tmp"}
}

func server(t testing.TB, p launch.Places, s launch.ServerPlaces, w launch.Widening) *launch.Profile {
	t.Helper()
	profile, err := launch.Server(p, s, w)
	if err != nil {
		t.Fatal(err)
	}
	// The probe is this test, wherever that lies.
	profile.Read = append(profile.Read, resolved(os.Args[0])...)
	return profile
}

func TestServer(t *testing.T) {
	supported(t)
	asUsers(t, func(t *testing.T) {
		h, places, s := serverHome(t)
		unreadable := below(h, ".ssh/id_ed25519", ".aws/credentials", ".config/gcloud/deep/er/token", ".config/tool/settings", ".netrc", "key.pem", ".env.local", ".NPMRC",
			".docker/config.json", ".cargo/credentials.toml", ".cache/waymark/x", ".cache/mozilla/x", "go/bin/x", ".cargo/bin/x", ".local/share/app/x",
			".local/state/waymark/w/1/control.token", ".local/state/waymark/key", ".local/state/waymark/w/2/cache/x", ".local/state/other/x", ".bash_history", ".bashrc",
			"other/file", "proj/key", "ssh/id_ed25519", "run/waymark/w/agent.sock.d/x")
		readable := below(h, "proj/main.go", "proj/.env", "proj/sub/x", "proj/.git/config", ".npm/_cacache/x", ".cache/x", ".nvm/versions/node/bin/x", "go/pkg/mod/x",
			".cargo/registry/x", ".local/share/uv/python/x", ".gitconfig", "tools/one/lib/x")
		expect(t, server(t, places, s, launch.Widening{}), map[string][]op{
			"no": slices.Concat(ops("read", unreadable...), ops("readPath", unreadable...), ops("write", unreadable...), ops("write", readable...), ops("truncate", readable...),
				ops("remove", readable[0]),
				// What outlives it, and is run by others.
				ops("create", below(h, "proj/.git/hooks/pre-commit", "proj/.vscode", "proj/new", ".config/systemd/user/x.service", ".config/fish/completions/x.fish",
					".local/share/bash-completion/completions/git", ".bash_profile", ".local/bin/new", "new", ".npm/new", ".cache/new", "go/pkg/mod/new")...),
				ops("create", "/tmp/waymark-test-new", "/etc/waymark-test", "/usr/local/bin/waymark-test", "/var/tmp/waymark-test", "/etc/cron.d/waymark-test"),
				ops("read", "/etc/shadow", "/etc/gshadow"), ops("list", "/run", "/var", "/tmp", "/home"),
				[]op{{"symlink", "/tmp", h + "/.config/waymark"}, {"link", h + "/proj/main.go", s.Tmp + "/main.go"}, {"read", "/proc/self/root" + h + "/.netrc"}, {"mknod", s.Tmp + "/disk"}}),
			"ok": slices.Concat(ops("read", readable...), ops("read", "/etc/passwd", "/proc/self/status", "/proc/cpuinfo"), ops("list", "/usr/bin", h+"/proj"),
				ops("create", s.Cache+"/new", s.Tmp+"/new", "/dev/shm/waymark-test-"+strconv.Itoa(os.Getpid())), ops("mkdir", s.Cache+"/dir"), ops("write", "/dev/null", "/dev/ptmx"),
				ops("write", s.Cache+"/x"), []op{{"chmod", s.Cache + "/x"}, {"rename", s.Tmp + "/x", s.Cache + "/y"}}),
		})
	})
}

// A workspace that is the home directory gives no more of it than another one.
func TestServerAtHome(t *testing.T) {
	supported(t)
	h, places, s := serverHome(t)
	places.Root = h
	expect(t, server(t, places, s, launch.Widening{}), map[string][]op{
		"no": slices.Concat(ops("read", below(h, ".ssh/id_ed25519", ".config/tool/settings", ".local/share/app/x", ".local/state/waymark/key", ".bash_history", "go/bin/x", ".netrc")...),
			ops("create", h+"/new", h+"/proj/new")),
		"ok": slices.Concat(ops("read", below(h, "proj/main.go", "other/file", ".local/share/uv/python/x")...), ops("create", s.Cache+"/new")),
	})
}

// What a server reaches beside files.
func TestServerReach(t *testing.T) {
	supported(t)
	asUsers(t, func(t *testing.T) {
		h, places, s := serverHome(t)
		sleeper := exec.CommandContext(t.Context(), "sleep", "1000")
		sleeper.Env = []string{"SECRET=x"}
		if err := sleeper.Start(); err != nil {
			t.Fatal(err)
		}
		pid := strconv.Itoa(sleeper.Process.Pid)
		defer func() { _, _ = sleeper.Process.Kill(), sleeper.Wait() }()
		short, err := os.MkdirTemp("/tmp", "waymark") // sockets have short paths
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = os.RemoveAll(short) }()
		agent, err := net.Listen("unix", short+"/agent.sock")
		if err != nil {
			t.Fatal(err)
		}
		defer agent.Close()
		tcp, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer tcp.Close()
		_, text, _ := net.SplitHostPort(tcp.Addr().String())
		port, err := strconv.ParseUint(text, 10, 16)
		if err != nil {
			t.Fatal(err)
		}
		others := []op{
			{"read", "/proc/" + pid + "/environ"}, {"read", "/proc/" + pid + "/mem"}, {"read", "/proc/" + pid + "/root/etc/passwd"}, {"ptrace", pid}, {"kill", pid},
			{"read", "/proc/" + strconv.Itoa(os.Getpid()) + "/environ"}, {"write", "/proc/sys/kernel/core_pattern"},
		}
		sockets := []op{{"unix", agent.Addr().String()}, {"unix", "/var/run/docker.sock"}, {"unix", "/run/user/0/bus"}, {"uring"}}
		dial, listen := op{"tcp", tcp.Addr().String()}, op{"listen", "127.0.0.1:0"}
		expect(t, server(t, places, s, launch.Widening{}), map[string][]op{
			"no": append(others, sockets...), "ok": {dial, listen, {"pair", strconv.Itoa(unix.SOCK_STREAM)}},
		})
		expect(t, server(t, places, s, launch.Widening{Ports: []uint16{uint16(port)}}), map[string][]op{"no": append(others, listen), "ok": {dial}})
		expect(t, server(t, places, s, launch.Widening{Ports: []uint16{}}), map[string][]op{"no": append(others, dial, listen)})
		// The agent's socket can be dialed then; what it takes to act can't be read.
		expect(t, server(t, places, s, launch.Widening{Unix: true}), map[string][]op{"ok": {sockets[0]}, "no": {{"read", h + "/.local/state/waymark/w/1/control.token"}}})
	})
}

func TestServerWidened(t *testing.T) {
	supported(t)
	h, places, s := serverHome(t)
	write(t, h+"/.local/share/other/x", "")
	wide := launch.Widening{Read: []string{"~/other", h + "/.aws/credentials", h + "/.local/share/app"}, Write: []string{"sub", "new-file", "~/.local/share/other"}}
	profile := server(t, places, s, wide)
	expect(t, profile, map[string][]op{
		"ok": slices.Concat(ops("read", below(h, "other/file", ".aws/credentials", ".local/share/app/x")...), ops("create", h+"/proj/sub/new", h+"/.local/share/other/new")),
		"no": slices.Concat(ops("read", h+"/.aws/config", h+"/.ssh/id_ed25519"), ops("write", h+"/other/file"),
			ops("create", h+"/proj/new", h+"/proj/new-file", h+"/proj/.git/hooks/pre-commit")),
	})
	whole := server(t, places, s, launch.Widening{Write: []string{"."}})
	expect(t, whole, map[string][]op{"ok": ops("create", h+"/proj/.git/hooks/pre-commit", h+"/proj/new"), "no": ops("create", h+"/new")})
	may := strings.Join(profile.May(), "\n")
	for _, want := range []string{
		"may read the workspace " + h + "/proj", "may also read " + h + "/other, " + h + "/.aws/credentials, ", "may also write " + h + "/proj/sub, ", "every address", "may not use Unix sockets",
	} {
		if !strings.Contains(may, want) {
			t.Errorf("it doesn't say %q:\n%s", want, may)
		}
	}
}

func TestServerRefuses(t *testing.T) {
	h, places, s := serverHome(t)
	for link, target := range map[string]string{"proj/data": "../.ssh", "proj/out": "/etc", "proj/in": "sub", "agent": ".local/state"} {
		if err := os.Symlink(target, filepath.Join(h, link)); err != nil {
			t.Fatal(err)
		}
	}
	state := h + "/.local/state/waymark"
	for path, want := range map[string]string{
		"": "isn't an absolute path", "../other": "leads out of it", "data": "in the workspace leads out of it, to " + h + "/.ssh", h + "/proj/out": "in the workspace leads out of it",
		"~/elsewhere/data": "in the workspace leads out of it", state: "the agent's own", state + "/w/1/control.token": "the agent's own", "~": "the agent's own", "/": "the agent's own",
		"~/agent": "the agent's own", "~/.config": "the agent's own " + h + "/.config/waymark", "/etc/waymark/plugin.toml": "the agent's own /etc/waymark",
		"/etc": "the agent's own", h + "/run": "the agent's own", "/proc/sys": "the kernel's", "/sys": "the kernel's", "/dev": "the kernel's",
	} {
		for _, wide := range []launch.Widening{{Read: []string{"sub", path}}, {Write: []string{path}}} {
			if p, err := launch.Server(places, s, wide); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: %v, want %q", path, err, want)
			} else if p != nil {
				t.Errorf("%q: there is a profile", path)
			}
		}
	}
	for _, wide := range []launch.Widening{{Read: []string{"in", "sub/none", "~/other", "/etc/passwd"}}, {Write: []string{"/dev/null", "/dev/fuse"}}} {
		if _, err := launch.Server(places, s, wide); err != nil {
			t.Error(err)
		}
	}
	if p, err := launch.Server(places, s, launch.Widening{Unconfined: true}); p != nil || err != nil || len(p.May()) != 1 || p.Weaknesses() != nil {
		t.Errorf("unconfined: %v, %v", p, err)
	}
	s.Program = "server"
	if _, err := launch.Server(places, s, launch.Widening{}); err == nil {
		t.Error("a program that isn't absolute is taken")
	}
}

func TestServerEnv(t *testing.T) {
	s := launch.ServerPlaces{Dir: "/w", Cache: "/c", Tmp: "/t"}
	base := []string{
		"PATH=/bin", "HOME=/h", "LC_ALL=C", "HTTPS_PROXY=http://p", "SECRET=s", "AWS_PROFILE=a", "CODER_AGENT_TOKEN=x", "WAYMARK_HUB_TOKEN=y", "NOTIFY_SOCKET=z",
		"XDG_CONFIG_HOME=/h/.config", "TMPDIR=/tmp", "broken", "=x",
	}
	env := func(own map[string]string, w launch.Widening) map[string]string {
		list := launch.ServerEnv(base, own, s, w)
		if !slices.IsSorted(list) {
			t.Errorf("it isn't sorted: %q", list)
		}
		got := map[string]string{}
		for _, v := range list {
			name, value, _ := strings.Cut(v, "=")
			if _, twice := got[name]; twice {
				t.Errorf("%s is there twice", name)
			}
			got[name] = value
		}
		return got
	}
	got := env(map[string]string{"OWN": "o", "TMP": "/mine", "CODER_AGENT_URL": "u"}, launch.Widening{Env: []string{"AWS_PROFILE", "CODER_AGENT_TOKEN", "WAYMARK_HUB_TOKEN", "NONE"}})
	want := map[string]string{
		"PATH": "/bin", "HOME": "/h", "LC_ALL": "C", "HTTPS_PROXY": "http://p", "AWS_PROFILE": "a", "OWN": "o", "CODER_AGENT_URL": "u", "PWD": "/w",
		"TMPDIR": "/t", "TMP": "/mine", "TEMP": "/t", "XDG_CACHE_HOME": "/c", "XDG_CONFIG_HOME": "/c/config", "XDG_DATA_HOME": "/c/data", "XDG_STATE_HOME": "/c/state",
		"npm_config_cache": "/c/npm", "npm_config_userconfig": "/c/npmrc", "YARN_CACHE_FOLDER": "/c/yarn", "BUN_INSTALL_CACHE_DIR": "/c/bun",
		"PYTHONPYCACHEPREFIX": "/c/pycache", "NODE_REPL_HISTORY": "/c/node_history",
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
	if got := env(nil, launch.Widening{Env: []string{"XDG_CONFIG_HOME"}})["XDG_CONFIG_HOME"]; got != "/h/.config" {
		t.Errorf("named, XDG_CONFIG_HOME is %q", got)
	}
	if got := env(nil, launch.Widening{Unconfined: true}); got["XDG_CONFIG_HOME"] != "" || got["XDG_CACHE_HOME"] != "/c" || got["SECRET"] != "" {
		t.Errorf("unconfined: %v", got)
	}
}

// What people run as servers runs under the profile, and reads no secret.
func TestServerPrograms(t *testing.T) {
	supported(t)
	d := dir(t)
	for path, text := range map[string]string{
		"state/key": "the key", "w/server.js": "console.log('workspace', require('./lib.js'))", "w/lib.js": "module.exports = 1", "w/x.py": "import json; print(json.dumps([1]))",
		"home/.gitconfig": "[user]\n\tname = Somebody\n",
		// Else the go command leaves a process behind that writes when the test is over.
		"cache/config/go/telemetry/mode": "off",
		"cache/x":                        "", "tmp/x": "",
	} {
		write(t, filepath.Join(d, path), text)
	}
	places := launch.Places{Home: d + "/home", Own: []string{d + "/state", d + "/config"}, Root: d + "/w"}
	pack := npxPackage(t, d)
	for name, c := range map[string]struct {
		program string
		args    []string
		want    string
	}{
		"sh":     {"sh", []string{"-c", "cat " + d + "/state/key; echo $$ >x; echo done"}, "done"},
		"node":   {"node", []string{"server.js"}, "workspace 1"},
		"child":  {"node", []string{"-e", `const c=require("child_process");console.log(process.memoryUsage().rss>0,c.execSync("echo child").toString(),require("os").networkInterfaces()!=null)`}, "true child"},
		"fork":   {"node", []string{"-e", `if(process.send){process.send("forked")}else{require("child_process").fork(process.argv[1]||__filename,{execArgv:["-e","process.send('forked')"]}).on("message",m=>console.log(m))}`}, "forked"},
		"npx":    {"npx", []string{"--offline", "-y", pack}, "packaged in " + d + "/w"},
		"python": {"python3", []string{"-c", `import multiprocessing,subprocess,ssl,asyncio,tempfile;l=multiprocessing.Lock();tempfile.TemporaryFile();asyncio.run(asyncio.sleep(0));print("python",subprocess.check_output(["echo","child"]))`}, "python b'child"},
		"system": {"/usr/bin/python3", []string{"x.py"}, "[1]"},
		"git":    {"git", []string{"init", "-q", d + "/cache/repo"}, ""},
		"status": {"git", []string{"-C", d + "/cache", "config", "--global", "--list"}, "user.name=Somebody"},
		"go":     {"go", []string{"env", "GOCACHE"}, d + "/cache/go-build"},
	} {
		t.Run(name, func(t *testing.T) {
			program, err := exec.LookPath(c.program)
			if foreign := c.program != "sh" && c.program != "git" && c.program != "go"; testing.Short() && foreign {
				t.Skip("needs", c.program)
			}
			if err != nil || pack == "" && name == "npx" {
				t.Skip("SKIPPED: there is no", c.program)
			}
			s := launch.ServerPlaces{Program: program, Path: os.Getenv("PATH"), Dir: d + "/w", Cache: d + "/cache", Tmp: d + "/tmp"}
			profile, err := launch.Server(places, s, launch.Widening{})
			if err != nil {
				t.Fatal(err)
			}
			got, err := run(t, &launch.Spec{Dir: s.Dir, Env: launch.ServerEnv(append(os.Environ(), "HOME="+places.Home), nil, s, launch.Widening{}), Profile: profile, Limits: launch.ServerLimits()},
				quoted(append([]string{program}, c.args...)))
			if err != nil || !strings.Contains(got, c.want) || strings.Contains(got, "the key") {
				t.Errorf("%v:\n%s", err, got)
			}
		})
	}
}

func quoted(argv []string) string {
	for i := range argv {
		argv[i] = "'" + strings.ReplaceAll(argv[i], "'", `'\''`) + "'"
	}
	return strings.Join(argv, " ")
}

// npxPackage makes a package that npx can run without the network; "" where there is
// no npm.
func npxPackage(t *testing.T, d string) string {
	t.Helper()
	write(t, d+"/w/pack/package.json", `{"name":"confined-test","version":"1.0.0","bin":"main.js"}`)
	script(t, d+"/w/pack/main.js", "#!/usr/bin/env node\nconsole.log('packaged in', process.cwd())\n")
	if _, err := exec.LookPath("npx"); err != nil {
		return ""
	}
	return d + "/w/pack"
}

// A script's interpreters are found as env and the kernel find them, with what was
// installed with them.
func TestServerInterpreters(t *testing.T) {
	supported(t)
	h, places, s := serverHome(t)
	write(t, h+"/rt/v1/lib/x", "library")
	write(t, h+"/rt/v1/secret", "not all of a directory that isn't an installation's")
	script(t, h+"/rt/v1/bin/runtime", "#!/bin/sh\ncat "+h+"/rt/v1/lib/x \"$1\"\n")
	script(t, h+"/server.x", "#!/usr/bin/env -S runtime\n")
	if err := errors.Join(os.MkdirAll(h+"/.local/bin", 0o755), os.Symlink("../../server.x", h+"/.local/bin/server")); err != nil {
		t.Fatal(err)
	}
	s.Program, s.Path = h+"/.local/bin/server", "relative:"+h+"/rt/v1/bin:/usr/bin:/bin"
	profile := server(t, places, s, launch.Widening{})
	got, err := run(t, &launch.Spec{Dir: h + "/proj", Env: []string{"PATH=" + s.Path}, Profile: profile}, s.Program)
	if err != nil || got != "library#!/usr/bin/env -S runtime\n" {
		t.Errorf("%v: %q", err, got)
	}
	expect(t, profile, map[string][]op{"ok": ops("read", h+"/server.x", h+"/rt/v1/lib/x"), "no": ops("read", h+"/other/file", h+"/.bashrc", h+"/.local/bin/x")})
	// One that can't be read, one that reads itself, and none at all.
	script(t, h+"/loop", "#!"+h+"/loop\n")
	for _, program := range []string{h + "/none", h + "/loop", h + "/.ssh/id_ed25519", h + "/.local/state/waymark/key"} {
		s.Program = program
		expect(t, server(t, places, s, launch.Widening{}), map[string][]op{"no": ops("read", h+"/other/file", h+"/.local/state/waymark/key", h+"/.aws/credentials")})
	}
}

// What isn't held is said.
func TestWeaknesses(t *testing.T) {
	h, places, s := serverHome(t)
	p, err := launch.Server(places, s, launch.Widening{Ports: []uint16{443}})
	if err != nil {
		t.Fatal(h, err)
	}
	abi, err := launch.Supported()
	list := strings.Join(p.Weaknesses(), "\n")
	switch {
	case err != nil && !strings.Contains(list, err.Error()), abi >= 7 && list != "", err == nil && abi < 6 && list == "":
		t.Errorf("version %d (%v): %q", abi, err, list)
	}
	if may := strings.Join(p.May(), "\n"); !strings.Contains(may, "TCP ports 443 of every address") {
		t.Error(may)
	}
	git := &launch.Profile{Name: "git", Read: []string{"/a"}, NoTCP: true, NoUnix: true, KeepModes: true, Capabilities: []string{"kill"}}
	if got := git.May(); len(got) != 7 || got[0] != "It may read /a." || got[1] != "It may write nothing." {
		t.Errorf("%q", got)
	}
}
