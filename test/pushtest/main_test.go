package pushtest_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"

	"waymark/snapshot"
	"waymark/test/e2e"
	"waymark/test/pgtest"
	"waymark/test/pushtest"
	"waymark/wire/coder"
)

// timeout ends a test that hangs; nothing is measured with it.
const timeout = 5 * time.Minute

// common is what the tests of this binary share.
var common struct {
	dir   string
	build func() (e2e.Programs, error)
}

func TestMain(m *testing.M) {
	if os.Getenv(agentsVariable) != "" {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		if err := Serve(ctx, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		stop()
		return
	}
	var err error
	if common.dir, err = os.MkdirTemp("", "wm"); err != nil { // a short path, for sockets
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	common.build = sync.OnceValues(func() (e2e.Programs, error) {
		return e2e.Build(context.Background(), common.dir, false)
	})
	code := m.Run()
	_ = os.RemoveAll(common.dir)
	pgtest.Exit(code)
}

// world is a workspace with a hub.
type world struct {
	t        *testing.T
	ctx      context.Context
	programs e2e.Programs
	dir      string
	root     string
	hub      *e2e.Hub
}

// programs builds this version, once.
func programs(t *testing.T) e2e.Programs {
	t.Helper()
	if testing.Short() {
		t.Skip("it takes long")
	}
	p, err := common.build()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, programs: programs(t)}
	var err error
	if w.dir, err = os.MkdirTemp(common.dir, ""); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	t.Cleanup(cancel)
	w.ctx, w.root = ctx, filepath.Join(w.dir, "w")
	if w.hub, err = e2e.StartHub(ctx, w.dir, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.hub.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// start starts an agent in a home of its own.
func (w *world) start(name string, opts e2e.AgentOptions) *e2e.Agent {
	w.t.Helper()
	var err error
	if opts.Home, err = e2e.NewHome(filepath.Join(w.dir, name)); err == nil {
		err = opts.Home.Configure("[limits]\ntime = \"1m\"\n") // on no machine too slow
	}
	if err != nil {
		w.t.Fatal(err)
	}
	if opts.Program == "" {
		opts.Program = w.programs.Agent
	}
	opts.Root = w.root
	agent, err := e2e.StartAgent(w.ctx, opts)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		agent.Kill()
		if w.t.Failed() {
			w.t.Logf("the agent %s said: …%s", name, last(agent.Output()))
		}
	})
	return agent
}

// startWithHub starts one that pushes to the hub.
func (w *world) startWithHub(id string, opts e2e.AgentOptions) *e2e.Agent {
	w.t.Helper()
	token, err := w.hub.Token(w.ctx, id)
	if err != nil {
		w.t.Fatal(err)
	}
	opts.URL, opts.TokenFile = w.hub.Web, token
	return w.start(id, opts)
}

// startWithCoder starts one that pushes to a Coder server.
func (w *world) startWithCoder(name string, opts e2e.AgentOptions) (*e2e.Agent, *pushtest.Pushes) {
	w.t.Helper()
	pushes := &pushtest.Pushes{}
	handler, err := pushes.Handler()
	if err != nil {
		w.t.Fatal(err)
	}
	server := pushtest.NewCoderServer(handler)
	server.Start()
	w.t.Cleanup(server.Close)
	opts.Args = append(opts.Args, "--coder")
	opts.Command = func(cmd *exec.Cmd) {
		cmd.Env = append(cmd.Env, "CODER_AGENT_URL="+server.URL, "CODER_AGENT_TOKEN="+pushtest.Token)
	}
	return w.start(name, opts), pushes
}

// summary is how the overview begins that an agent prints of what it has found.
var summary = regexp.MustCompile(`(?m)^found +\d`)

// listed returns what an agent lists.
func (w *world) listed(a *e2e.Agent) *snapshot.Snapshot {
	w.t.Helper()
	if a.Await(w.ctx, summary) != nil {
		w.t.Fatalf("the agent prints no summary: …%s", last(a.Output()))
	}
	s, err := a.Client.Resync(w.ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// stored waits until the hub has the same of an agent, and returns it.
func (w *world) stored(id string, of *snapshot.Snapshot) *snapshot.Snapshot {
	w.t.Helper()
	p, _, err := w.hub.Stored.Await(w.ctx, 0, func(p *e2e.Stored) bool {
		return p.AgentID == id && string(p.Push.Snapshot.AggregateHash) == string(of.AggregateHash)
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return &p.Push.Snapshot
}

// rowsFor waits until a Coder server has so many rows.
func (w *world) rowsFor(p *pushtest.Pushes, n int) []*coder.ContextResource {
	w.t.Helper()
	push, err := p.Await(w.ctx, func(m *coder.PushContextStateRequest) bool { return len(m.Resources) >= n })
	if err != nil {
		w.t.Fatal(err)
	}
	return push.Resources
}

// last is the end of a text that may be long.
func last(text string) string { return text[max(0, len(text)-3000):] }
