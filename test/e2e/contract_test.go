package e2e_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"

	"waymark/agentapi"
	"waymark/agentapi/client"
	"waymark/test/contracts/clienttest"
	"waymark/test/e2e"
	"waymark/test/testenv"
)

// timeout ends a test that hangs; nothing is measured with it.
const timeout = 2 * time.Minute

// TestAgent: the agent does what the contract says, and what the fake does that
// other programs are tested with.
func TestAgent(t *testing.T) {
	dir := testenv.SocketDir(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*timeout)
	defer cancel()
	programs, err := e2e.Build(ctx, dir, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("killed with a desktop", func(t *testing.T) { killedWithDesktop(t, programs.Agent) })
	clienttest.Run(t, clienttest.All(), func(t *testing.T) (client.Client, clienttest.Env) { return start(t, programs.Agent) })
}

// killedWithDesktop: kill -9 of the agent leaves nothing of its desktop running, and the next
// agent starts another.
func killedWithDesktop(t *testing.T, program string) {
	testenv.NeedsPrograms(t, "Xvnc", "openbox")
	c, world := start(t, program)
	e := world.(*env)
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	state, err := c.StartDesktop(ctx)
	if err != nil {
		t.Fatal(err)
	}
	p, err := c.StartProcess(ctx, agentapi.StartProcess{Command: "printenv DISPLAY; test -r $XAUTHORITY && echo readable"})
	if err != nil {
		t.Fatal(err)
	}
	if out, err := c.ProcessOutput(ctx, p.ID, agentapi.OutputOptions{Wait: true}); err != nil || out.Output != state.Display+"\nreadable\n" {
		t.Errorf("a process got %+v, %v", out, err)
	}
	recording := c.StartRecording(ctx, uuid.NewString()) == nil // where there is ffmpeg
	running := func() (n int) {
		files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, file := range files {
			line, _ := os.ReadFile(file)
			env, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "environ"))
			if bytes.Contains(line, []byte(state.Xauthority)) || bytes.Contains(env, []byte("XAUTHORITY="+state.Xauthority)) {
				n++
			}
		}
		return n
	}
	if n := running(); n < 2 || recording && n < 3 {
		t.Errorf("%d programs run", n)
	}
	e.agent.Kill()
	for running() > 0 {
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("%d programs still run", running())
		}
	}
	e.run(t)
	if again, err := c.StartDesktop(ctx); err != nil || !again.Running {
		t.Errorf("started again: %+v, %v", again, err)
	}
}

// env is a workspace with an agent of its own.
type env struct {
	ctx     context.Context
	home    e2e.Home
	program string
	agent   *e2e.Agent
}

// start starts an agent, which ends with the test, and what it holds with it.
func start(t *testing.T, program string) (client.Client, clienttest.Env) {
	t.Helper()
	home, err := e2e.NewHome(testenv.SocketDir(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := home.Configure("[services]\ndesktop = true\n"); err != nil {
		t.Fatal(err)
	}
	e := &env{ctx: context.WithoutCancel(t.Context()), home: home, program: program} // the end outlives the test
	for _, dir := range []string{e.Root(), e.Outside()} {
		e.Mkdir(t, dir)
	}
	e.run(t)
	c := e.WithToken(e.control(t))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(e.ctx, timeout)
		defer cancel()
		if err := c.Stop(ctx); err != nil {
			t.Errorf("stop: %v", err)
		}
		e.agent.Kill() // by now it has nothing to do any more
		if t.Failed() {
			t.Logf("the agent said: %.20000s", e.agent.Output())
		}
	})
	return c, e
}

// run starts the agent and waits until it answers.
func (e *env) run(t testing.TB) {
	t.Helper()
	var err error
	if e.agent, err = e2e.StartAgent(e.ctx, e2e.AgentOptions{Program: e.program, Home: e.home, Root: e.Root()}); err != nil {
		t.Fatal(err)
	}
	agent := e.agent
	ctx, cancel := context.WithTimeout(e.ctx, timeout)
	defer cancel()
	for {
		s, err := agent.Client.Snapshot(ctx, client.SnapshotOptions{Wait: timeout})
		switch {
		case err == nil && s.Version > 0:
			return
		case ctx.Err() != nil:
			agent.Kill()
			t.Fatalf("the agent doesn't answer: %v\n%s", err, agent.Output())
		}
		<-time.After(10 * time.Millisecond)
	}
}

// control returns the control token.
func (e *env) control(t testing.TB) string {
	t.Helper()
	token, err := e.home.ControlToken()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func (e *env) Root() string    { return filepath.Join(e.home.Dir, "w") }
func (e *env) Home() string    { return e.home.User() }
func (e *env) Outside() string { return filepath.Join(e.home.Dir, "elsewhere") }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (e *env) Write(t testing.TB, path, content string) {
	t.Helper()
	e.Mkdir(t, filepath.Dir(path))
	must(t, os.WriteFile(path, []byte(content), 0o600))
}

func (e *env) Mkdir(t testing.TB, path string) {
	t.Helper()
	must(t, os.MkdirAll(path, 0o700))
}

func (e *env) Link(t testing.TB, target, path string) {
	t.Helper()
	e.Mkdir(t, filepath.Dir(path))
	must(t, os.Symlink(target, path))
}

func (e *env) Read(_ testing.TB, path string) string {
	data, _ := os.ReadFile(path) // nothing where there is none
	return string(data)
}

func (e *env) Repository(t testing.TB, dir string) {
	t.Helper()
	e.Write(t, filepath.Join(dir, "a.txt"), "one\ntwo\nthree\n")
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"},
		{"remote", "add", "origin", "https://example.com/r.git"},
		{"add", "a.txt"},
		{"-c", "user.name=A", "-c", "user.email=a@example.com", "commit", "-q", "-m", "first"},
	} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		cmd.Env = append(e.home.Environ(), "GIT_CONFIG_NOSYSTEM=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
}

func (e *env) Change(t testing.TB, dir, name, content string) {
	t.Helper()
	e.Write(t, filepath.Join(dir, name), content)
}

func (e *env) Unmake(t testing.TB, dir string) {
	t.Helper()
	must(t, os.RemoveAll(filepath.Join(dir, ".git")))
}

func (e *env) Restart(t testing.TB) {
	t.Helper()
	e.agent.Kill()
	e.run(t)
}

func (e *env) WithToken(token string) client.Client {
	return client.New(e.home.Socket(), client.Options{Token: token, Retry: 100 * time.Millisecond})
}
