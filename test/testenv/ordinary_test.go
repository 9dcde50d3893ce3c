package testenv_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"waymark/test/testenv"
)

func TestMain(m *testing.M) {
	testenv.OrdinaryMain()
	os.Exit(m.Run())
}

// TestFailure: what fails as an ordinary user fails, and says why.
func TestFailure(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestFails$")
	cmd.Env = append(os.Environ(), "ORDINARY_FAILS=1")
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "it fails rightly") {
		t.Errorf("%v: %s", err, out)
	}
}

func TestFails(t *testing.T) {
	if os.Getenv("ORDINARY_FAILS") == "" {
		t.Skip("it is run by TestFailure")
	}
	testenv.RunOrdinary(t, func(t *testing.T) { t.Error("it fails rightly") })
}

// TestRun: permissions count, also in a subtest, and a failure is one.
func TestRun(t *testing.T) {
	t.Run("a (sub) test", func(t *testing.T) {
		testenv.RunOrdinary(t, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "f")
			if err := os.WriteFile(path, nil, 0); err != nil {
				t.Fatal(err)
			}
			if _, err := os.ReadFile(path); !errors.Is(err, fs.ErrPermission) {
				t.Errorf("a file without permissions: %v", err)
			}
		})
	})
}
