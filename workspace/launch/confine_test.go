//go:build linux

package launch_test

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"waymark/internal/reexec"
	"waymark/test/testenv"
	"waymark/workspace/launch"
)

// system are the places that programs need to run, this test's own included.
var system = resolved("/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/proc", os.Args[0])

func resolved(paths ...string) []string {
	var list []string
	for _, path := range paths {
		if path, err := filepath.EvalSymlinks(path); err == nil && filepath.IsAbs(path) {
			list = append(list, path)
		}
	}
	return list
}

func TestProfile(t *testing.T) {
	supported(t)
	var core unix.Rlimit // what the program finds, but for the profile
	if err := unix.Getrlimit(unix.RLIMIT_CORE, &core); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{Cur: core.Max, Max: core.Max}); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Setrlimit(unix.RLIMIT_CORE, &core) }()
	d := dir(t)
	write(t, d+"/read/file", "r")
	write(t, d+"/write/file", "w")
	write(t, d+"/hidden/file", "h")
	p := &launch.Profile{Name: "test", Read: append([]string{d + "/read", d + "/none", d + "/read/file/none"}, system...), Write: []string{d + "/write", "/dev/null"}, List: []string{d}}
	got, err := run(t, &launch.Spec{Dir: d, Env: os.Environ(), Profile: p}, `
		cat read/file write/file hidden/file
		for f in read/file read/new write/file write/new hidden/file hidden/new; do echo x >$f && echo "can write $f"; done 2>/dev/null
		ls hidden; grep -E 'Cap(Bnd|Eff|Prm|Amb|Inh)|NoNewPrivs' /proc/self/status; ulimit -c`)
	if err != nil {
		t.Fatal(err, got)
	}
	got = strings.NewReplacer("/bin/sh: ", "", "\t", " ").Replace(got)
	none := "0000000000000000\n"
	want := "rwcat: hidden/file: Permission denied\ncan write write/file\ncan write write/new\nfile\n"
	if os.Geteuid() == 0 { // others keep a bounding set of no use
		want += "CapInh: " + none + "CapPrm: " + none + "CapEff: " + none + "CapBnd: " + none + "CapAmb: " + none + "NoNewPrivs: 1\n0\n"
	}
	if !strings.HasPrefix(got, want) {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// The capabilities that root can keep are what people administer with, and no way
// out.
func TestCapabilities(t *testing.T) {
	supported(t)
	testenv.NeedsRoot(t, "keep capabilities")
	d := dir(t)
	write(t, d+"/file", "")
	agent := strconv.Itoa(os.Getpid())
	for want, kept := range map[string][]string{"ok": launch.CapabilityNames(), "no": nil} {
		p := &launch.Profile{Name: "test", Read: system, Write: []string{d, "/dev"}, Capabilities: kept}
		expect(t, p, map[string][]op{want: {{"chown", d + "/file", "65534"}}})
		expect(t, p, map[string][]op{"no": {
			{"mknod", d + "/disk"}, {"mount", d, "/mnt"}, {"ptrace", agent}, {"read", "/proc/" + agent + "/environ"}, {"read", "/proc/" + agent + "/mem"},
			{"write", "/proc/sys/kernel/core_pattern"}, {"write", "/proc/self/oom_score_adj"},
		}})
		if err := os.Chown(d+"/file", 0, 0); err != nil {
			t.Fatal(err)
		}
	}
}

// What other processes of the same user have in memory and in their environment
// isn't for a confined program, /proc though it has.
func TestOtherProcesses(t *testing.T) {
	supported(t)
	asUsers(t, func(t *testing.T) {
		h, places := home(t)
		sleeper := exec.CommandContext(t.Context(), "sleep", "1000")
		sleeper.Env = []string{"SECRET=x"}
		sleeper.Dir = h + "/.ssh"
		if err := sleeper.Start(); err != nil {
			t.Fatal(err)
		}
		pid := strconv.Itoa(sleeper.Process.Pid)
		defer func() { _, _ = sleeper.Process.Kill(), sleeper.Wait() }()
		for _, profile := range []func(launch.Places) (*launch.Profile, error){launch.HideSecrets, planless} {
			p, err := profile(places)
			if err != nil {
				t.Fatal(err)
			}
			expect(t, p, map[string][]op{
				"no": {
					{"read", "/proc/" + pid + "/environ"}, {"read", "/proc/" + pid + "/mem"}, {"read", "/proc/" + pid + "/maps"}, {"ptrace", pid}, {"kill", pid},
					{"read", "/proc/" + pid + "/cwd/id_ed25519"}, {"read", "/proc/" + pid + "/root/etc/passwd"},
				},
				"ok": {{"read", "/proc/" + pid + "/stat"}},
			})
		}
	})
}

func TestNoUnix(t *testing.T) {
	supported(t)
	d := dir(t)
	stream, err := net.Listen("unix", d+"/stream")
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	abstract, err := net.Listen("unix", "@waymark-test-"+filepath.Base(d)+strconv.Itoa(os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	defer abstract.Close()
	datagram, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: d + "/datagram", Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer datagram.Close()
	tries := []op{
		{"unix", d + "/stream"}, {"unix", abstract.Addr().String()}, {"datagram", d + "/datagram"}, {"uring"}, {"pair", strconv.Itoa(unix.SOCK_DGRAM)}, {"pair", strconv.Itoa(unix.SOCK_RAW)},
	}
	p := &launch.Profile{Name: "test", Read: system, Write: []string{d}}
	for i, result := range try(t, p, tries...) {
		if result != "" && (tries[i][0] != "uring" || result == unix.EACCES.Error()) { // a ring takes a kernel that has them switched on
			t.Errorf("where Unix sockets aren't cut, %s: %s", tries[i], result)
		}
	}
	p.NoUnix = true
	expect(t, p, map[string][]op{
		"no": tries,
		"ok": {{"pair", strconv.Itoa(unix.SOCK_STREAM)}, {"pair", strconv.Itoa(unix.SOCK_SEQPACKET)}, {"pair", strconv.Itoa(unix.SOCK_STREAM | unix.SOCK_NONBLOCK)}},
	})
}

func TestTCP(t *testing.T) {
	supported(t)
	var addresses, ports []string
	for range 2 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		_, port, _ := net.SplitHostPort(l.Addr().String())
		addresses, ports = append(addresses, l.Addr().String()), append(ports, port)
	}
	port, err := strconv.ParseUint(ports[0], 10, 16)
	if err != nil {
		t.Fatal(err)
	}
	all := []op{{"tcp", addresses[0]}, {"tcp", addresses[1]}, {"listen", "127.0.0.1:0"}, {"udp", addresses[0]}}
	p := launch.Profile{Name: "test", Read: system}
	expect(t, &p, map[string][]op{"ok": all})
	p.Ports = []uint16{uint16(port)}
	expect(t, &p, map[string][]op{"ok": {all[0], all[3]}, "no": {all[1], all[2]}, unix.EPROTONOSUPPORT.Error(): {{"mptcp"}}})
	p.Ports = []uint16{}
	expect(t, &p, map[string][]op{"ok": {all[3]}, "no": all[:3]})
	p.Ports, p.NoTCP = nil, true
	expect(t, &p, map[string][]op{"no": append(all, op{"mptcp"}, op{"tcp", "[::1]:1"})})
}

// A confined program that starts others by a shim, under a profile that allows
// everything, gets no more by that. Nor does its shim leave the number of profiles
// unlimited.
func TestNested(t *testing.T) {
	supported(t)
	h, places := home(t)
	p, err := launch.HideSecrets(places)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, p, map[string][]op{
		"=content of other/file": {{"shim", "cat", h + "/other/file"}},
		"no":                     {{"shim", "cat", h + "/.ssh/id_ed25519"}, {"shim", "touch", h + "/new"}},
	})
}

// noLandlock is a role that runs a profile's start with a filter of system calls
// that keeps Landlock away, and says what comes of it.
func noLandlock([]string) int {
	runtime.LockOSThread()
	raw, err := bpf.Assemble([]bpf.Instruction{
		bpf.LoadAbsolute{Off: 0, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.SYS_LANDLOCK_CREATE_RULESET, SkipTrue: 1},
		bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
		bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW},
	})
	if err == nil {
		err = install(raw)
	}
	if err != nil {
		_, _ = os.Stderr.WriteString(err.Error())
		return 1
	}
	return launch.Main(nil)
}

func TestNoLandlock(t *testing.T) {
	supported(t)
	cmd := command(t, &launch.Spec{Argv: []string{"true"}, Profile: &launch.Profile{Name: "test", Write: []string{"/"}}})
	cmd.Cmd.Args[1] = "waymark:no-landlock"
	err := cmd.Start()
	var e *launch.Error
	if !errors.As(err, &e) || !errors.Is(err, launch.ErrUnsupported) || e.Code != launch.CodeNotStarted || !strings.Contains(e.Message, `the profile "test"`) || !strings.Contains(e.Message, "SystemCallFilter=") {
		t.Errorf("where Landlock is kept away: %v", err)
	}
	cmd = command(t, &launch.Spec{Argv: []string{"true"}, Env: os.Environ()})
	cmd.Cmd.Args[1] = "waymark:no-landlock"
	if err := cmd.Run(); err != nil {
		t.Errorf("without a profile: %v", err)
	}
}

// A program in the shim's place that isn't the shim doesn't pass for a start.
func TestNoShim(t *testing.T) {
	for _, file := range []string{"/bin/true", "/bin/cat", "/no/such"} {
		cmd := command(t, &launch.Spec{Argv: []string{"true"}})
		cmd.Cmd.Path, cmd.Cmd.Args = file, []string{file}
		if err := cmd.Start(); err == nil || !strings.Contains(err.Error(), "the program that starts others") {
			t.Errorf("%s as the shim: %v", file, err)
		}
	}
	if _, err := launch.Find(nil); err == nil || !strings.Contains(err.Error(), `"supervisor"`) {
		t.Errorf("without a shim: %v", err)
	}
	if _, err := launch.Find(&reexec.Program{}); err == nil {
		t.Error("a program without the role is taken")
	}
}

// What people have on their machines runs under "secrets".
func TestToolsUnderSecrets(t *testing.T) {
	supported(t)
	d := dir(t)
	places := launch.Places{Home: d + "/home", Own: []string{d + "/state", d + "/config"}, Root: d + "/w"}
	for path, text := range map[string]string{
		"state/key": "key", "w/main.go": "package main\n\nfunc main() { println(\"go\") }\n", "w/go.mod": "module x\n\ngo 1.26\n", "tmp/x": "",
		"home/.config/go/telemetry/mode": "off", // see TestServerPrograms
	} {
		write(t, filepath.Join(d, path), text)
	}
	p, err := launch.HideSecrets(places)
	if err != nil {
		t.Fatal(err)
	}
	cache := filepath.Join(d, "go-build")
	if have, err := exec.Command("go", "env", "GOCACHE").Output(); err == nil {
		cache = strings.TrimSpace(string(have)) // what is there needn't be compiled
	}
	for tool, c := range map[string]struct{ script, want string }{
		"sh":      {`cat ` + d + `/state/key`, "Permission denied"},
		"node":    {`node -e 'const c=require("child_process");console.log(process.memoryUsage().rss>0,c.execSync("echo child").toString())'`, "true child"},
		"python3": {`python3 -c 'import multiprocessing,subprocess,ssl;l=multiprocessing.Lock();print("python",subprocess.check_output(["echo","child"]))'`, "python b'child"},
		"git":     {`git init -q r && cd r && git config user.email a@b && git config user.name a && echo x >f && git add f && git commit -qm first && git log --oneline`, "first"},
		"go":      {`go run .`, "go"},
		"tar":     {`mkdir t && echo x >t/f && tar cf t.tar t && tar xf t.tar && cat t/f`, "x"},
		"script":  {`script -qec 'tty; echo terminal' /dev/null`, "terminal"},
	} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Logf("there is no %s", tool)
			continue
		}
		env := append(os.Environ(), "TMPDIR="+d+"/tmp", "HOME="+places.Home, "XDG_CONFIG_HOME=", "GOCACHE="+cache)
		got, err := run(t, &launch.Spec{Dir: d + "/w", Env: env, Profile: p}, c.script)
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: %v\n%s", tool, err, got)
		}
	}
}

// A terminal that is standard input controls the program's session.
func TestTerminal(t *testing.T) {
	master, slave := terminal(t)
	cmd := command(t, &launch.Spec{Argv: []string{"sh", "-c", "tty; echo typed: $(head -n 1 /dev/tty)"}, Env: os.Environ(), Terminal: true})
	cmd.Cmd.Stdin, cmd.Cmd.Stdout, cmd.Cmd.Stderr = slave, slave, slave
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := master.WriteString("hello\n"); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(cmd.Cmd.Wait(), master.SetReadDeadline(time.Now().Add(time.Minute))); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for buf := make([]byte, 1024); !strings.Contains(out.String(), "typed: hello"); {
		n, err := master.Read(buf)
		out.Write(buf[:n])
		if err != nil {
			t.Fatalf("it printed %q: %v", out.String(), err)
		}
	}
	if !strings.Contains(out.String(), "/dev/pts/") {
		t.Errorf("it printed %q", out.String())
	}
}

// terminal makes a pseudo-terminal.
func terminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Skip("SKIPPED: there are no pseudo-terminals:", err)
	}
	master = os.NewFile(uintptr(fd), "terminal")
	t.Cleanup(func() { _ = master.Close() })
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	slave, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = slave.Close() })
	return master, slave
}

// mounted is a role that mounts what its test says, in a mount namespace of its own,
// and tries to read by all ways then.
func mounted(args []string) int {
	h := args[0]
	places := launch.Places{Home: h, Own: []string{h + "/.local/state/waymark"}, Root: h + "/proj"}
	err := errors.Join(
		unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""),
		unix.Mount(h, h+"-again", "", unix.MS_BIND, ""),
		unix.Mount(h+"/.ssh", h+"/other", "", unix.MS_BIND, ""),
		unix.Mount("proc", h+"/proj", "proc", 0, ""))
	p, profileErr := launch.HideSecrets(places)
	if err := errors.Join(err, profileErr); err != nil {
		_, _ = os.Stdout.WriteString(err.Error())
		return 1
	}
	return report(p, h)
}

// The same directory under two paths is hidden under both, and a second /proc as
// the first.
func TestMountedTwice(t *testing.T) {
	supported(t)
	testenv.NeedsRoot(t, "mount directories")
	h, _ := home(t)
	if err := os.Mkdir(h+"-again", 0o755); err != nil {
		t.Fatal(err)
	}
	cmd, err := self.Command(t.Context(), "mounted", h)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Env = os.Environ()
	cmd.SysProcAttr.Unshareflags = unix.CLONE_NEWNS
	out, err := cmd.CombinedOutput()
	if errors.Is(err, unix.EPERM) {
		t.Skip("SKIPPED: this root can't have a mount namespace")
	}
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	want := []string{
		"no " + h + "/.ssh/id_ed25519", "no " + h + "-again/.ssh/id_ed25519", "no " + h + "/other/id_ed25519", "no " + h + "-again/.local/state/waymark/key",
		"ok " + h + "-again/.gitconfig", "ok " + h + "/.gitconfig", "no " + h + "/proj/self/status",
	}
	if got := strings.Split(strings.TrimSpace(string(out)), "\n"); !slices.Equal(got, want) {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// report prints whether a confined program can read the files of TestMountedTwice.
func report(p *launch.Profile, h string) int {
	program, err := launch.Own("launch")
	if err != nil {
		return 1
	}
	for _, path := range []string{
		h + "/.ssh/id_ed25519", h + "-again/.ssh/id_ed25519", h + "/other/id_ed25519", h + "-again/.local/state/waymark/key",
		h + "-again/.gitconfig", h + "/.gitconfig", h + "/proj/self/status",
	} {
		cmd, err := program.Command(background, &launch.Spec{Argv: []string{"cat", path}, Profile: p, Env: os.Environ()})
		if err != nil {
			_, _ = os.Stdout.WriteString(err.Error())
			return 1
		}
		can := "ok "
		if _, err := cmd.Output(); err != nil {
			can = "no "
		}
		_, _ = os.Stdout.WriteString(can + path + "\n")
	}
	return 0
}
