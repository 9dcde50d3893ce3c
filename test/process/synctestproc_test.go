package process_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"waymark/test/process"
)

func TestRun(t *testing.T) {
	t.Run("in a subtest, with signs (1.5)", func(t *testing.T) {
		process.Synctest(t, func(*testing.T) { time.Sleep(24 * time.Hour) })
	})
}

// TestFailure: what fails in the process fails the test, which says why.
func TestFailure(t *testing.T) {
	if os.Getenv("SYNCTEST_FAILS") != "" {
		process.Synctest(t, func(t *testing.T) { t.Error("this is why") })
		return
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFailure$")
	cmd.Env = append(os.Environ(), "SYNCTEST_FAILS=1")
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "this is why") {
		t.Errorf("%v\n%s", err, out)
	}
}
