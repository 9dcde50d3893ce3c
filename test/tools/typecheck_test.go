package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCheck: what is wrong on one system only is found there, in tests too, and what a
// dependency is made of is no matter.
func TestCheck(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":           "module example.com/m\n\ngo 1.26\n",
		"a.go":             "package m\n\nimport \"os\"\n\nfunc Pid() int { return os.Getpid() }\n",
		"b_darwin.go":      "package m\n\nvar _ int = \"text\"\n",
		"c_darwin_test.go": "package m\n\nimport \"testing\"\n\nfunc TestPid(t *testing.T) { missing() }\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	if problems, err := check("linux/arm64"); err != nil || len(problems) > 0 {
		t.Errorf("linux: %q, %v", problems, err)
	}
	problems, err := check("darwin/arm64")
	if all := strings.Join(problems, "\n"); err != nil || !strings.Contains(all, "b_darwin.go:3") || !strings.Contains(all, "c_darwin_test.go:5") {
		t.Errorf("darwin: %q, %v", problems, err)
	}
	if _, err := check("linux"); err == nil {
		t.Error("half a platform is taken")
	}
}
