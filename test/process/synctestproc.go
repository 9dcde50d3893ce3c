// This file runs tests under testing/synctest, where the clock moves
// only when every goroutine waits, each test in a process of its own. Libraries
// that keep timers or channels for reuse, as yamux and HTTP/2 do, take them from
// one such test into the next, and that ends the process.
//
// A Run belongs to the goroutine of its test. The test binary runs once more for
// each, so what stands before Run in a test is done twice.

package process

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
)

// variable marks a process that runs one test under testing/synctest.
const variable = "WAYMARK_TEST_SYNCTEST"

// Synctest runs f under testing/synctest, and fails when it does. What f logs is
// printed only then.
func Synctest(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	if os.Getenv(variable) != "" {
		synctest.Test(t, f)
		return
	}
	name := regexp.QuoteMeta(t.Name())
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.v", "-test.count=1", "-test.run=^"+strings.ReplaceAll(name, "/", "$/^")+"$")
	cmd.Env = append(os.Environ(), variable+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil || !regexp.MustCompile(`(?m)^\s*--- PASS: `+name+` `).Match(out) {
		t.Fatalf("%v\n%s", err, out)
	}
}
