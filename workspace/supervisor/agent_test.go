package supervisor_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"waymark/test/testenv"
	"waymark/workspace/supervisor"
)

// agentTask is what an agent under test does, on its standard input.
type agentTask struct {
	Options supervisor.Options
	Specs   []supervisor.Spec
	// Owned starts the specs as owned ones, and waits for their first output.
	Owned bool
	// Service has it believe that systemd has started it, with systemctl in Path.
	Service bool
	Path    string
	// Early is after how many it says that it has started them; 0 is all.
	Early int
}

// agentMain starts processes, says so, and waits to be killed.
func agentMain([]string) int {
	var task agentTask
	if err := json.NewDecoder(os.Stdin).Decode(&task); err != nil {
		fmt.Fprintln(os.Stdout, err)
		return 1
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c, err := supervisor.Open(ctx, task.Options)
	if err != nil {
		fmt.Fprintln(os.Stdout, err)
		return 1
	}
	var all sync.WaitGroup
	var started atomic.Int64
	for i := range task.Specs {
		all.Go(func() {
			defer func() {
				if started.Add(1) == int64(task.Early) {
					fmt.Fprintln(os.Stdout, "started")
				}
			}()
			if task.Owned {
				o, err := c.StartOwned(ctx, &task.Specs[i])
				if err != nil {
					fmt.Fprintln(os.Stdout, err)
					return
				}
				var b [1]byte
				_, _ = o.Stdout().Read(b[:]) // it has begun
				return
			}
			if _, _, err := c.Start(ctx, &task.Specs[i]); err != nil {
				fmt.Fprintln(os.Stdout, err)
			}
		})
	}
	all.Wait()
	fmt.Fprintln(os.Stdout, "started")
	<-ctx.Done()
	return 0
}

// runAgent starts an agent, which has started everything when it returns.
func runAgent(t *testing.T, task agentTask) *exec.Cmd {
	t.Helper()
	cmd, err := program.Command(context.Background(), "agent")
	if err != nil {
		t.Fatal(err)
	}
	if task.Service {
		cmd.Env = []string{"MANAGERPID=" + strconv.Itoa(os.Getpid()), "PATH=" + task.Path}
	}
	cmd.SysProcAttr = nil // no signal when a thread of the test ends
	task.Options.Logger = nil
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := json.NewEncoder(in).Encode(task); err != nil {
		t.Fatal(err)
	}
	var said string
	if _, err := fmt.Fscanln(out, &said); err != nil || said != "started" {
		t.Fatalf("the agent says %q, %v", said, err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd
}

func killAgent(cmd *exec.Cmd) {
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// TestAgentKilled: 50 processes that write at full speed outlive the agent. The
// next one finds each, with all of its output and its exit code, and starting
// them once more by the same tokens starts nothing.
func TestAgentKilled(t *testing.T) {
	t.Parallel()
	const lines = 20_000
	o := options(t, supervisor.Limits{})
	ran := t.TempDir()
	var specs []supervisor.Spec
	for i := range 50 {
		spec := *sh(fmt.Sprintf(`echo ran >>%s/%d; seq 1 %d; exit %d`, ran, i, lines, i))
		spec.Token, spec.Input = fmt.Sprintf("token %d", i), "input"
		specs = append(specs, spec)
	}
	// It is killed while they write: some are only starting.
	killAgent(runAgent(t, agentTask{Options: o, Specs: specs}))

	c := open(t, o)
	want := ""
	for i := range lines {
		want += fmt.Sprintln(i + 1)
	}
	for i := range specs {
		info, attached, err := c.Start(t.Context(), &specs[i])
		if err != nil || !attached {
			t.Fatalf("start %d: attached %v, %v", i, attached, err)
		}
		if end := wait(t, c, info.ID); code(end) != i || end.Lost != "" {
			t.Errorf("%d ended as %+v", i, end)
		}
		if got := string(output(t, c, info.ID, 0)); got != want {
			t.Errorf("%d wrote %d bytes, not %d", i, len(got), len(want))
		}
		if got, _ := os.ReadFile(fmt.Sprintf("%s/%d", ran, i)); string(got) != "ran\n" {
			t.Errorf("%d ran as often as it says: %q", i, got)
		}
	}
	if all, err := c.List(t.Context()); err != nil || len(all) != len(specs) {
		t.Errorf("%d are listed, %v", len(all), err)
	}
}

// TestAgentKilledEarly: the agent is killed while it starts processes. Whatever
// has become of a start, starting it once more makes it one.
func TestAgentKilledEarly(t *testing.T) {
	t.Parallel()
	o := options(t, supervisor.Limits{})
	ran := t.TempDir()
	var specs []supervisor.Spec
	for i := range 60 {
		spec := *sh(fmt.Sprintf(`echo ran >>%s/%d`, ran, i))
		spec.Token = fmt.Sprint(i)
		specs = append(specs, spec)
	}
	for range testenv.Rounds(1, 3, 50) {
		killAgent(runAgent(t, agentTask{Options: o, Specs: specs, Early: 10}))
	}
	c := open(t, o)
	for i := range specs {
		info, _, err := c.Start(t.Context(), &specs[i])
		if err != nil {
			t.Fatal(err)
		}
		wait(t, c, info.ID)
		if got, _ := os.ReadFile(fmt.Sprintf("%s/%d", ran, i)); string(got) != "ran\n" {
			t.Errorf("%d ran as often as it says: %q", i, got)
		}
	}
}

// TestSupervisorKilled: what it held is told as lost, open calls end, and what it
// left running is ended.
func TestSupervisorKilled(t *testing.T) {
	t.Parallel()
	o := options(t, supervisor.Limits{})
	c := open(t, o)
	first, err := c.Instance(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	spec := sh("echo begun; exec sleep 1000")
	spec.Token, spec.Input = "once", "x"
	quiet := start(t, c, spec)
	done := start(t, c, sh("echo done; exit 7"))
	wait(t, c, done.ID)
	if _, err := c.Read(t.Context(), quiet.ID, 0, 0, patience); err != nil {
		t.Fatal(err)
	}
	waited := make(chan error, 1)
	go func() {
		_, err := c.Wait(t.Context(), quiet.ID)
		waited <- err
	}()
	// The wait is at the other end once a call behind it has been answered.
	if _, err := c.List(t.Context()); err != nil {
		t.Fatal(err)
	}
	killSupervisor(t, o)
	if err := <-waited; err == nil {
		t.Error("a wait that was open ended without an error")
	}
	// The next call starts a new one.
	info := eventually(t, func() (supervisor.Info, bool) {
		i, err := c.Get(t.Context(), quiet.ID)
		return i, err == nil
	})
	if info.Running || info.Lost == "" || info.ExitCode != nil {
		t.Errorf("it is %+v", info)
	}
	if got := string(output(t, c, quiet.ID, 0)); got != "begun\n" {
		t.Errorf("its output is %q", got)
	}
	if end := wait(t, c, done.ID); code(end) != 7 || end.Lost != "" || string(output(t, c, done.ID, 0)) != "done\n" {
		t.Errorf("the one that had ended is %+v", end)
	}
	if second, err := c.Instance(t.Context()); err != nil || second == first {
		t.Errorf("it is still %s, %v", second, err)
	}
	if got, attached, err := c.Start(t.Context(), spec); err != nil || !attached || got.ID != quiet.ID {
		t.Errorf("the same token started %+v, attached %v, %v", got, attached, err)
	}
	gone(t, quiet.PID)
	if diff := cmp.Diff(wait(t, c, quiet.ID).Lost, info.Lost); diff != "" {
		t.Error(diff)
	}
}

// TestOwned: what an agent owns ends with it, detached or not, and nothing else.
func TestOwned(t *testing.T) {
	t.Parallel()
	o := options(t, supervisor.Limits{})
	c := open(t, o)
	pids := t.TempDir()
	other := start(t, c, sh("setsid sleep 1000 >/dev/null 2>&1 </dev/null & echo $! >"+pids+"/other; sleep 1000"))
	cmd := runAgent(t, agentTask{Options: o, Owned: true, Specs: []supervisor.Spec{*sh(
		`trap '' TERM
		(setsid sh -c 'trap "" TERM; echo $$ >` + pids + `/detached; setsid sleep 1000 & echo $! >` + pids + `/deep; sleep 1000' >/dev/null 2>&1 &)
		echo $$ >` + pids + `/shell
		while [ ! -s ` + pids + `/deep ]; do sleep 0.01; done
		echo begun; while :; do sleep 1000; done`)}})
	killAgent(cmd)
	for _, name := range []string{"shell", "detached", "deep"} {
		gone(t, readPID(t, pids+"/"+name))
	}
	if !alive(readPID(t, pids+"/other")) {
		t.Error("another process's child was ended, too")
	}
	if info, err := c.Get(t.Context(), other.ID); err != nil || !info.Running {
		t.Errorf("another process is %+v, %v", info, err)
	}
}

// TestOwnedGivenUp: whoever wants a process of its own and goes away at any time in between, as
// an agent does that is killed while it starts a server again, leaves nothing behind.
func TestOwnedGivenUp(t *testing.T) {
	t.Parallel()
	c := open(t, options(t, supervisor.Limits{}))
	dir := t.TempDir()
	rounds := testenv.Rounds(60, 200, 1000)
	var starting sync.WaitGroup
	for i := range rounds {
		starting.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*time.Millisecond)
			defer cancel()
			spec := sh(fmt.Sprintf("echo $$ >%s/%d; sleep 1000 & exec sleep 1000", dir, i))
			owned, err := c.StartOwned(ctx, spec)
			if err == nil {
				_ = owned.Close()
			}
		})
		if i%8 == 7 {
			starting.Wait()
		}
	}
	starting.Wait()
	left := func() (pids []int) {
		for i := range rounds {
			data, err := os.ReadFile(fmt.Sprintf("%s/%d", dir, i))
			if pid, _ := strconv.Atoi(strings.TrimSpace(string(data))); err == nil && pid > 0 && alive(pid) {
				pids = append(pids, pid)
			}
		}
		return pids
	}
	for begun := time.Now(); len(left()) > 0; time.Sleep(10 * time.Millisecond) {
		if time.Since(begun) > patience/6 {
			t.Fatalf("%v live on", left())
		}
	}
}

// TestOwnedHops: a process that is another one whenever it is looked for, because each starts
// the next and ends, is ended as well.
func TestOwnedHops(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has subreapers")
	}
	t.Parallel()
	c := open(t, options(t, supervisor.Limits{}))
	script := t.TempDir() + "/hop.sh"
	if err := os.WriteFile(script, []byte("sh "+script+" &\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	left := func() (pids []string) {
		all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, path := range all {
			if line, _ := os.ReadFile(path); strings.Contains(string(line), script) {
				pids = append(pids, path)
			}
		}
		return pids
	}
	for range testenv.Rounds(4, 30, 300) {
		owned, err := c.StartOwned(t.Context(), sh("sh "+script+" &"))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond) // so that it has hopped for a while
		if err := owned.Close(); err != nil {
			t.Error(err)
		}
		for range 20 { // one look may miss it, too
			if pids := left(); len(pids) > 0 {
				_ = os.Remove(script) // which ends it
				t.Fatalf("it lives on: %v", pids)
			}
		}
	}
}

// TestOwnedStreams: an owned process has its three streams, and its exit code is
// told.
func TestOwnedStreams(t *testing.T) {
	t.Parallel()
	c := open(t, options(t, supervisor.Limits{}))
	p, err := c.StartOwned(t.Context(), sh("read x; echo out $x; echo err >&2; exit 4"))
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(p.Stdin(), "in")
	out, errs := make([]byte, 100), make([]byte, 100)
	n, _ := p.Stdout().Read(out)
	m, _ := p.Stderr().Read(errs)
	if string(out[:n]) != "out in\n" || string(errs[:m]) != "err\n" {
		t.Errorf("it says %q and %q", out[:n], errs[:m])
	}
	if code, err := p.Wait(t.Context()); err != nil || code != 4 {
		t.Errorf("it ended with %d, %v", code, err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if _, err := c.StartOwned(t.Context(), &supervisor.Spec{Argv: []string{"/nowhere/to/be/found"}, Dir: "/"}); err == nil {
		t.Error("what isn't there has started")
	}
	// One that is closed is ended.
	p, err = c.StartOwned(t.Context(), sh("trap '' TERM; echo $$; while :; do sleep 1000; done"))
	if err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Fscanln(p.Stdout(), &pid); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	gone(t, pid)
	if all, err := c.List(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("owned ones are listed: %v, %v", all, err)
	}
}

// TestOwnedOutlivesSupervisor: the agent's servers go on when the supervisor is
// killed, and end with the agent.
func TestOwnedOutlivesSupervisor(t *testing.T) {
	t.Parallel()
	o := options(t, supervisor.Limits{})
	c := open(t, o)
	p, err := c.StartOwned(t.Context(), sh("echo $$; read x; echo $x; exec sleep 1000"))
	if err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Fscanln(p.Stdout(), &pid); err != nil {
		t.Fatal(err)
	}
	killSupervisor(t, o)
	fmt.Fprintln(p.Stdin(), "still")
	var said string
	if _, err := fmt.Fscanln(p.Stdout(), &said); err != nil || said != "still" {
		t.Errorf("it says %q, %v", said, err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	gone(t, pid)
}

// TestStop ends everything, however it has detached itself.
func TestStop(t *testing.T) {
	t.Parallel()
	o := options(t, supervisor.Limits{Grace: 300 * time.Millisecond})
	c := open(t, o)
	pids := t.TempDir()
	start(t, c, sh(`trap '' TERM; (setsid sh -c 'trap "" TERM; echo $$ >`+pids+`/detached; while :; do sleep 1000; done' &) ; echo $$ >`+pids+`/shell
		while :; do sleep 1000; done`))
	// Its parent has ended, and it has gone into a session of its own.
	ended := []int{readPID(t, pids+"/shell"), readPID(t, pids+"/detached")}
	supervisorPID := runningPID(t, o)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := c.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	for _, pid := range ended {
		goneNow(t, pid)
	}
	gone(t, supervisorPID) // it has closed everything, and is about to be gone
	// The journal says how it ended, and a new one tells.
	all, err := c.List(t.Context())
	if err != nil || len(all) != 1 || code(all[0]) != 128+9 || all[0].Lost != "" {
		t.Errorf("%+v, %v", all, err)
	}
}
