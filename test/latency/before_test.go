package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestProgram builds revisions of a small repository, each once, and leaves no
// work tree behind.
func TestProgram(t *testing.T) {
	for _, tool := range []string{"git", "make"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Fatal(err) // they are needed to build all this
		}
	}
	home, dir := t.TempDir(), t.TempDir()
	for _, name := range []string{"HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"} { // git is configured in two of them
		t.Setenv(name, home)
	}
	for _, v := range os.Environ() { // in a hook of git's, they name the repository that it is of
		if name, value, _ := strings.Cut(v, "="); strings.HasPrefix(name, "GIT_") {
			t.Setenv(name, value) // for the other tests
			_ = os.Unsetenv(name)
		}
	}
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b.example"}, args...)...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "-q")
	for _, version := range []string{"one", "two"} {
		recipe := "build:\n\tmkdir bin && echo " + version + " > bin/agent && echo >> " + dir + "/built\n"
		if err := os.WriteFile(filepath.Join(dir, "Makefile"), []byte(recipe), 0o600); err != nil {
			t.Fatal(err)
		}
		git("add", "Makefile")
		git("commit", "-q", "-m", version)
	}
	var progress bytes.Buffer
	for _, c := range []struct{ what, want string }{
		{"HEAD~1", "one\n"}, {"HEAD", "two\n"}, {"HEAD~1", "one\n"}, {git("rev-parse", "--short", "HEAD"), "two\n"},
	} {
		program, err := Program(t.Context(), dir, c.what, &progress)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(program)
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %q, %v", c.what, got, err)
		}
		if again, err := Program(t.Context(), dir, program, &progress); err != nil || again != program {
			t.Errorf("a program: %s, %v", again, err)
		}
	}
	if built, err := os.ReadFile(filepath.Join(dir, "built")); err != nil || len(built) != 2 {
		t.Errorf("built %d times, %v", len(built), err)
	}
	if list := git("worktree", "list"); strings.Contains(list, "\n") {
		t.Errorf("there are still work trees:\n%s", list)
	}
	for _, what := range []string{"HEAD~7", "-h", ""} {
		if got, err := Program(t.Context(), dir, what, &progress); err == nil {
			t.Errorf("%q: %s", what, got)
		}
	}
}
