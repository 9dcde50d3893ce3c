package host_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"waymark/host"
	"waymark/test/workspaces"
)

// TestWorkspaces: all that agents read in real workspaces is found, and nothing of what
// their settings hold gets out.
func TestWorkspaces(t *testing.T) {
	noLeaks(t)
	for _, name := range workspaces.Names {
		t.Run(name, func(t *testing.T) { findAll(t, name) })
	}
}

func findAll(t *testing.T, name string) {
	w, err := workspaces.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := w.Write(dir); err != nil {
		t.Fatal(err)
	}
	logs := &logBuffer{}
	report := refresh(t, newHost(t, host.Options{Builtin: module(builtin(t)), Roots: []host.RootSpec{{Path: dir}}, Logger: debugLogger(logs)}))
	var found []workspaces.Found
	for i := range report.Snapshot.Resources {
		r := &report.Snapshot.Resources[i]
		source, err := filepath.Rel(dir, r.Source)
		if err != nil {
			t.Fatal(err)
		}
		mode := r.Attributes["mode"].Text
		found = append(found, workspaces.Found{Kind: r.Kind, Source: source, Convention: r.Convention, Readers: r.Readers, Mode: mode})
		if r.Status != "ok" {
			t.Errorf("%s is %s: %s", r.ID(), r.Status, r.Error)
		}
		if strings.Contains(string(r.Payload), workspaces.Token) {
			t.Errorf("%s has a token in its text", r.ID())
		}
	}
	for _, line := range w.Compare(found) {
		t.Error(line)
	}
	shown, err := json.Marshal(report)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(shown), workspaces.Token) || strings.Contains(logs.String(), workspaces.Token) {
		t.Error("a token is in the report or the log")
	}
}
