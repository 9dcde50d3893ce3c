package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"waymark/test/e2e"
)

// TestRun measures little, and wants every figure. How large those are that have
// to do with time says more about a busy machine than about the agent; memory is
// ten times too large at most.
func TestRun(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the agent and takes seconds")
	}
	programs, err := e2e.Build(t.Context(), t.TempDir(), false)
	if err != nil {
		t.Fatal(err)
	}
	var out, progress bytes.Buffer
	args := []string{
		"-agent", programs.Agent, "-before", programs.Agent, "-skills", "50", "-large", "60", "-json",
		"-edits", "3", "-halves", "2", "-starts", "1", "-idle", "10ms", "-later", "4", "-age", "1ms",
	}
	if err := run(t.Context(), args, &out, &progress); err != nil {
		t.Fatalf("%v\n%s", err, progress.String())
	}
	var report Report
	if err := json.Unmarshal(out.Bytes(), &report); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	// Few edits may take no tick of the processor's clock.
	uncertain := map[string]bool{
		"CPU per edit": true, "CPU per edit, resolve": true, "CPU per edit, push": true, "CPU per edit, WebSocket": true,
		"wake-ups at rest": true, "half-written and stored, open between": true, "half-written and stored, closed between": true,
	}
	seen := map[string]bool{}
	for _, f := range report.Figures {
		seen[f.Name] = true
		if f.Count < 1 || f.Min > f.Median || f.Median > f.P95 || f.Skills != 50 && f.Skills != 60 {
			t.Errorf("%+v", f)
		}
		if f.Change == 0 && f.Median > 0 && !uncertain[f.Name] {
			t.Errorf("nothing is said of the version before: %+v", f)
		}
		if f.Ratio > 10 && f.Unit == "MiB" {
			t.Errorf("%s: %.1f %s, ten times the target of %.1f %s", f.Name, f.Median, f.Unit, f.Target, f.Unit)
		}
	}
	for _, name := range []string{
		"edit → stored, in place, socket", "edit → stored, rename, socket",
		"edit → stored, in place, WebSocket", "edit → stored, rename, WebSocket",
		"edit → stored, by the agent, socket", "edit → stored, by the agent, WebSocket",
		"CPU per edit", "CPU per edit, resolve", "CPU per edit, push", "CPU per edit, WebSocket",
		"start → stored, cold", "start → stored, warm", "SIGTERM → ended",
		"resident, after the start", "resident, after a rest", "resident, after edits", "resident, at most at the start",
		"five agents of one user, together",
		"wake-ups per edit, socket", "wake-ups per edit, WebSocket", "wake-ups at rest",
		"half-written and stored, open between", "half-written and stored, closed between",
		"second half → stored, open between", "second half → stored, closed between",
	} {
		if !seen[name] {
			t.Errorf("no figure %q", name)
		}
	}
	if !strings.Contains(progress.String(), "memory, 50 skills") {
		t.Errorf("progress %q", progress.String())
	}
}

func TestArguments(t *testing.T) {
	for _, args := range [][]string{{"-skills", "x"}, {"-skills", "0"}, {"-run", "("}, {"-nonsense"}, {"-agent", "/nowhere/agent"}, {"-before", "no-such-revision"}} {
		var out, progress bytes.Buffer
		if err := run(t.Context(), args, &out, &progress); err == nil || out.Len() > 0 {
			t.Errorf("%v: %v, %s", args, err, out.String())
		}
	}
}
