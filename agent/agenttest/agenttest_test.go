package agenttest_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"waymark/agent/agenttest"
	"waymark/agentapi"
	"waymark/agentapi/client"
)

func TestMain(m *testing.M) { agenttest.Main(m) }

// TestStart: the agent that a test is given finds what is in its directory, follows it, and
// acts there.
func TestStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("AGENTS.md", "Be kind.")
	a := agenttest.Start(t, dir, nil)
	s, err := a.Snapshot(t.Context(), client.SnapshotOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Resources) != 1 || s.Resources[0].Source != filepath.Join(dir, "AGENTS.md") {
		t.Fatalf("found %+v", s.Resources)
	}
	write("CLAUDE.md", "Be brief.")
	if s, err = a.Snapshot(t.Context(), client.SnapshotOptions{Wait: time.Minute, After: s.Version}); err != nil || len(s.Resources) != 2 {
		t.Fatalf("then %+v, %v", s, err)
	}
	started, err := a.StartProcess(t.Context(), agentapi.StartProcess{Command: "cat AGENTS.md"})
	if err != nil {
		t.Fatal(err)
	}
	out, err := a.ProcessOutput(t.Context(), started.ID, agentapi.OutputOptions{Wait: true, WaitFor: time.Minute})
	if err != nil || out.Output != "Be kind." {
		t.Fatalf("the process wrote %+v, %v", out, err)
	}
}

// TestTwo: agents of one test don't know of each other.
func TestTwo(t *testing.T) {
	t.Parallel()
	one, other := agenttest.Start(t, t.TempDir(), nil), agenttest.Start(t, t.TempDir(), nil)
	if one.Listen == other.Listen || one.Home == other.Home {
		t.Errorf("both are at %s, %s", one.Listen, one.Home)
	}
}
