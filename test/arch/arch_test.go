package arch_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"waymark/test/arch"
)

// TestArchitecture holds the repository to its rules.
func TestArchitecture(t *testing.T) {
	seeSources(t)
	packages, err := arch.Load(t.Context(), "../..", "", "", "./...")
	if err != nil {
		t.Fatal(err)
	}
	for _, must := range []string{"waymark", "waymark/abi", "waymark/snapshot", "waymark/test/arch"} {
		if !slices.ContainsFunc(packages, func(p arch.Package) bool { return p.Path == must }) {
			t.Fatalf("go list doesn't show %s: the test looks at the wrong place", must)
		}
	}
	report(t, packages)
}

// TestGuestArchitecture looks at the files that only a guest is built from.
func TestGuestArchitecture(t *testing.T) {
	seeSources(t)
	packages, err := arch.Load(t.Context(), "../..", "wasip1", "wasm", "./abi/...", "./sdk-guest/...", "./plugins/...", "./examples/...")
	if err != nil {
		t.Fatal(err)
	}
	if len(packages) == 0 {
		t.Fatal("go list shows no guest packages")
	}
	report(t, packages)
}

// seeSources looks at every source file. The go command reads them in another
// process, so without this `go test` wouldn't notice that one changed, and
// would repeat its last result.
func seeSources(t *testing.T) {
	t.Helper()
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil //nolint:nilerr // removed meanwhile
		case entry.IsDir() && entry.Name() == ".git":
			return fs.SkipDir
		case filepath.Ext(path) == ".go" || entry.Name() == "go.mod":
			_, _ = os.Stat(path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func report(t *testing.T, packages []arch.Package) {
	t.Helper()
	for _, line := range arch.Waymark().Check(packages) {
		t.Error(line)
	}
}

// pkg is a documented package that imports, and thus needs, some others.
func pkg(path string, imports ...string) arch.Package {
	return arch.Package{Path: path, Doc: "Package x is documented.", Imports: imports, Deps: imports}
}

// needs is a package that needs some others without naming them.
func needs(path string, deps ...string) arch.Package {
	return arch.Package{Path: path, Doc: "Package x is documented.", Deps: deps}
}

func tests(path string, imports ...string) arch.Package {
	return arch.Package{Path: path, Doc: "Package x is documented.", XTestImports: imports}
}

// ruleCase is a package that breaks a rule, and one that looks much like it
// and doesn't. The because is part of what is found.
type ruleCase struct {
	name    string
	bad, ok arch.Package
	because string
}

// TestEveryRule breaks every rule once.
func TestEveryRule(t *testing.T) {
	const wazero, extism, sql = "github.com/tetratelabs/wazero/sys", "github.com/extism/go-sdk", "modernc.org/sqlite"
	cases := []ruleCase{
		{"abi is alone", needs("waymark/abi", sql), needs("waymark/abi", "encoding/json", "internal/abi"), "without anything else"},
		{"the SDK is small", needs("waymark/sdk-guest/x", "go.yaml.in/yaml/v4"), needs("waymark/sdk-guest/x", "io/fs", "waymark/abi", "waymark/sdk-guest"), "every sandbox"},
		{"guests know no host", needs("waymark/plugins/agentfiles", "waymark/wire"), needs("waymark/plugins/agentfiles", "go.yaml.in/yaml/v4", "waymark/sdk-guest"), "through the ABI"},
		{"one sandbox", pkg("waymark/host/resolve", extism), pkg("waymark/host/sandbox", extism), "host/sandbox"},
		{"one sandbox in tests too", tests("waymark/host", wazero), tests("waymark/plugins/builtin", wazero), "host/sandbox"},
		{"one other to compare with", pkg("waymark/cmd/harness/internal/conform", extism), pkg("waymark/cmd/harness/internal/extism", extism, wazero), "in a process of its own"},
		{"no sandbox in a guest", needs("waymark/plugins/builtin", wazero), tests("waymark/sdk-guest", wazero), "only its tests"},
		{"no sandbox in the hub", needs("waymark/cmd/hub", wazero), needs("waymark/cmd/agent", wazero), "nobody's code"},
		{"no engine in the hub", pkg("waymark/hub/store", "waymark/host/push"), pkg("waymark/hub/store", "waymark/snapshot", "waymark/wire"), "not its engine"},
		{"no engine in the wire", pkg("waymark/wire/convert", "waymark/host/vfs"), pkg("waymark/wire/convert", "waymark/snapshot"), "not its engine"},
		{"a model alone", needs("waymark/snapshot", "github.com/google/uuid"), needs("waymark/snapshot", "waymark/abi", "crypto/sha256"), "bring nothing along"},
		{"shared code below all rooms", pkg("waymark/internal/text", "waymark/host/vfs"), pkg("waymark/internal/text", "waymark/snapshot", "golang.org/x/text"), "below all of them"},
		{"tools above", pkg("waymark/internal/text", "waymark/internal/tools/aot"), pkg("waymark/internal/tools/aot", "waymark/host/sandbox"), "direction"},
		{"no database in the engine", needs("waymark/host", "waymark/hub"), needs("waymark/cmd/agent", "waymark/hub", sql), "stay small"},
		{"a light client", needs("waymark/agentapi/client", wazero), needs("waymark/agentapi/client", "waymark/host/why", "waymark/host/vfs"), "neither a sandbox"},
		{"one launcher", pkg("waymark/workspace/process", "github.com/landlock-lsm/go-landlock/landlock"), pkg("waymark/workspace/launch", "github.com/landlock-lsm/go-landlock/landlock/syscall"), "the shim"},
		{"one session", pkg("waymark/workspace/mcp", "github.com/modelcontextprotocol/go-sdk/mcp"), pkg("waymark/workspace/mcp/session", "github.com/modelcontextprotocol/go-sdk/mcp"), "a server of MCP"},
		{"why looks at what was seen", pkg("waymark/host/why", "waymark/host/resolve"), pkg("waymark/host/why", "waymark/host/vfs", "waymark/snapshot"), "observed"},
		{"a catalog, not a host", pkg("waymark/host/plugin", "waymark/host/watch"), pkg("waymark/host/plugin", "waymark/host/sandbox", "waymark/host/plugin/approvals"), "hands out modules"},
		{"few labels", pkg("waymark/host/push", "waymark/internal/metricset"), pkg("waymark/host/metrics", "waymark/internal/metricset"), "become a label"},
		{"few labels of the hub", pkg("waymark/hub", "waymark/internal/metricset"), pkg("waymark/hub/metrics", "waymark/internal/metricset"), "become a label"},
		{"SQL in its place", pkg("waymark/hub", "database/sql"), pkg("waymark/hub/store/sqlite", "database/sql", sql), "behind its interface"},
		{"one watcher", tests("waymark/host/push", "github.com/fsnotify/fsnotify"), pkg("waymark/host/watch", "github.com/fsnotify/fsnotify"), "hints"},
		{"TOML in its place", pkg("waymark/agent/server", "github.com/BurntSushi/toml"), pkg("waymark/host/config", "github.com/BurntSushi/toml"), "Options"},
		{"the configuration is the host's", pkg("waymark/host/push", "waymark/host/config"), pkg("waymark/host", "waymark/host/config"), "Options"},
		{"others' files in one place", pkg("waymark/cmd/hub", "github.com/tailscale/hujson"), pkg("waymark/agent/connect", "github.com/tailscale/hujson"), "compares what it writes"},
		{"webhooks in one place", pkg("waymark/hub", "github.com/standard-webhooks/standard-webhooks/libraries/go"), pkg("waymark/hub/webhook", "github.com/standard-webhooks/standard-webhooks/libraries/go"), "strangers"},
		{"flags in the mains", pkg("waymark/hub", "github.com/spf13/cobra"), pkg("waymark/cmd/hub", "github.com/spf13/cobra"), "mains"},
		{"pushes without readers", needs("waymark/hub/ingest", "waymark/hub/server"), needs("waymark/hub/ingest", "waymark/hub/fleet"), "without those who read it"},
		{"calls without a meaning", pkg("waymark/hub/transport", "waymark/hub/store"), pkg("waymark/hub/transport", "waymark/wire", "storj.io/drpc"), "what they mean"},
		{"a light consumer", needs("waymark/hub/client", "storj.io/drpc/drpcconn"), needs("waymark/hub/client", "net/http"), "needs HTTP"},
		{"a client without a server", needs("waymark/hub/client", "waymark/internal/httpapi"), needs("waymark/hub/client", "waymark/internal/httpapi/apiclient"), "no server"},
		{"a client of the agent without a server", needs("waymark/agentapi/client", "waymark/agent/server"), needs("waymark/agentapi/client", "waymark/agentapi/status", "github.com/coder/websocket"), "no server"},
		{"a fake without a server", needs("waymark/agentapi/client/fake", "waymark/internal/httpapi"), pkg("waymark/agentapi/client/fake", "waymark/agent/server/servertest"), "no server"},
		{"no fakes in the product", pkg("waymark/cmd/agent", "waymark/agentapi/client/fake"), tests("waymark/cmd/agent", "waymark/agentapi/client/fake"), "no part of the product"},
		{"types of both ends", pkg("waymark/hub/api", "waymark/hub/store"), pkg("waymark/hub/api", "waymark/snapshot"), "neither end"},
		{"services look through the guard alone", pkg("waymark/workspace/files", "waymark/host/sandbox"), pkg("waymark/workspace/files", "waymark/host/vfs", "waymark/agentapi"), "how files are guarded"},
		{"our own MCP server is a client", pkg("waymark/workspace/mcpserver", "waymark/workspace/files"), pkg("waymark/workspace/mcpserver", "waymark/agentapi/client", "waymark/agentapi/status"), "no second one"},
		{"the engine doesn't act", needs("waymark/host", "waymark/workspace/process"), pkg("waymark/cmd/agent", "waymark/workspace/process"), "nothing in host starts"},
		{"commands are the top", pkg("waymark/host", "waymark/cmd/agent"), pkg("waymark/cmd/harness", "waymark/cmd/harness/internal/fixture"), "built on a command"},
		{"no test helpers in the product", pkg("waymark/host", "waymark/test/built"), tests("waymark/host", "waymark/test/built"), "no part of the product"},
		{"no testing in the product", pkg("waymark/host", "testing"), tests("waymark/host", "testing"), "no part of the product"},
		{"no test suites in the product", pkg("waymark/hub", "waymark/test/contracts/storetest"), pkg("waymark/test/contracts/storetest", "testing"), "no part of the product"},
		{"down, not up", pkg("waymark/host/vfs", "waymark/host/resolve"), pkg("waymark/host/resolve", "waymark/host/vfs", "waymark/host/sandbox"), "direction"},
		{"wire below push", pkg("waymark/wire", "waymark/host/push"), pkg("waymark/host/push", "waymark/wire"), "direction"},
		{"documented", arch.Package{Path: "waymark/hub", Doc: " "}, pkg("waymark/hub"), "no package comment"},
		{"known", pkg("waymark/other"), pkg("waymark/host/other"), "in no layer"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			found := arch.Waymark().Check([]arch.Package{c.bad})
			if !slices.ContainsFunc(found, func(line string) bool {
				return strings.HasPrefix(line, c.bad.Path+" ") && strings.Contains(line, c.because)
			}) {
				t.Errorf("nothing is found with %q; found: %q", c.because, found)
			}
			if found := arch.Waymark().Check([]arch.Package{c.ok}); len(found) > 0 {
				t.Errorf("a good package is found bad: %q", found)
			}
		})
	}
	for _, rule := range arch.Waymark().Rules {
		if !slices.ContainsFunc(cases, func(c ruleCase) bool { return strings.Contains(rule.Reason, c.because) }) {
			t.Errorf("no case breaks the rule with the reason %q", rule.Reason)
		}
	}
}

func TestCheckIsInOrder(t *testing.T) {
	list := []arch.Package{pkg("waymark/z"), pkg("waymark/a"), pkg("waymark/z")}
	want := []string{
		"waymark/a is in no layer: add it to one in test/arch/rules.go",
		"waymark/z is in no layer: add it to one in test/arch/rules.go",
	}
	if diff := cmp.Diff(want, arch.Waymark().Check(list)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLoadErrors(t *testing.T) {
	if _, err := arch.Load(t.Context(), "missing", "", "", "./..."); err == nil {
		t.Error("a directory that doesn't exist is no error")
	}
	if _, err := arch.Load(t.Context(), ".", "", "", "-nosuchflag"); err == nil || !strings.Contains(err.Error(), "nosuchflag") {
		t.Errorf("got %v, want what the go command says", err)
	}
}
