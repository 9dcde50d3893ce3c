package supervisor_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"waymark/agentapi"
	"waymark/test/testenv"
	"waymark/workspace/launch"
	"waymark/workspace/supervisor"
)

// TestSpoolBounds: of much output the first and the newest is kept, and what is
// missing is told by the offset.
func TestSpoolBounds(t *testing.T) {
	t.Parallel()
	limits := supervisor.Limits{Spool: 2 << 20, Head: 256 << 10}
	o := options(t, limits)
	c := open(t, o)
	size := int64(testenv.Rounds(64, 256, 1024)) << 20
	// Each 16 bytes tell where they are.
	info := start(t, c, sh(fmt.Sprintf(`exec awk 'BEGIN{for(i=0;i<%d;i++)printf "%%015d\n",i*16}'`, size/16)))
	// Reading while it writes.
	at, dropped := int64(0), int64(0)
	for {
		p, err := c.Read(t.Context(), info.ID, at, 1<<20, patience)
		if err != nil {
			t.Fatal(err)
		}
		if p.Offset < at || len(p.Data) == 0 && p.Info.Running {
			t.Fatalf("at %d it is %d with %d bytes: %+v", at, p.Offset, len(p.Data), p.Info)
		}
		dropped += p.Offset - at
		checkPlaces(t, p.Offset, p.Data)
		at = p.Offset + int64(len(p.Data))
		if len(p.Data) == 0 {
			break
		}
	}
	end := wait(t, c, info.ID)
	if at != size || end.Length != size || code(end) != 0 {
		t.Errorf("it ended at %d of %d: %+v", at, size, end)
	}
	kept := dirSize(t, filepath.Join(o.Dir, "held", info.ID))
	if kept > limits.Spool+64<<10 || kept < limits.Spool*3/4 {
		t.Errorf("%d bytes are kept, and the limit is %d", kept, limits.Spool)
	}
	if head := pageAt(t, c, info.ID, 0); head.Offset != 0 || int64(len(head.Data)) < limits.Head {
		t.Errorf("the beginning is %d bytes at %d", len(head.Data), head.Offset)
	}
	if p := pageAt(t, c, info.ID, size/2); p.Offset <= size/2 || p.Offset < size-limits.Spool {
		t.Errorf("in the middle it goes on at %d", p.Offset)
	}
	t.Logf("%d MiB, of which %d were dropped before they were read", size>>20, dropped>>20)
}

func checkPlaces(t *testing.T, at int64, data []byte) {
	t.Helper()
	for len(data) > 0 {
		want := fmt.Sprintf("%015d\n", at/16*16)[at%16:]
		n := min(len(want), len(data))
		if string(data[:n]) != want[:n] {
			t.Fatalf("at %d stands %q, not %q", at, data[:n], want[:n])
		}
		data, at = data[n:], at+int64(n)
	}
}

func pageAt(t *testing.T, c supervisor.Client, id string, offset int64) supervisor.Page {
	t.Helper()
	p, err := c.Read(t.Context(), id, offset, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func dirSize(t *testing.T, dir string) (size int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return size
}

// TestSpoolsBounds: all output together is bounded; the first of each process
// stays while something else can go.
func TestSpoolsBounds(t *testing.T) {
	t.Parallel()
	limits := supervisor.Limits{Spool: 4 << 20, Spools: 8 << 20, Head: 128 << 10}
	o := options(t, limits)
	c := open(t, o)
	var ids []string
	for range 8 {
		ids = append(ids, start(t, c, sh("exec head -c 6000000 /dev/zero")).ID)
	}
	for _, id := range ids {
		if end := wait(t, c, id); end.Length != 6_000_000 || code(end) != 0 {
			t.Errorf("%+v", end)
		}
		if p := pageAt(t, c, id, 0); p.Offset != 0 {
			t.Errorf("the first output is gone: it begins at %d", p.Offset)
		}
	}
	if kept := dirSize(t, filepath.Join(o.Dir, "held")); kept > limits.Spools+64<<10 {
		t.Errorf("%d bytes are kept, and the limit is %d", kept, limits.Spools)
	}
}

// TestOutput is about output that isn't lines of text, and ends in odd ways.
func TestOutput(t *testing.T) {
	t.Parallel()
	c := open(t, options(t, supervisor.Limits{WaitDelay: 300 * time.Millisecond}))
	bad := []byte("\xff\xfe\x00\x80\xf0\x9f")
	for name, test := range map[string]struct {
		command string
		want    []byte
		code    int
	}{
		"nothing":       {"true", nil, 0},
		"invalid UTF-8": {`printf '\377\376\000\200\360\237'`, bad, 0},
		"odd arguments": {"printf %s '\xff\x80'", []byte("\xff\x80"), 0},
		"a long line":   {`head -c 10485760 /dev/zero | tr '\0' x`, bytes.Repeat([]byte("x"), 10<<20), 0},
		"closed output": {`echo one; exec >&- 2>&-; sleep 0.1; exit 5`, []byte("one\n"), 5},
		"killed":        {`echo one; kill -9 $$`, []byte("one\n"), 137},
		"no newline":    {`printf end`, []byte("end"), 0},
		"not found":     {`/nowhere/x 2>/dev/null`, nil, 127},
	} {
		t.Run(name, func(t *testing.T) {
			info := start(t, c, sh(test.command))
			if end := wait(t, c, info.ID); code(end) != test.code {
				t.Errorf("it ended as %+v", end)
			}
			if got := output(t, c, info.ID, 0); !bytes.Equal(got, test.want) {
				t.Errorf("it wrote %d bytes, not %d", len(got), len(test.want))
			}
		})
	}
}

// TestDetached: what a process leaves behind lives on, may write without dying of
// it, and delays the process's end only for a while.
func TestDetached(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := open(t, options(t, supervisor.Limits{WaitDelay: 200 * time.Millisecond}))
	info := start(t, c, sh(`setsid sh -c 'echo $$ >`+dir+`/pid
		i=0; while [ ! -e `+dir+`/go ] && [ $((i+=1)) -lt 60000 ]; do sleep 0.01; done; echo late; echo $? >`+dir+`/wrote; exec sleep 1000' & echo out`))
	end := wait(t, c, info.ID)
	if code(end) != 0 || end.Length != 4 {
		t.Errorf("%+v", end)
	}
	if err := os.WriteFile(dir+"/go", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if status := readPID(t, dir+"/wrote"); status != 0 {
		t.Errorf("writing fails with %d", status)
	}
	pid := readPID(t, dir+"/pid")
	if !alive(pid) {
		t.Error("what it left behind has ended")
	}
	// What is written after the end is kept.
	for got := ""; got != "out\nlate\n"; got = string(output(t, c, info.ID, 0)) {
		if !strings.HasPrefix("out\nlate\n", got) {
			t.Fatalf("the output is %q", got)
		}
		time.Sleep(time.Millisecond)
	}
}

// TestLeft: what a command has left in the background is named, gets its signals, and what
// it writes is kept, whether it is still of the session or has left it.
func TestLeft(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells who writes to a pipe")
	}
	t.Parallel()
	c := open(t, options(t, supervisor.Limits{WaitDelay: 100 * time.Millisecond}))
	for name, command := range map[string]string{
		"in the session": `sleep 1000 & echo out`, "detached": `setsid sleep 1000 & echo out; sleep 0.2`, "quiet": `sleep 1000 >/dev/null 2>&1 & echo out`,
	} {
		info := start(t, c, sh(command))
		end := wait(t, c, info.ID)
		if code(end) != 0 || len(end.Left) != 1 || end.Left[0].Command != "sleep 1000" || !alive(end.Left[0].PID) {
			t.Errorf("%s: %+v", name, end)
			continue
		}
		if err := c.Signal(t.Context(), info.ID, syscall.SIGTERM); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for alive(end.Left[0].PID) {
			time.Sleep(time.Millisecond)
		}
		if now, err := c.Get(t.Context(), info.ID); err != nil || len(now.Left) != 0 {
			t.Errorf("%s: afterwards %+v, %v", name, now, err)
		}
		if err := c.Signal(t.Context(), info.ID, syscall.SIGTERM); !errors.Is(err, supervisor.ErrExited) {
			t.Errorf("%s: a signal to nothing: %v", name, err)
		}
	}
	info := start(t, c, sh(`true`))
	if end := wait(t, c, info.ID); len(end.Left) != 0 {
		t.Errorf("it has left %+v", end.Left)
	}
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	c := open(t, options(t, supervisor.Limits{Grace: 100 * time.Millisecond}))
	for command, want := range map[string]int{
		"echo ready; exec sleep 1000":                                  128 + 15,
		"trap '' TERM; echo ready; while :; do sleep 1; done":          128 + 9,
		"trap 'exit 3' TERM; echo ready; while :; do sleep 0.01; done": 3,
	} {
		// On a machine that stands still its time is over before it has a trap.
		for timeout := 200 * time.Millisecond; ; timeout *= 4 {
			spec := sh(command)
			spec.Timeout = timeout
			info := start(t, c, spec)
			end := wait(t, c, info.ID)
			if end.TimedOutMS != timeout.Milliseconds() {
				t.Errorf("%s has timed out after %d ms", command, end.TimedOutMS)
			}
			if !strings.HasPrefix(string(output(t, c, info.ID, 0)), "ready\n") && timeout < patience/4 {
				continue // (a shell may add that its child was terminated)
			}
			// A handler of the shell's may not come to its turn within the grace.
			if code(end) != want && (want != 3 || code(end) != 128+9) {
				t.Errorf("%s ended as %+v", command, end)
			}
			break
		}
	}
}

func TestStdin(t *testing.T) {
	t.Parallel()
	c := open(t, options(t, supervisor.Limits{}))
	spec := sh("cat; echo end")
	spec.Stdin = true
	info := start(t, c, spec)
	text := strings.Repeat("0123456789abcde\n", 200_000) // more than a message, and a pipe
	if err := c.WriteStdin(t.Context(), info.ID, []byte(text), true); err != nil {
		t.Fatal(err)
	}
	wait(t, c, info.ID)
	if got := string(output(t, c, info.ID, 0)); got != text+"end\n" {
		t.Errorf("it wrote %d bytes, not %d", len(got), len(text)+4)
	}
	if err := c.WriteStdin(t.Context(), info.ID, nil, false); !errors.Is(err, supervisor.ErrExited) {
		t.Errorf("to what has ended: %v", err)
	}
	// One that doesn't read holds up nobody but the writer, and not for ever.
	spec = sh("echo begun; exec sleep 1000")
	spec.Stdin = true
	info = start(t, c, spec)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := c.WriteStdin(ctx, info.ID, make([]byte, 1<<20), false); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("to one that doesn't read: %v", err)
	}
	if err := c.Signal(t.Context(), info.ID, syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	info = start(t, c, sh("exec sleep 1000"))
	if err := c.WriteStdin(t.Context(), info.ID, []byte("x"), false); !errors.Is(err, supervisor.ErrNoStdin) {
		t.Errorf("to one without: %v", err)
	}
}

func TestTerminal(t *testing.T) {
	t.Parallel()
	c := open(t, options(t, supervisor.Limits{}))
	spec := sh("stty size; tty >/dev/null && echo tty; read x; echo got $x; trap 'stty size; exit 9' WINCH; while :; do sleep 0.01; done")
	spec.PTY = &agentapi.TerminalSize{Rows: 30, Cols: 100}
	info := start(t, c, spec)
	says := func(want string) {
		t.Helper()
		eventually(t, func() (string, bool) {
			got := string(output(t, c, info.ID, 0))
			return got, strings.Contains(got, want)
		})
	}
	says("30 100\r\ntty\r\n")
	if err := c.WriteStdin(t.Context(), info.ID, []byte("hello\n"), false); err != nil {
		t.Error(err)
	}
	says("got hello\r\n")
	// It may not have its trap yet.
	end := eventually(t, func() (supervisor.Info, bool) {
		for _, cols := range []uint16{99, 120} {
			if err := c.Resize(t.Context(), info.ID, agentapi.TerminalSize{Rows: 40, Cols: cols}); err != nil && !errors.Is(err, supervisor.ErrExited) {
				t.Error(err)
			}
		}
		i, err := c.Get(t.Context(), info.ID)
		return i, err == nil && !i.Running
	})
	if code(end) != 9 {
		t.Errorf("it ended as %+v", end)
	}
	says("40 ")
	// The end of input, as a terminal has it.
	spec = sh("cat; exit 6")
	spec.PTY = &agentapi.TerminalSize{Rows: 30, Cols: 100}
	info = start(t, c, spec)
	if err := c.WriteStdin(t.Context(), info.ID, []byte("x\n"), true); err != nil {
		t.Error(err)
	}
	if end := wait(t, c, info.ID); code(end) != 6 {
		t.Errorf("it ended as %+v", end)
	}
}

// TestStartErrors: what can't be started is an error, and no process.
func TestStartErrors(t *testing.T) {
	t.Parallel()
	c := open(t, options(t, supervisor.Limits{}))
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("#!/nowhere/x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		spec supervisor.Spec
		is   error
	}{
		"no argv":     {supervisor.Spec{Dir: "/"}, nil},
		"relative":    {supervisor.Spec{Argv: []string{"sh"}, Dir: "x"}, nil},
		"NUL":         {supervisor.Spec{Argv: []string{"sh", "a\x00b"}, Dir: "/"}, nil},
		"bad id":      {supervisor.Spec{Argv: []string{"sh"}, Dir: "/", ID: "../x"}, nil},
		"not there":   {supervisor.Spec{Argv: []string{"no-such-program"}, Dir: "/", Token: "t"}, fs.ErrNotExist},
		"no dir":      {supervisor.Spec{Argv: []string{"sh"}, Dir: file + "x"}, fs.ErrNotExist},
		"file as dir": {supervisor.Spec{Argv: []string{"sh"}, Dir: file}, syscall.ENOTDIR},
		"no right":    {supervisor.Spec{Argv: []string{file}, Dir: "/"}, fs.ErrPermission},
	} {
		_, _, err := c.Start(t.Context(), &test.spec)
		if err == nil || test.is != nil && test.is != syscall.ENOTDIR && !errors.Is(err, test.is) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if all, err := c.List(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("held are %+v, %v", all, err)
	}
	// The token of one that didn't start is free.
	spec := sh("true")
	spec.Token = "t"
	start(t, c, spec)
}

// TestProcessLimits: a process has the limits of its specification, with and without
// a profile.
func TestProcessLimits(t *testing.T) {
	t.Parallel()
	c := open(t, options(t, supervisor.Limits{}))
	spec := sh("ulimit -n; ulimit -f")
	spec.Limits = map[string]uint64{"nofile": 77, "fsize": 4096}
	profiles := []*launch.Profile{nil}
	if _, err := launch.Supported(); err == nil {
		profiles = append(profiles, &launch.Profile{Name: "test", Read: []string{"/"}})
	}
	for _, spec.Profile = range profiles {
		p, err := c.StartOwned(t.Context(), spec)
		if err != nil {
			t.Fatal(err)
		}
		out, err := io.ReadAll(p.Stdout())
		if string(out) != "77\n8\n" || err != nil {
			t.Errorf("with %+v it says %q, %v", spec.Profile, out, err)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
	spec.Limits = map[string]uint64{"none": 1}
	if _, err := c.StartOwned(t.Context(), spec); err == nil || !strings.Contains(err.Error(), `no limit "none"`) {
		t.Errorf("with a limit that isn't there: %v", err)
	}
}

// TestProfile: a process with a profile is held to it.
func TestProfile(t *testing.T) {
	t.Parallel()
	if _, err := launch.Supported(); err != nil {
		t.Skip(err)
	}
	c := open(t, options(t, supervisor.Limits{}))
	dir := t.TempDir()
	spec := sh("echo no >" + dir + "/file; echo $?; nice; cat /proc/self/oom_score_adj")
	spec.Profile = &launch.Profile{Name: "test", Read: []string{"/"}}
	spec.Nice, spec.OOMScore = 3, 400
	info := start(t, c, spec)
	if end := wait(t, c, info.ID); code(end) != 0 {
		t.Errorf("%+v", end)
	}
	got := string(output(t, c, info.ID, 0))
	if _, err := os.Stat(dir + "/file"); err == nil || strings.Contains(got, "\n0\n") || !strings.HasSuffix(got, fmt.Sprintf("\n%d\n400\n", niceness(t, spec.Nice))) {
		t.Errorf("it wrote: %v\n%s", err, got)
	}
	spec.Argv = []string{"no-such-program"}
	spec.Env = []string{"PATH=/usr/bin:/bin"} // and not of directories that can't be looked into
	if _, _, err := c.Start(t.Context(), spec); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what isn't there: %v", err)
	}
	// An owned one, too.
	spec = sh("echo no >" + dir + "/file; exec echo end")
	spec.Profile = &launch.Profile{Name: "test", Read: []string{"/"}}
	p, err := c.StartOwned(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	said, _ := io.ReadAll(p.Stdout())
	if _, err := os.Stat(dir + "/file"); err == nil || string(said) != "end\n" {
		t.Errorf("it says %q, %v", said, err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// niceness is what is added to the tests' own, which may be nice themselves.
func niceness(t *testing.T, added int) int {
	t.Helper()
	own, err := syscall.Getpriority(syscall.PRIO_PROCESS, 0)
	if err != nil {
		t.Fatal(err)
	}
	return min(20-own+added, 19) // as Linux says it
}

func TestPriority(t *testing.T) {
	t.Parallel()
	c := open(t, options(t, supervisor.Limits{}))
	spec := sh("exec sleep 1000")
	spec.Nice, spec.OOMScore = 5, 300
	info := start(t, c, spec)
	if nice, err := syscall.Getpriority(syscall.PRIO_PROCESS, info.PID); err != nil || runtime.GOOS == "linux" && 20-nice != niceness(t, spec.Nice) {
		t.Errorf("nice is %d, %v", 20-nice, err)
	}
	if runtime.GOOS == "linux" {
		if score, err := os.ReadFile(fmt.Sprintf("/proc/%d/oom_score_adj", info.PID)); err != nil || string(score) != "300\n" {
			t.Errorf("the score is %s, %v", score, err)
		}
	}
}

// TestSignals: a process begins with the signals as they are by default, held and
// owned: one for which SIGPIPE is ignored goes on writing to nobody.
func TestSignals(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("there is no /proc")
	}
	c := open(t, options(t, supervisor.Limits{}))
	spec := sh("exec grep -E 'Sig(Ign|Blk)' /proc/self/status")
	check := func(text string) {
		t.Helper()
		for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
			set, err := strconv.ParseUint(strings.Fields(line)[1], 16, 64)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGPIPE, syscall.SIGTERM, syscall.SIGCHLD} {
				if set&(1<<(s-1)) != 0 {
					t.Errorf("%v: %s", s, line)
				}
			}
		}
	}
	info := start(t, c, spec)
	wait(t, c, info.ID)
	check(string(output(t, c, info.ID, 0)))
	p, err := c.StartOwned(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(p.Stdout())
	check(string(text))
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// TestTokens: the same token is the same start.
func TestTokens(t *testing.T) {
	t.Parallel()
	c := open(t, options(t, supervisor.Limits{}))
	if _, found, _, age, err := c.Token(t.Context(), "a"); found || err != nil || age <= 0 {
		t.Errorf("found %v, age %v, %v", found, age, err)
	}
	ran := filepath.Join(t.TempDir(), "ran")
	spec := sh("echo x >>" + ran)
	spec.Token, spec.Input, spec.Chat = "a", "digest", uuid.New()
	var all sync.WaitGroup
	var mu sync.Mutex
	ids, fresh := map[string]bool{}, 0
	for range 50 {
		all.Go(func() {
			info, attached, err := c.Start(t.Context(), spec)
			mu.Lock()
			defer mu.Unlock()
			if ids[info.ID] = true; err != nil {
				t.Error(err)
			}
			if !attached {
				fresh++
			}
		})
	}
	all.Wait()
	if len(ids) != 1 || fresh != 1 {
		t.Fatalf("%v were started, %d anew", ids, fresh)
	}
	for id := range ids {
		wait(t, c, id)
		if got, found, pending, _, err := c.Token(t.Context(), "a"); got != id || !found || pending || err != nil {
			t.Errorf("the token's is %q, %v, %v, %v", got, found, pending, err)
		}
	}
	if got, err := os.ReadFile(ran); err != nil || string(got) != "x\n" {
		t.Errorf("it ran as %q says, %v", got, err)
	}
	for name, change := range map[string]func(*supervisor.Spec){
		"input": func(s *supervisor.Spec) { s.Input = "other" },
		"chat":  func(s *supervisor.Spec) { s.Chat = uuid.New() },
	} {
		other := *spec
		change(&other)
		if _, _, err := c.Start(t.Context(), &other); !errors.Is(err, supervisor.ErrConflict) {
			t.Errorf("another %s: %v", name, err)
		}
	}
}

// TestTracked is the table of tracked starts.
func TestTracked(t *testing.T) {
	t.Parallel()
	c := open(t, options(t, supervisor.Limits{Receipts: 6, Grace: 100 * time.Millisecond}))
	instance, err := c.Instance(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(time.Hour)
	tracked := func(id, command string) *supervisor.Spec {
		s := sh(command)
		s.ID, s.Tracked = id, &supervisor.Tracked{InstanceID: instance, InputDigest: "d", Deadline: deadline}
		return s
	}
	fails := func(what string, want error, spec *supervisor.Spec) {
		t.Helper()
		if _, _, err := c.Start(t.Context(), spec); !errors.Is(err, want) {
			t.Errorf("%s: %v", what, err)
		}
	}
	one := tracked("one", "exec sleep 1000")
	start(t, c, one)
	if info, attached, err := c.Start(t.Context(), one); err != nil || !attached || info.ID != "one" {
		t.Errorf("again: %+v, %v, %v", info, attached, err)
	}
	other := tracked("one", "true")
	other.Tracked.InputDigest = "e"
	fails("another digest", supervisor.ErrConflict, other)
	other = tracked("two", "true")
	other.Tracked.InstanceID = "x"
	fails("another instance", supervisor.ErrInstance, other)
	other = tracked("two", "true")
	other.Tracked.Deadline = time.Now().Add(-time.Second)
	fails("too late", supervisor.ErrExpired, other)

	t1 := *one.Tracked
	t1.InputDigest = "e"
	if _, _, err := c.Cancel(t.Context(), "one", t1, 0); !errors.Is(err, supervisor.ErrConflict) {
		t.Errorf("cancel with another digest: %v", err)
	}
	fenced, info, err := c.Cancel(t.Context(), "one", *one.Tracked, patience)
	if err != nil || !fenced || info == nil || info.Running || code(*info) != 128+15 {
		t.Errorf("cancel: %v, %+v, %v", fenced, info, err)
	}
	fails("fenced off", supervisor.ErrExpired, one)
	// One that has never been heard of.
	two := tracked("two", "true")
	if fenced, info, err := c.Cancel(t.Context(), "two", *two.Tracked, 0); err != nil || !fenced || info != nil {
		t.Errorf("cancel of nothing: %v, %+v, %v", fenced, info, err)
	}
	fails("fenced off before", supervisor.ErrExpired, two)
	t1 = *two.Tracked
	t1.Deadline = time.Now().Add(-time.Second)
	if _, _, err := c.Cancel(t.Context(), "late", t1, 0); !errors.Is(err, supervisor.ErrExpired) {
		t.Errorf("cancel too late: %v", err)
	}
	for _, id := range []string{"a", "b", "c", "d"} {
		start(t, c, tracked(id, "true"))
	}
	fails("full", supervisor.ErrFull, tracked("e", "true"))
	if _, _, err := c.Cancel(t.Context(), "f", *one.Tracked, 0); !errors.Is(err, supervisor.ErrFull) {
		t.Errorf("cancel when full: %v", err)
	}
}

// TestMany: neither a thousand processes one after the other, nor many at once,
// leave anything behind.
func TestMany(t *testing.T) {
	t.Parallel()
	o := options(t, supervisor.Limits{})
	c := open(t, o)
	one := func() {
		if end := wait(t, c, start(t, c, sh("echo x")).ID); code(end) != 0 || end.Length != 2 {
			t.Errorf("%+v", end)
		}
	}
	for range 50 {
		one()
	}
	pid := runningPID(t, o)
	goroutines := runtime.NumGoroutine()
	fds, rss := resources(t, pid)
	for range testenv.Rounds(100, 1000, 5000) {
		one()
	}
	var all sync.WaitGroup
	for range 200 {
		all.Go(one)
	}
	all.Wait()
	eventually(t, func() (string, bool) {
		after, _ := resources(t, pid)
		return fmt.Sprintf("%d descriptors, %d before", after, fds), after <= fds
	})
	eventually(t, func() (string, bool) { // tests that run beside this one come and go
		return "goroutines", runtime.NumGoroutine() <= goroutines+200
	})
	children, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range children {
		if data, _ := os.ReadFile(file); len(bytes.TrimSpace(data)) > 0 {
			t.Errorf("children are left: %s", data)
		}
	}
	_, after := resources(t, pid)
	t.Logf("%d descriptors, %d KiB resident, %d before", fds, after, rss)
	if after > rss+32<<10 && !testenv.Race {
		t.Errorf("%d KiB are resident, %d before", after, rss)
	}
}

// resources returns the open descriptors of a process, and its memory in KiB.
func resources(t *testing.T, pid int) (fds, rss int) {
	t.Helper()
	names, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Skip(err) // another system
	}
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, line, _ := strings.Cut(string(status), "VmRSS:")
	rss, _ = strconv.Atoi(strings.Fields(line)[0])
	return len(names), rss
}

// TestLimits: when too many are held the oldest ended one goes, unless it is
// young.
func TestLimits(t *testing.T) {
	t.Parallel()
	c := open(t, options(t, supervisor.Limits{Processes: 3}))
	for range 3 {
		wait(t, c, start(t, c, sh("true")).ID)
	}
	if _, _, err := c.Start(t.Context(), sh("true")); !errors.Is(err, supervisor.ErrFull) {
		t.Errorf("beside three young ones: %v", err)
	}
	c = open(t, options(t, supervisor.Limits{Processes: 3, Retention: time.Millisecond}))
	first := start(t, c, sh("true"))
	wait(t, c, first.ID)
	for range 5 {
		eventually(t, func() (string, bool) {
			info, _, err := c.Start(t.Context(), sh("true"))
			if err != nil {
				return err.Error(), false
			}
			wait(t, c, info.ID)
			return "", true
		})
	}
	if _, err := c.Get(t.Context(), first.ID); !errors.Is(err, supervisor.ErrNotFound) {
		t.Errorf("the first one: %v", err)
	}
}

// TestIdle: a supervisor that holds nothing ends, and the next one knows what it
// held.
func TestIdle(t *testing.T) {
	t.Parallel()
	o := options(t, supervisor.Limits{Retention: 40 * time.Millisecond})
	c, err := supervisor.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	info := start(t, c, sh("echo x; exit 2"))
	wait(t, c, info.ID)
	pid := runningPID(t, o)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	gone(t, pid)
	c = open(t, o)
	end, err := c.Get(t.Context(), info.ID)
	if err != nil || code(end) != 2 || end.Lost != "" || string(output(t, c, info.ID, 0)) != "x\n" {
		t.Errorf("%+v, %v", end, err)
	}
	// What is detached is held, too, and looks whether it is.
	o = options(t, supervisor.Limits{Retention: 20 * time.Millisecond})
	if c, err = supervisor.Open(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	pid = runningPID(t, o)
	info = start(t, c, sh(fmt.Sprintf(`setsid sh -c 'i=0; while [ ! -e %s/go ] && [ $((i+=1)) -lt 60000 ]; do sleep 0.01; done; sleep 0.3; kill -0 %d; echo $? >%s/held' </dev/null >/dev/null 2>&1 &`, dir, pid, dir)))
	wait(t, c, info.ID)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/go", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if readPID(t, dir+"/held") != 0 {
		t.Error("it has ended beside what is detached")
	}
	gone(t, pid)
}

// TestOpenAtOnce: many agents that open at once have one supervisor.
func TestOpenAtOnce(t *testing.T) {
	t.Parallel()
	o := options(t, supervisor.Limits{})
	keep := open(t, o)
	if err := keep.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	instances := map[string]int{}
	for range 16 {
		all.Go(func() {
			c, err := supervisor.Open(t.Context(), o)
			if err != nil {
				t.Error(err)
				return
			}
			id, err := c.Instance(t.Context())
			mu.Lock()
			defer mu.Unlock()
			if instances[id]++; err != nil {
				t.Error(err)
			}
			// Not before all have come: one that holds nothing ends.
			t.Cleanup(func() { _ = c.Close() })
		})
	}
	all.Wait()
	if len(instances) != 1 {
		t.Errorf("they have %v", instances)
	}
}

// TestStopped: a supervisor that stands still holds up nobody for longer than they
// want to wait.
func TestStopped(t *testing.T) {
	t.Parallel()
	o := options(t, supervisor.Limits{})
	c := open(t, o)
	info := start(t, c, sh("exec sleep 1000"))
	pid := runningPID(t, o)
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGCONT) }) // before it is told to end
	eventually(t, func() (string, bool) { return "all of its threads stand still", stopped(t, pid) })
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if _, err := c.Get(ctx, info.ID); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("a call: %v", err)
			}
		})
	}
	all.Wait()
	ctx, cancel = context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := supervisor.Open(ctx, o); err == nil || !strings.Contains(err.Error(), "doesn't answer") {
		t.Errorf("open: %v", err)
	}
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if got, err := c.Get(t.Context(), info.ID); err != nil || !got.Running {
		t.Errorf("later it is %+v, %v", got, err)
	}
}

// stopped reports whether no thread of a process runs.
func stopped(t *testing.T, pid int) bool {
	t.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil || len(threads) == 0 {
		t.Skip("there is no /proc")
	}
	for _, thread := range threads {
		stat, err := os.ReadFile(thread)
		_, state, _ := strings.Cut(string(stat), ") ")
		if err == nil && !strings.HasPrefix(state, "T") {
			return false
		}
	}
	return true
}

// TestSocketRemoved: what tidies up temporary directories doesn't cut an agent
// off for good.
func TestSocketRemoved(t *testing.T) {
	t.Parallel()
	o := options(t, supervisor.Limits{Retention: 100 * time.Millisecond})
	c := open(t, o)
	start(t, c, sh("exec sleep 1000"))
	first, err := c.Instance(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Dir(o.Socket)); err != nil {
		t.Fatal(err)
	}
	other, err := supervisor.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	if second, err := other.Instance(t.Context()); err != nil || first != second {
		t.Errorf("it is %s, not %s, %v", second, first, err)
	}
}
