package main

import (
	"archive/tar"
	"compress/gzip"
	"debug/elf"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"waymark/test/built"
)

// need skips a test, visibly, when a program is missing.
func need(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err == nil {
		return
	}
	if os.Getenv("WAYMARK_REQUIRE_ALL") != "" {
		t.Fatalf("WAYMARK_REQUIRE_ALL is set, and there is no %s", program)
	}
	t.Skipf("there is no %s", program)
}

// runMake runs make in the repository, as if by hand.
func runMake(t *testing.T, args ...string) (string, error) {
	t.Helper()
	need(t, "make")
	// `go test` doesn't see what another process reads, and would repeat its
	// last result when one of these has changed.
	for _, file := range []string{"Makefile", "packaging/dist.sh", "packaging/install-user.sh", "packaging/waymark-agent.service", "packaging/waymark-supervisor@.service"} {
		if _, err := os.Stat("../../" + file); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "make", args...)
	cmd.Dir = "../.."
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		// Those of a make that runs this test.
		return slices.Contains([]string{"MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES"}, name)
	})
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// files lists the regular files below a directory with their permissions.
func files(t *testing.T, dir string) map[string]fs.FileMode {
	t.Helper()
	found := map[string]fs.FileMode{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		found[strings.TrimPrefix(path, dir)] = info.Mode()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// programs makes a directory with what is installed: the test binary as the
// agent, and the others themselves.
func programs(t *testing.T) string {
	t.Helper()
	dir := filepath.Dir(selfAsAgent(t))
	if err := built.Programs(t.Context(), dir, false, "waymark/cmd/hub", "waymark/cmd/harness", "waymark/cmd/supervisor"); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestInstallUser(t *testing.T) {
	bin := programs(t)
	for name, test := range map[string]func(*testing.T, string){"packaged": installPackaged, "home": installHome, "unit": installUnit} {
		t.Run(name, func(t *testing.T) { test(t, bin) })
	}
}

func installPackaged(t *testing.T, bin string) {
	dest := t.TempDir()
	args := []string{"BIN=" + bin, "PREFIX=/opt/waymark", "DESTDIR=" + dest}
	for range 2 { // over an older one, too
		if out, err := runMake(t, append(args, "install-user")...); err != nil {
			t.Fatalf("%v\n%s", err, out)
		} else if !strings.Contains(out, "  systemctl --user enable --now /opt/waymark/share/systemd/user/waymark-agent.service\n") {
			t.Errorf("it doesn't say how to go on:\n%s", out)
		} else {
			checkNamed(t, out, dest)
		}
	}
	want := map[string]fs.FileMode{
		"/opt/waymark/share/systemd/user/waymark-agent.service":       0o644,
		"/opt/waymark/share/systemd/user/waymark-supervisor@.service": 0o644,
		"/opt/waymark/libexec/waymark/supervisor":                     0o755,
	}
	if out, err := exec.CommandContext(t.Context(), dest+"/opt/waymark/libexec/waymark/supervisor", "version").CombinedOutput(); err != nil || !strings.HasPrefix(string(out), "supervisor ") {
		t.Errorf("supervisor doesn't run: %v\n%s", err, out)
	}
	for _, program := range []string{"agent", "hub", "harness"} {
		want["/opt/waymark/bin/"+program] = 0o755
		want["/opt/waymark/share/bash-completion/completions/"+program] = 0o644
		want["/opt/waymark/share/zsh/site-functions/_"+program] = 0o644
		want["/opt/waymark/share/fish/vendor_completions.d/"+program+".fish"] = 0o644
		if out, err := exec.CommandContext(t.Context(), dest+"/opt/waymark/bin/"+program, "--version").CombinedOutput(); err != nil || !strings.HasPrefix(string(out), program+" ") {
			t.Errorf("%s doesn't run: %v\n%s", program, err, out)
		}
	}
	if got := files(t, dest); !maps.Equal(got, want) {
		t.Errorf("installed %v, want %v", got, want)
	}
	for file, line := range map[string]string{
		"share/systemd/user/waymark-agent.service":       `(?m)^ExecStart=/opt/waymark/bin/agent run \$WAYMARK_ARGS$`,
		"share/systemd/user/waymark-supervisor@.service": `(?m)^ExecStart=:/opt/waymark/libexec/waymark/supervisor supervise %f$`,
		"share/bash-completion/completions/agent":        `complete -o default -F __start_agent agent`,
		"share/zsh/site-functions/_agent":                `^#compdef agent\n`,
		"share/fish/vendor_completions.d/agent.fish":     `complete -c agent `,
		"share/fish/vendor_completions.d/hub.fish":       `complete -c hub `,
		"share/zsh/site-functions/_harness":              `^#compdef harness\n`,
	} {
		text, err := os.ReadFile(filepath.Join(dest, "opt/waymark", file))
		if err != nil || !regexp.MustCompile(line).Match(text) {
			t.Errorf("%s has no %s: %v", file, line, err)
		}
	}
	if out, err := runMake(t, append(args, "uninstall-user")...); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if got := files(t, dest); len(got) > 0 {
		t.Errorf("left behind: %v", got)
	}
}

// checkNamed looks for every path that is named in what an installation prints.
func checkNamed(t *testing.T, out, dest string) {
	t.Helper()
	named := regexp.MustCompile(`/opt/waymark[^ \n')]*`).FindAllString(out, -1)
	if len(named) < 6 {
		t.Errorf("%q are named in\n%s", named, out)
	}
	for _, path := range named {
		if _, err := os.Stat(dest + path); err != nil {
			t.Errorf("the output names what isn't there: %v", err)
		}
	}
}

// installHome: where systemd looks for units, the unit has a name.
func installHome(t *testing.T, bin string) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_DATA_HOME", "")
	out, err := runMake(t, "BIN="+bin, "install-user")
	if err != nil || !strings.Contains(out, "systemctl --user enable --now waymark-agent\n") {
		t.Errorf("%v\n%s", err, out)
	}
	if _, err := os.Stat(home + "/.local/share/systemd/user/waymark-agent.service"); err != nil {
		t.Error(err)
	}
	// What is connected is so no longer when the program is gone.
	if out, err := exec.CommandContext(t.Context(), home+"/.local/bin/agent", "connect", "claude").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err = runMake(t, "uninstall-user")
	if err != nil || !strings.Contains(out, home+"/.local/state/waymark ") {
		t.Errorf("it doesn't say what stays: %v\n%s", err, out)
	}
	if _, err := os.Stat(home + "/.claude.json"); !os.IsNotExist(err) {
		t.Errorf("the client is still connected: %v", err)
	}
}

func TestInstallUserRefuses(t *testing.T) {
	dest, bin := t.TempDir(), filepath.Dir(selfAsAgent(t)) // which has no hub
	for _, args := range [][]string{
		{"BIN=" + bin, "PREFIX=relative"},
		{"BIN=" + bin, "PREFIX=/with a blank"},
		{"BIN=" + bin, "PREFIX=/100%"},
		{"BIN=" + bin, "PREFIX=/opt"},
	} {
		out, err := runMake(t, append(args, "DESTDIR="+dest, "install-user")...)
		if err == nil || !strings.Contains(out, "install-user: ") {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
	}
	if got := files(t, dest); len(got) > 0 {
		t.Errorf("left behind: %v", got)
	}
}

// installUnit has systemd check what is installed.
func installUnit(t *testing.T, bin string) {
	need(t, "systemd-analyze")
	prefix := t.TempDir()
	if out, err := runMake(t, "BIN="+bin, "PREFIX="+prefix, "DESTDIR=", "install-user"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	units := prefix + "/share/systemd/user/"
	analyze := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), "systemd-analyze", args...)
		cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+prefix)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	// It only prints what it ignores, like a misspelled key.
	for _, unit := range []string{"waymark-agent.service", "waymark-supervisor@one.service"} {
		if out := analyze("verify", "--user", units+unit); out != "" {
			t.Error(out)
		}
	}
	// The agent's unit restricts it, and leaves it what confines others. What is
	// held by the other unit has no restrictions at all.
	if calls := unitKey(t, units+"waymark-agent.service", "SystemCallFilter"); !strings.Contains(calls, " landlock_restrict_self") || !strings.Contains(calls, " seccomp") {
		t.Errorf("the agent can't confine what it runs: %s", calls)
	}
	restrictions := []string{"NoNewPrivileges", "SystemCallFilter", "RestrictAddressFamilies", "RestrictNamespaces", "RestrictSUIDSGID", "LockPersonality", "UMask"}
	for _, key := range restrictions {
		if unitKey(t, units+"waymark-agent.service", key) == "" {
			t.Errorf("the agent's unit has no %s", key)
		}
		if value := unitKey(t, units+"waymark-supervisor@.service", key); value != "" {
			t.Errorf("what is held is restricted: %s=%s", key, value)
		}
	}
}

// unitKey returns the value of a key of a unit file, "" where it isn't set.
func unitKey(t *testing.T, path, key string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), key+"="); ok {
			return value
		}
	}
	return ""
}

// TestDist: the tarballs of two builds are the same bytes, and an agent of one works.
func TestDist(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles everything as for a release, and links it twice")
	}
	wasm, err := built.Guest(t.Context(), "waymark/plugins/builtin")
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(wasm)
	if err != nil {
		t.Fatal(err)
	}
	// The tree's own may be missing, and isn't to be made while tests run.
	guest := filepath.Join(t.TempDir(), "builtin.wasm")
	if err := os.WriteFile(guest, data, 0o600); err != nil {
		t.Fatal(err)
	}
	platform := "linux/" + runtime.GOARCH
	var sums []string
	for range 2 {
		dir := t.TempDir()
		out, err := runMake(t, "DIST="+dir, "GUEST="+guest, "NATIVE=", "PLATFORMS="+platform, "COMMANDS=agent supervisor", "VERSION=v0-test",
			"SOURCE_DATE_EPOCH=1000000000", "dist")
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		sum, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
		if err != nil {
			t.Fatal(err)
		}
		sums = append(sums, string(sum))
		name := "waymark_v0-test_linux_" + runtime.GOARCH
		checkTarball(t, filepath.Join(dir, name+".tar.gz"), name)
	}
	if sums[0] != sums[1] {
		t.Errorf("not the same bytes:\n%s%s", sums[0], sums[1])
	}
}

// checkTarball looks at what is in a tarball, and whether its agent works.
func checkTarball(t *testing.T, path, name string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var got []string
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, h.Name)
		if h.Uid != 0 || h.Gid != 0 || h.ModTime.Unix() != 1000000000 || h.Mode&0o022 != 0 {
			t.Errorf("%s: %d:%d, %v, mode %o", h.Name, h.Uid, h.Gid, h.ModTime, h.Mode)
		}
		if h.Name != name+"/agent" {
			continue
		}
		agent, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(dir+"/agent", agent, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"agent", "supervisor", "LICENSE", "README.md", "CHANGELOG.md", "plugin.toml", "waymark-agent.service", "waymark-supervisor@.service"} {
		if !slices.Contains(got, name+"/"+want) {
			t.Errorf("%s is not among %v", want, got)
		}
	}
	bin, err := elf.Open(dir + "/agent")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = bin.Close() }()
	if libs, err := bin.ImportedLibraries(); err != nil || len(libs) > 0 {
		t.Errorf("not static: %v, %v", libs, err)
	}
	// It has the resolvers.
	if err := os.WriteFile(dir+"/AGENTS.md", []byte("# Hello\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), dir+"/agent", "resolve", dir)
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_CACHE_HOME="+dir+"/cache", "XDG_STATE_HOME="+dir+"/state", "XDG_CONFIG_HOME="+dir+"/config")
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "AGENTS.md") {
		t.Errorf("%v\n%s", err, out)
	}
}
