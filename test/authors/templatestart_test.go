package authors_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"waymark/test/process"
)

// TestTemplateStart starts the agent as the image does, with the image's
// resolver, and waits until a rule is found.
func TestTemplateStart(t *testing.T) {
	h := newHome(t)
	build := h.prepare()
	// The image has plugins and plugin.toml in /etc; here they are the user's.
	config := filepath.Join(h.dir, ".config", "waymark")
	if err := os.MkdirAll(config, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(build, "plugins"), filepath.Join(config, "plugins")); err != nil {
		t.Fatal(err)
	}
	// What is cloned is there with the first snapshot.
	origin := filepath.Join(h.dir, "origin")
	rules := filepath.Join(origin, ".cursor", "rules")
	if err := os.MkdirAll(rules, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(rules, "ts.mdc"), []byte("---\nglobs: **/*.ts\n---\nUse them.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qm", "first"}} {
		if out, err := h.command(t.Context(), origin, "git", args...).CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	t.Cleanup(h.stopAgent)
	h.start("WAYMARK_TARGET=local", "WAYMARK_REPOSITORY="+origin)
	h.await(`"name": "ts"`, "snapshot", "--json")
	if out, err := h.command(t.Context(), h.dir, "agent", "snapshot", "--json").Output(); err != nil || !bytes.Contains(out, []byte(`"version": 1`)) {
		t.Errorf("it isn't in the first snapshot: %v\n%s", err, out)
	}
	pid := h.pid()
	h.start("WAYMARK_TARGET=local") // again: nothing happens
	if again := h.pid(); again != pid || pid == 0 {
		t.Errorf("there is another agent: %d, then %d", pid, again)
	}
}

func TestTemplateStartErrors(t *testing.T) {
	h := newHome(t)
	for _, tt := range []struct{ env, want string }{
		{"WAYMARK_TARGET=hub", "WAYMARK_HUB_URL and WAYMARK_HUB_TOKEN must be set"},
		{"WAYMARK_TARGET=coder", "WAYMARK_CODER_TOKEN must be set: a token of its own"},
		{"WAYMARK_TARGET=moon", "it must be local, hub or coder"},
	} {
		cmd := h.command(t.Context(), h.dir, "sh", startScript(t))
		cmd.Env = append(cmd.Env, tt.env)
		if out, err := cmd.CombinedOutput(); err == nil || !bytes.Contains(out, []byte(tt.want)) {
			t.Errorf("%s: %v, %s; want %s", tt.env, err, out, tt.want)
		}
	}
}

func startScript(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(template, "build", "waymark-start"))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func (h *home) start(env ...string) {
	h.t.Helper()
	cmd := h.command(h.t.Context(), h.dir, "sh", startScript(h.t))
	cmd.Env = append(cmd.Env, env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		h.t.Fatalf("waymark-start: %v\n%s", err, out)
	}
}

// await asks the agent until its answer has a text in it.
func (h *home) await(want string, args ...string) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), timeout)
	defer cancel()
	var last []byte
	for {
		out, err := h.command(ctx, h.dir, "agent", args...).CombinedOutput()
		switch {
		case ctx.Err() != nil:
		case err == nil && bytes.Contains(out, []byte(want)):
			return
		default:
			last = out
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			log, _ := os.ReadFile(filepath.Join(h.dir, ".local", "state", "waymark", "agent.log"))
			h.t.Fatalf("agent %s never says %s; it says\n%s\nits log:\n%s", strings.Join(args, " "), want, last, log)
		}
	}
}

// pid is that of the running agent, 0 for none.
func (h *home) pid() int {
	out, err := h.command(context.Background(), h.dir, "agent", "status", "--json").Output()
	var status struct {
		PID int `json:"pid"`
	}
	if err != nil || json.Unmarshal(out, &status) != nil {
		return 0
	}
	return status.PID
}

// stopAgent ends the agent that the script has left running, and waits for it.
func (h *home) stopAgent() {
	ctx, cancel := context.WithTimeout(context.Background(), timeout) // the test's own has ended
	defer cancel()
	for pid := h.pid(); pid != 0 && syscall.Kill(pid, syscall.SIGTERM) == nil; {
		if process.Pause(ctx, 100*time.Millisecond) != nil {
			h.t.Errorf("agent %d doesn't end", pid)
			return
		}
	}
}
