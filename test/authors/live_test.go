package authors_test

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"waymark/hub/store"
	"waymark/test/built"
	"waymark/test/e2e"
)

// TestLive goes from nothing to a resolver that is live in a running agent, in
// each language, with the commands that a person types: testdata/live.
//
// Besides the usual ones the scripts have
//
//	start         runs an agent over $ROOT, with $PLUGINS and a hub
//	hub [!] ID    waits until the hub has, or no longer has, a resource
//	npm-install   does what npm install does, from what was installed before
func TestLive(t *testing.T) {
	long(t)
	for lang, need := range map[string]func(*testing.T) string{
		"go": func(*testing.T) string { return "" }, "c": needClang, "assemblyscript": needNPM,
	} {
		t.Run(lang, func(t *testing.T) {
			modules := need(t)
			h := newHome(t)
			testscript.Run(t, testscript.Params{
				Files: []string{filepath.Join("testdata", "live", lang+".txtar")},
				Setup: func(env *testscript.Env) error {
					env.Vars = append(env.Vars, h.env...)
					env.Setenv("ROOT", filepath.Join(env.WorkDir, "root"))
					env.Setenv("PLUGINS", filepath.Join(env.WorkDir, "plugins"))
					env.Setenv("MODULES", modules)
					env.Values[liveKey{}] = new(live)
					return nil
				},
				Cmds: map[string]func(*testscript.TestScript, bool, []string){
					"start": liveStart, "hub": liveHub, "npm-install": liveInstall,
				},
			})
		})
	}
}

// needClang skips a test for which there is no clang that makes modules, or
// fails it: the harness knows which of its packages is missing.
func needClang(t *testing.T) string {
	t.Helper()
	newHome(t).harness(t, "build", "../../examples/copilot-instructions", "--output", filepath.Join(t.TempDir(), "probe.wasm"))
	return ""
}

// needNPM returns what npm install would make. All projects with the kit have
// the same dependencies.
func needNPM(t *testing.T) string {
	t.Helper()
	return built.NodeModules(t, "../../sdk-guest/assemblyscript/testdata/probe")
}

// livePatience ends a script that hangs; nothing is measured with it.
const livePatience = 5 * time.Minute

type liveKey struct{}

// live is what runs during a script.
type live struct {
	hub   *e2e.Hub
	agent *e2e.Agent
}

// await returns a context that ends a script that hangs.
func await(ts *testscript.TestScript) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), livePatience)
	ts.Defer(cancel)
	return ctx
}

func liveStart(ts *testscript.TestScript, _ bool, _ []string) {
	l := ts.Value(liveKey{}).(*live)
	dir, err := os.MkdirTemp("", "wm") // short, for sockets
	ts.Check(err)
	ts.Defer(func() { _ = os.RemoveAll(dir) })
	home, err := e2e.NewHome(dir)
	ts.Check(err)
	ts.Check(home.Configure("[limits]\ntime = \"1m\"\n")) // as home.configure does
	ts.Check(built.ShareKey(filepath.Join(home.State(), "key")))
	ts.Check(os.MkdirAll(ts.Getenv("PLUGINS"), 0o700))

	ctx, cancel := context.WithCancel(context.Background())
	ts.Defer(cancel)
	l.hub, err = e2e.StartHub(ctx, dir, slog.New(slog.DiscardHandler))
	ts.Check(err)
	ts.Defer(func() { _ = l.hub.Close() })
	token, err := l.hub.Token(ctx, "workspace")
	ts.Check(err)
	l.agent, err = e2e.StartAgent(ctx, e2e.AgentOptions{
		Program: filepath.Join(programs, "agent"), Home: home, Root: ts.Getenv("ROOT"),
		URL: l.hub.URL, TokenFile: token, Args: []string{"--plugins", ts.Getenv("PLUGINS")},
		Command: func(cmd *exec.Cmd) { // the harness has compiled the module already
			cmd.Env = append(cmd.Env, "XDG_CACHE_HOME="+ts.Getenv("XDG_CACHE_HOME"))
		},
	})
	ts.Check(err)
	ts.Defer(func() {
		if _, err := l.agent.Stop(ctx); err != nil {
			ts.Logf("the agent ends with %v\n%s", err, l.agent.Output())
		}
	})
	ts.Setenv("WAYMARK_SOCKET", home.Socket())
	if _, _, err := l.hub.Stored.Await(await(ts), 0, func(*e2e.Stored) bool { return true }); err != nil {
		ts.Fatalf("the agent pushes nothing: %v\n%s", err, l.agent.Output())
	}
}

// liveHub looks at the newest push, and waits for another as long as it isn't
// as it should be.
func liveHub(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: [!] hub ID")
	}
	l := ts.Value(liveKey{}).(*live)
	ctx := await(ts)
	for {
		list, more := l.hub.Stored.All()
		if n := len(list); n > 0 && has(ctx, ts, l, args[0]) != neg {
			return
		}
		select {
		case <-more:
		case <-ctx.Done():
			ts.Fatalf("after %d pushes: %v\n%s", len(list), ctx.Err(), l.agent.Output())
		}
	}
}

// has reports whether the hub has a resource of the agent that is in order.
func has(ctx context.Context, ts *testscript.TestScript, l *live, id string) bool {
	kept, err := l.hub.Stored.Snapshot(ctx, store.Query{AgentID: "workspace"})
	ts.Check(err)
	for i := range kept.Snapshot.Resources {
		if r := &kept.Snapshot.Resources[i]; r.ID() == id && r.Status == "ok" {
			return true
		}
	}
	return false
}

func liveInstall(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Check(os.Symlink(ts.Getenv("MODULES"), ts.MkAbs("node_modules")))
}
