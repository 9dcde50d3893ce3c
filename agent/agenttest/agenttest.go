// Package agenttest runs the real agent in the process of a test.
//
//	func TestMain(m *testing.M) { agenttest.Main(m) }
//
//	func TestReview(t *testing.T) {
//		a := agenttest.Start(t, dir, nil)
//		s, err := a.Snapshot(t.Context(), client.SnapshotOptions{})
//		…
//	}
//
// It is the agent with all of its parts: sandboxed resolvers, the supervisor, a hub of its
// own. Tests that need no files of a workspace are faster with package fake.
//
// # Concurrency
//
// Agents of different directories run side by side; each has a home of its own.
//
// # Limits
//
// The built-in resolvers are compiled by the Go toolchain where `make guest` hasn't done it.
package agenttest

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"waymark/agent"
	"waymark/agentapi/client"
	"waymark/host/builtin"
	"waymark/host/config"
	"waymark/internal/reexec"
	"waymark/test/built"
	"waymark/test/testenv"
)

// patience bounds what takes a moment, and is long since a machine may stand still.
const patience = 2 * time.Minute

var self *reexec.Program

// Main runs the tests of a package whose tests call Start. TestMain calls it, and nothing
// before it: the agent starts the test's own program again, to compile modules and to hold
// processes.
func Main(m *testing.M) {
	self = reexec.Main(agent.Roles()...)
	os.Exit(m.Run())
}

// Agent is an agent under test.
type Agent struct {
	// Client shows the control token, which opens everything.
	client.Client
	// Instance says where it listens.
	*agent.Instance
	// Home is its user's home directory.
	Home string
}

// Start runs an agent for a directory until the test ends, and returns it when its first
// snapshot is there. Processes that it holds are ended with it. change, if not nil, changes
// its options before.
func Start(t testing.TB, dir string, change func(*agent.Options)) *Agent {
	t.Helper()
	if self == nil {
		t.Fatal("agenttest.Main isn't called by TestMain")
	}
	home, err := filepath.EvalSymlinks(testenv.SocketDir(t))
	if err != nil {
		t.Fatal(err)
	}
	variables := map[string]string{
		"XDG_STATE_HOME": filepath.Join(home, "state"), "XDG_CACHE_HOME": filepath.Join(home, "cache"), "XDG_CONFIG_HOME": filepath.Join(home, "config"),
	}
	opts := agent.Options{Root: dir, Log: slog.New(slog.NewTextHandler(t.Output(), nil)), Program: &agent.Program{
		Builtin: module(t.Context()), Compiler: self, Self: self, Version: "test", Timeout: patience,
	}}
	opts.Environment = config.Environment{
		Getenv: func(name string) string { return variables[name] },
		Home:   func() (string, error) { return filepath.Join(home, "home"), nil },
	}
	if change != nil {
		change(&opts)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	a, err := agent.New(ctx, opts)
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	started := &Agent{Instance: a.Instance(), Home: filepath.Join(home, "home")}
	t.Cleanup(func() {
		if started.Client != nil {
			ctx, cancel := context.WithTimeout(ctx, patience)
			defer cancel()
			if err := started.Stop(ctx); err != nil {
				t.Errorf("stop: %v", err)
			}
		}
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the agent ended: %v", err)
		}
		if err := a.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	wait, done := context.WithTimeout(ctx, patience)
	defer done()
	if _, err := a.Wait(wait, 0); err != nil {
		t.Fatalf("there is no snapshot: %v", err)
	}
	token, err := started.Control()
	if err != nil {
		t.Fatal(err)
	}
	started.Client = client.New(started.Listen, client.Options{Token: token})
	return started
}

// module returns what reads the built-in resolvers.
func module(ctx context.Context) func() ([]byte, error) {
	if _, err := builtin.Digest(); err == nil {
		return builtin.Module
	}
	return func() ([]byte, error) {
		file, err := built.Guest(ctx, "waymark/plugins/builtin")
		if err != nil {
			return nil, err
		}
		return os.ReadFile(file)
	}
}
