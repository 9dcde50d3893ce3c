package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestReadme follows the README's "Your first resolver" to the letter.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, chapter, ok := strings.Cut(string(readme), "## Your first resolver")
	if !ok {
		t.Fatal("the README has no such chapter")
	}
	block := func(language string) string {
		m := regexp.MustCompile("(?s)```" + language + "\n(.*?)```").FindStringSubmatch(chapter)
		if m == nil {
			t.Fatalf("the chapter has no %s block", language)
		}
		return m[1]
	}
	b := build(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(block("go")), 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// The test binary is the agent when it is called so.
	if err := os.Symlink(self, filepath.Join(dir, "agent")); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-euc", block("sh"))
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "WAYMARK="+root, "PATH="+dir+":"+os.Getenv("PATH"), envBuiltin+"="+b.builtin,
		"HOME="+dir, "XDG_CACHE_HOME="+b.cache, "XDG_STATE_HOME="+dir+"/state", "XDG_CONFIG_HOME="+dir+"/config",
		"GOFLAGS=-mod=mod", "GOPATH="+goEnv(t, "GOPATH"), "GOCACHE="+goEnv(t, "GOCACHE"), "GOPROXY=off")
	if raceEnabled {
		cmd.Env = append(cmd.Env, envPatient+"=1")
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !regexp.MustCompile(`(?m)^instruction_file +ACME\.md +- +ok `).Match(out) {
		t.Errorf("the resource isn't listed:\n%s", out)
	}
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}
