package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"waymark/agentapi/status"
	"waymark/test/e2e"
	"waymark/test/process"
)

// agentID is the agent's name with the hub.
const agentID = "broken"

// world is a workspace, and a home for an agent and a hub.
type world struct {
	*setup
	t    *testing.T
	ctx  context.Context
	home e2e.Home
	root string

	hub *e2e.Hub
	// url and token lead to the hub, or to what stands before it.
	url, token string
	// restarts are, for each start of an agent, how many pushes had been stored
	// by then. Some of the agent before may be under way still.
	restarts []int
}

// patientRuns configures runs that don't fail where a machine stands still for a
// moment: what it takes to get over that isn't the point here.
const patientRuns = "[limits]\ntime = \"1m\"\n"

// newWorld makes a world without a hub.
func newWorld(t *testing.T) *world {
	t.Helper()
	s := ready(t)
	dir, err := os.MkdirTemp(s.dir, "")
	if err != nil {
		t.Fatal(err)
	}
	home, err := e2e.NewHome(dir)
	if err == nil {
		// Changes are noticed or they aren't: nothing is found by the clock.
		err = home.Configure("[watch]\nrecheck = \"1h\"\n" + patientRuns)
	}
	if err != nil {
		t.Fatal(err)
	}
	// More than any test takes, and less than go test waits.
	ctx, cancel := context.WithTimeout(t.Context(), 5*timeout)
	t.Cleanup(cancel)
	w := &world{setup: s, t: t, ctx: ctx, home: home, root: filepath.Join(dir, "w")}
	if err := os.Mkdir(w.root, 0o700); err != nil {
		t.Fatal(err)
	}
	return w
}

// withHub starts a hub in this process.
func (w *world) withHub() *world {
	w.t.Helper()
	var err error
	if w.hub, err = e2e.StartHub(w.ctx, w.home.Dir, nil); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if err := w.hub.Close(); err != nil {
			w.t.Error(err)
		}
	})
	w.url = w.hub.URL
	if w.token, err = w.hub.Token(w.ctx, agentID); err != nil {
		w.t.Fatal(err)
	}
	return w
}

// start starts an agent that looks into the root and the sources.
func (w *world) start(sources ...string) *e2e.Agent {
	w.t.Helper()
	return w.startWith(e2e.AgentOptions{Sources: sources})
}

func (w *world) startWith(opts e2e.AgentOptions) *e2e.Agent {
	w.t.Helper()
	opts.Program, opts.Home, opts.Root, opts.URL, opts.TokenFile = w.programs.Agent, w.home, w.root, w.url, w.token
	if w.hub != nil {
		list, _ := w.hub.Stored.All()
		w.restarts = append(w.restarts, len(list))
	}
	agent, err := e2e.StartAgent(w.ctx, opts)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		agent.Kill()
		if w.t.Failed() {
			w.t.Logf("the agent said: %.20000s", agent.Output())
		}
	})
	return agent
}

// stop ends an agent well.
func (w *world) stop(agent *e2e.Agent) time.Duration {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, timeout)
	defer cancel()
	took, err := agent.Stop(ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	return took
}

// run runs a command of the agent and returns what it prints.
func (w *world) run(home e2e.Home, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(w.ctx, timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, w.programs.Agent, args...)
	cmd.Env, cmd.Dir = home.Environ(), home.Dir
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = errors.Join(err, errors.New(string(exit.Stderr)))
	}
	return out, err
}

// await asks `agent status` until it says what it should.
func (w *world) await(what string, ok func(*status.Status) bool) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, timeout)
	defer cancel()
	var out []byte
	var err error
	for {
		if out, err = w.run(w.home, "status", "--json"); err == nil {
			var s status.Status
			if err := json.Unmarshal(out, &s); err != nil {
				w.t.Fatalf("%v: %s", err, out)
			}
			if ok(&s) {
				return
			}
		}
		if process.Pause(ctx, 30*time.Millisecond) != nil {
			w.t.Fatalf("status never says %s: %v\n%s", what, err, out)
		}
	}
}

// put writes a file, with the directories on the way.
func (w *world) put(path, text string) {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// fresh writes a file where random edits may have left anything.
func (w *world) fresh(path, text string) {
	w.t.Helper()
	w.must(os.RemoveAll(path))
	w.put(path, text)
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}
