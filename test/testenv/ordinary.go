package testenv

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// OrdinaryEnv is set to 1 for programs that are to be ordinary. Their main, or TestMain,
// calls OrdinaryMain.
const OrdinaryEnv = "WAYMARK_TEST_ORDINARY"

// requireAll names the environment variable that turns skips into failures.
const requireAll = "WAYMARK_REQUIRE_ALL"

// OrdinaryMain begins the program anew, without power over files, where OrdinaryEnv asks
// for it. Call it before anything else: nothing of the process but its number is kept.
func OrdinaryMain() {
	if os.Getenv(OrdinaryEnv) == "" || !powerful() {
		return
	}
	err := giveUp()
	_, _ = os.Stderr.WriteString("can't give up root's power over files: " + err.Error() + "\n")
	os.Exit(1)
}

// RunOrdinary calls a test's function as an ordinary user: at once where that is what
// runs the tests, else by running the whole test again in another process. Its
// TestMain calls OrdinaryMain.
//
// The process still is root's: it owns what root owns, and only its own permissions on
// that count. It gives up its power on Linux only, and where the machine lets root do so;
// else the test is skipped, and fails where nothing may be.
func RunOrdinary(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	if !powerful() {
		f(t)
		return
	}
	need(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	timeout := time.Duration(0) // none
	if deadline, ok := t.Deadline(); ok {
		timeout = time.Until(deadline)
	}
	cmd := exec.CommandContext(t.Context(), self, "-test.run="+pattern(t.Name()), "-test.count=1", "-test.timeout="+timeout.String(), "-test.short="+strconv.FormatBool(testing.Short()))
	cmd.Env = append(os.Environ(), OrdinaryEnv+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("as an ordinary user: %v\n%s", err, out)
	}
	if !strings.Contains(string(out), "PASS") || strings.Contains(string(out), "no tests to run") {
		t.Fatalf("as an ordinary user nothing was run:\n%s", out)
	}
}

// pattern matches one test, or subtest, and no other.
func pattern(name string) string {
	parts := strings.Split(name, "/")
	for i := range parts {
		parts[i] = "^" + regexp.QuoteMeta(parts[i]) + "$"
	}
	return strings.Join(parts, "/")
}

// CanBeOrdinary reports whether OrdinaryMain can do what it is for, or has nothing to do. Where no
// test may be skipped it is true, so that one fails instead.
func CanBeOrdinary() bool { return !powerful() || canGiveUp() == nil || os.Getenv(requireAll) != "" }

// NeedsRoot skips a test of what only root can set up, and says what that is. It
// skips where nothing may be missing, too: no package that could be installed makes
// a user root. .ci/run runs the packages that call it as root.
func NeedsRoot(t testing.TB, why string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root can " + why)
	}
}

// NeedsPrograms skips a test on a machine that hasn't got one of the programs, or fails it if
// WAYMARK_REQUIRE_ALL is set.
func NeedsPrograms(t testing.TB, programs ...string) {
	t.Helper()
	for _, program := range programs {
		_, err := exec.LookPath(program)
		switch {
		case err == nil:
		case os.Getenv(requireAll) == "":
			t.Skipf("SKIPPED: %v", err)
		default:
			t.Fatal(err)
		}
	}
}

// need skips the test where root can't become ordinary.
func need(t testing.TB) {
	t.Helper()
	err := canGiveUp()
	switch {
	case err == nil:
	case os.Getenv(requireAll) == "":
		t.Skipf("SKIPPED: root can't give up its power over files here: %v", err)
	default:
		t.Fatalf("root can't give up its power over files here: %v", err)
	}
}
