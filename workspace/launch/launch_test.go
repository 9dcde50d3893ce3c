//go:build linux

package launch_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"waymark/internal/reexec"
	"waymark/test/testenv"
	"waymark/workspace/launch"
)

var self *reexec.Program

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "launch" { // as the helper program, for launch.Own
		os.Exit(launch.Main(nil))
	}
	self = reexec.Main(launch.Role(), reexec.Role{Name: "probe", Main: probe},
		reexec.Role{Name: "no-landlock", Main: noLandlock}, reexec.Role{Name: "unit", Main: underUnit}, reexec.Role{Name: "mounted", Main: mounted}, reexec.Role{Name: "find", Main: find})
	testenv.OrdinaryMain()
	os.Exit(m.Run())
}

// command prepares a start by this very program.
func command(t testing.TB, s *launch.Spec) *launch.Command {
	t.Helper()
	program, err := launch.Find(self)
	if err != nil {
		t.Fatal(err)
	}
	cmd, err := program.Command(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return cmd
}

// run starts a shell script and returns all that it prints.
func run(t testing.TB, s *launch.Spec, script string) (output string, err error) {
	t.Helper()
	s.Argv = []string{"/bin/sh", "-c", script}
	cmd := command(t, s)
	var out bytes.Buffer
	cmd.Cmd.Stdout, cmd.Cmd.Stderr = &out, &out
	err = cmd.Run()
	return out.String(), err
}

// dir is a temporary directory by its path without links.
func dir(t testing.TB) string {
	t.Helper()
	path, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// script writes a file that can be executed.
func script(t testing.TB, path, text string) {
	t.Helper()
	write(t, path, text)
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
}

// A program gets what the specification says, and nothing of the starter's.
func TestGets(t *testing.T) {
	d := dir(t)
	t.Setenv("FROM_THE_STARTER", "1")
	umask := 0o27
	s := &launch.Spec{
		Dir: d, Env: []string{"A=one", "B=two words\n", "PATH=/usr/bin:/bin"}, Nice: 3, OOMScore: 321, Umask: &umask,
		Limits: map[string]uint64{"nofile": 77, "core": 0},
	}
	got, err := run(t, s, `echo "$A|$B|$FROM_THE_STARTER|$HOME"; pwd; umask; ulimit -n; ulimit -c; cat /proc/self/oom_score_adj; nice
		read -r pid name state parent group session tty rest </proc/$$/stat; [ $pid = $group ] && [ $pid = $session ] && echo leader $tty`)
	if err != nil {
		t.Fatal(err, got)
	}
	if want := "one|two words\n||\n" + d + "\n0027\n77\n0\n321\n" + niceness(t, s.Nice) + "\nleader 0\n"; got != want {
		t.Errorf("it sees:\n%s\nwant:\n%s", got, want)
	}
}

// niceness is what is added to the tests' own, which may be nice themselves.
func niceness(t testing.TB, added int) string {
	t.Helper()
	own, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(min(20-own+added, 19))
}

// Paths, arguments and variables are bytes, of which not all are UTF-8.
func TestBytes(t *testing.T) {
	supported(t)
	d := dir(t) + "/\xff\xfe"
	write(t, d+"/file", "content")
	if err := os.WriteFile(filepath.Dir(d)+"/\ufffd\ufffd", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, p := range []*launch.Profile{nil, {Name: "test", Read: append([]string{d}, system...)}} {
		cmd := command(t, &launch.Spec{
			Argv: []string{"sh", "-c", `printf %s "$1$V"; cat file; pwd`, "sh", "a\xc3"}, Env: []string{"V=\xe2\x82"}, Dir: d, Profile: p,
		})
		out, err := cmd.Output()
		if want := "a\xc3\xe2\x82content" + d + "\n"; err != nil || string(out) != want {
			t.Errorf("got %q (%v), want %q", out, err, want)
		}
	}
}

// What is given by a PATH, by a relative path, by nothing; and how it is said when
// there is no such program.
func TestFindsPrograms(t *testing.T) {
	d := dir(t)
	script(t, d+"/bin/tool", "#!/bin/sh\necho tool $0 $1\n")
	script(t, d+"/local", "#!/bin/sh\necho local\n")
	script(t, d+"/bin/lost", "#!/no/such/interpreter\n")
	script(t, d+"/bin/text", "no program")
	write(t, d+"/bin/plain", "#!/bin/sh\n")
	script(t, d+"/later/plain", "#!/bin/sh\necho later\n")
	write(t, d+"/bin/closed", "#!/bin/sh\n")
	path := "PATH=:.:relative:" + d + "/bin:" + d + "/later:" + d + "/local"
	for _, c := range []struct {
		argv  []string
		env   string
		want  string // printed
		fails string // part of the message, $D being the directory
		code  int
		errno syscall.Errno
	}{
		{argv: []string{"tool", "x"}, env: path, want: "tool $D/bin/tool x\n"},
		{argv: []string{"./local"}, env: path, want: "local\n"},
		{argv: []string{"plain"}, env: path, want: "later\n"}, // the first one may not be executed
		{argv: []string{"true"}, env: "A=b"},                  // without a PATH
		{argv: []string{"local"}, env: path, fails: "local: there is no such program in :.:relative:$D/bin", code: 127, errno: syscall.ENOENT},
		{argv: []string{"./none"}, env: path, fails: "./none: there is no such program", code: 127, errno: syscall.ENOENT},
		{argv: []string{"./local/none"}, env: path, fails: "./local/none: there is no such program", code: 127, errno: syscall.ENOTDIR},
		{argv: []string{"closed"}, env: path, fails: "closed ($D/bin/closed): permission denied", code: 126, errno: syscall.EACCES},
		{argv: []string{"."}, env: path, fails: ". ($D/later/.): permission denied", code: 126, errno: syscall.EACCES},
		{argv: []string{"text"}, env: path, fails: "text ($D/bin/text): exec format error", code: 126, errno: syscall.ENOEXEC},
		{argv: []string{"lost"}, env: path, fails: "$D/bin/lost: the program that runs it", code: 126, errno: syscall.ENOENT},
		{argv: []string{"true"}, env: "PATH=", fails: "there is no such program in ", code: 127, errno: syscall.ENOENT},
	} {
		cmd := command(t, &launch.Spec{Argv: c.argv, Dir: d, Env: []string{c.env}})
		got, err := cmd.Output()
		here := strings.NewReplacer("$D", d)
		if c.fails == "" {
			if err != nil || string(got) != here.Replace(c.want) {
				t.Errorf("%q prints %q (%v), want %q", c.argv, got, err, here.Replace(c.want))
			}
			continue
		}
		var e *launch.Error
		if !errors.As(err, &e) || !strings.Contains(e.Message, here.Replace(c.fails)) || e.Code != c.code || !errors.Is(err, c.errno) {
			t.Errorf("%q: %v (%+v), want %q, code %d, %v", c.argv, err, e, here.Replace(c.fails), c.code, c.errno)
		}
		if cmd.Cmd.ProcessState == nil {
			t.Errorf("%q hasn't been waited for", c.argv)
		}
	}
}

func TestNoDirectory(t *testing.T) {
	cmd := command(t, &launch.Spec{Argv: []string{"true"}, Dir: "/no/such directory"})
	if err := cmd.Start(); err == nil || !errors.Is(err, fs.ErrNotExist) || err.Error() != "the working directory /no/such directory: no such file or directory" {
		t.Errorf("got %v", err)
	}
}

// What is wrong is found before anything is started.
func TestRefusesSpecifications(t *testing.T) {
	program, err := launch.Find(self)
	if err != nil {
		t.Fatal(err)
	}
	bad := -1
	for _, s := range []*launch.Spec{
		{},
		{Argv: []string{""}},
		{Argv: []string{"a\x00b"}},
		{Argv: []string{"a"}, Env: []string{"A=\x00"}},
		{Argv: []string{"a"}, Dir: "relative"},
		{Argv: []string{"a"}, Dir: "/a\x00"},
		{Argv: []string{"a"}, Nice: 20},
		{Argv: []string{"a"}, OOMScore: -1},
		{Argv: []string{"a"}, Umask: &bad},
		{Argv: []string{"a"}, Limits: map[string]uint64{"vmem": 1}},
	} {
		if _, err := program.Command(t.Context(), s); err == nil || errors.Is(err, launch.ErrUnsupported) {
			t.Errorf("%+v: %v", s, err)
		}
	}
}

// The whole group ends with its context, and with its leader, though others hold the output.
func TestEndsItsGroup(t *testing.T) {
	program, err := launch.Find(self)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cmd, err := program.Command(ctx, &launch.Spec{Argv: []string{"sh", "-c", "sleep 1000 & echo started; wait"}, Env: os.Environ()})
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.Cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := cmd.Cmd.Wait(); err == nil {
		t.Error("a program whose context has ended says that all went well")
	}
	if _, err := out.Read(make([]byte, 1)); err == nil {
		t.Error("the output isn't closed")
	}

	got, err := run(t, &launch.Spec{Env: os.Environ()}, "sleep 1000 & echo $!")
	if err != nil {
		t.Errorf("what is left behind keeps the output open: %v", err)
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(time.Minute); alive(strings.TrimSpace(got)); {
		select {
		case <-tick.C:
		case <-late:
			t.Fatal("what was left behind still runs")
		}
	}
}

// alive reports whether a process is there and hasn't ended.
func alive(pid string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

// Nothing of the shim is seen in the program: it finds what it would have found if it
// had been started at once.
func TestLeavesNoTrace(t *testing.T) {
	const script = `ulimit -a; ulimit -Ha; grep -E "^(Sig(Blk|Ign)|Shd|Cap|NoNewPrivs|Seccomp|Groups|Umask|CoreDumping|THP|Cpus_allowed)" /proc/self/status; ls -l /proc/self/exe | grep -o '/proc.*'; env | sort; cat /proc/self/oom_score_adj`
	env := []string{"A=b", "GODEBUG=x=y", "GOMAXPROCS=1", "PATH=/usr/bin:/bin"}
	direct := exec.CommandContext(t.Context(), "/bin/sh", "-c", script)
	direct.Dir, direct.Env = "/", env
	want, err := direct.Output()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := run(t, &launch.Spec{Env: env}, script); err != nil || got != string(want) {
		t.Errorf("it finds (%v):\n%s\nwant:\n%s", err, got, want)
	}
}

// The program gets no descriptor that it wasn't meant to, not even one that the
// starter was given open.
func TestNoDescriptorLeaks(t *testing.T) {
	file, err := os.Open("/etc/passwd")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	fd, err := unix.FcntlInt(file.Fd(), unix.F_DUPFD, 50) // without close-on-exec
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	got, err := run(t, &launch.Spec{Env: os.Environ()}, "ls /proc/self/fd")
	if want := "0\n1\n2\n3\n"; err != nil || got != want { // 3 is the directory that ls has open
		t.Errorf("it has %q (%v), want %q", got, err, want)
	}
}

// find is a role that finds the shim, whose digest is the first argument, and has it print
// where it is. With a second one another program is put in its place before it starts.
func find(args []string) int {
	if len(args) > 0 {
		launch.HelperDigest = args[0]
	}
	program, err := launch.Find(nil)
	if err != nil {
		fmt.Fprintln(os.Stdout, err)
		return 1
	}
	h, _ := launch.FindHelper()
	if len(args) > 1 {
		other := h.Path + ".new"
		err := os.WriteFile(other, []byte("#!/bin/sh\necho it is another\n"), 0o755)
		if err := errors.Join(err, os.Chmod(other, 0o755), os.Rename(other, h.Path)); err != nil {
			fmt.Fprintln(os.Stdout, err)
			return 1
		}
	}
	cmd, err := program.Command(background, &launch.Spec{Argv: []string{"sh", "-c", "echo it starts"}})
	if err != nil {
		fmt.Fprintln(os.Stdout, err)
		return 1
	}
	out, err := cmd.Output()
	fmt.Fprintln(os.Stdout, h.Path, string(out), err, "replaced:", h.Replaced())
	return 0
}

// The helper program is looked for beside the agent and where packages put it, and is the
// one that was built with the agent. Whoever puts another one in its place is too early or
// too late.
func TestFind(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	digest := hex.EncodeToString(sum[:])
	for _, c := range []struct {
		at   string
		args []string
		want string
	}{
		{"bin/supervisor", nil, "it starts"}, {"libexec/waymark/supervisor", nil, "it starts"}, {"bin/other", nil, "isn't beside this one"},
		{"bin/supervisor", []string{digest}, "it starts\n <nil> replaced: false"}, {"bin/supervisor", []string{digest, "swap"}, "it starts\n <nil> replaced: true"},
		{"bin/supervisor", []string{strings.Repeat("0", 64)}, "isn't the program that was built with this one"},
	} {
		d := dir(t)
		for _, path := range []string{"bin/agent", c.at} {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(d, path)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Link(exe, filepath.Join(d, path)); err != nil {
				t.Skip("SKIPPED: the test's program lies on another file system:", err)
			}
		}
		cmd := exec.CommandContext(t.Context(), d+"/bin/agent", append([]string{"waymark:find"}, c.args...)...)
		out, err := cmd.CombinedOutput()
		if !strings.Contains(string(out), c.want) || strings.HasPrefix(c.want, "it starts") && !strings.Contains(string(out), filepath.Join(d, c.at)) {
			t.Errorf("%s, %q: %s %v", c.at, c.args, out, err)
		}
	}
}
