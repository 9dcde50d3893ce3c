package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"waymark/test/e2e"
	"waymark/test/latency"
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
	args := []string{"-agent", programs.Agent, "-skills", "50", "-edits", "3", "-starts", "1", "-idle", "10ms", "-later", "4", "-json"}
	if err := run(t.Context(), args, &out, &progress); err != nil {
		t.Fatalf("%v\n%s", err, progress.String())
	}
	var report latency.Report
	if err := json.Unmarshal(out.Bytes(), &report); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	seen := map[string]bool{}
	for _, f := range report.Figures {
		seen[f.Name] = true
		if f.Count < 1 || f.Min > f.Median || f.Median > f.P95 || f.Skills != 50 {
			t.Errorf("%+v", f)
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
		"resident, after the start", "resident, after a rest", "resident, after edits",
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
	for _, args := range [][]string{{"-skills", "x"}, {"-skills", "0"}, {"-run", "("}, {"-nonsense"}, {"-agent", "/nowhere/agent"}} {
		var out, progress bytes.Buffer
		if err := run(t.Context(), args, &out, &progress); err == nil || out.Len() > 0 {
			t.Errorf("%v: %v, %s", args, err, out.String())
		}
	}
}
