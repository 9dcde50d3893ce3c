package chats_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"waymark/agentapi"
	"waymark/agentapi/client"
	"waymark/test/built"
	"waymark/test/process"
)

// relayed are the differences between what a client has of a server directly and through
// 'agent mcp serve' or a hub, with their reasons. Everything else must be the same.
var relayed = map[string]map[string]string{
	"agent": {
		"capabilities": "subscriptions aren't relayed",
		"links":        "a link has its URI, name and media type",
	},
	"hub": {
		"capabilities":           "subscriptions aren't relayed",
		"links":                  "a link has its URI, name and media type, and a result names the pin in its _meta",
		"reference":              "a result names the pin in its _meta",
		"read what is not there": "an error has the server's text in ours",
		"asks by a form":         "before 2026-07-28 a client can't answer without a session",
		"asks by an address":     "before 2026-07-28 a client can't answer without a session",
		"asks a model":           "before 2026-07-28 a client can't answer without a session",
		"logs":                   "before 2026-07-28 a call doesn't say what is to be logged",
	},
	// The server keeps the first roots that it hears of, whoever has them.
	"agent, 2026-07-28": {"asks by an address": "an address has no id in 2026-07-28"},
	"hub, 2026-07-28":   {"asks by an address": "an address has no id in 2026-07-28"},
}

// TestRelay: what the official client has of @modelcontextprotocol/server-everything
// directly it has through the agent and through a hub, too.
func TestRelay(t *testing.T) {
	modules := built.NodeModules(t, "../mcp/testdata/npm")
	w := newWorld(t, agentapi.NewToken{Scopes: []string{"files", "mcp"}})
	server := filepath.Join(modules, "@modelcontextprotocol/server-everything/dist/index.js")
	node, err := exec.LookPath("node")
	w.must(err)
	w.write(".mcp.json", fmt.Sprintf(`{"mcpServers": {"everything": {"command": %q, "args": [%q, "stdio"]}}}`, node, server))
	control, err := w.home.ControlToken()
	w.must(err)
	owner := client.New(w.home.Socket(), client.Options{Token: control})
	for { // once the agent knows of it
		detail, err := owner.MCPServer(w.ctx, "everything")
		if err == nil {
			err = owner.ApproveMCPServer(w.ctx, "everything", agentapi.ApproveMCPServer{Definition: detail.Definition, Local: detail.Local, Held: detail.HeldDigest, MCPWidening: agentapi.MCPWidening{Read: []string{modules}, Asks: agentapi.MCPAsks}})
		}
		if err == nil {
			break
		}
		if process.Pause(w.ctx, 50*time.Millisecond) != nil {
			t.Fatal(err)
		}
	}
	read := func(path string) string {
		data, err := os.ReadFile(path)
		w.must(err)
		return strings.TrimSpace(string(data))
	}
	pin := struct{ ID string }{}
	w.must(post(http.DefaultClient, "http://"+w.web+"/api/v0/pins", `{"agent_id":"dev"}`, read(w.reader), "", &pin))
	ask := func(args ...string) (seen map[string]any) {
		t.Helper()
		script, err := filepath.Abs("testdata/relay.mjs")
		w.must(err)
		cmd := exec.CommandContext(w.ctx, node, append([]string{script, modules}, args...)...)
		cmd.Env, cmd.Dir = append(w.home.Environ(), "PATH="+os.Getenv("PATH")), w.root
		var said strings.Builder
		cmd.Stderr = &said
		out, err := cmd.Output()
		if err == nil {
			err = json.Unmarshal(out, &seen)
		}
		if err != nil {
			t.Fatalf("%v: %v\n%.2000s\n%.4000s", args, err, out, said.String())
		}
		return seen
	}
	direct := ask("sdk", "stdio", "node", server, "stdio")
	serve := []string{"stdio", filepath.Join(w.dir, "agent"), "mcp", "serve", "--list-all"}
	atHub := []string{"http", "http://" + w.web + "/api/v0/pins/" + pin.ID + "/mcp", read(w.reader), read(w.capacity)}
	through := map[string]map[string]any{
		"agent": ask(append([]string{"sdk"}, serve...)...), "agent, 2026-07-28": ask(append([]string{"client"}, serve...)...),
		"hub": ask(append([]string{"sdk"}, atHub...)...), "hub, 2026-07-28": ask(append([]string{"client"}, atHub...)...),
	}
	if len(direct) < 20 {
		t.Errorf("there is little to compare: %v", direct)
	}
	for way, known := range relayed {
		seen := through[way]
		for _, what := range slices.Sorted(maps.Keys(direct)) {
			if _, ok := seen[what]; !ok && strings.Contains(way, "2026") && !strings.HasPrefix(what, "asks") && what != "logs" {
				continue // it is asked only what differs by the version
			}
			same := reflect.DeepEqual(direct[what], seen[what])
			switch {
			case same && known[what] != "":
				t.Errorf("%s: %s is the same by now", way, what)
			case same:
			case known[what] != "":
				t.Logf("%s: %s: %s", way, what, known[what])
			default:
				a, _ := json.Marshal(direct[what])
				b, _ := json.Marshal(seen[what])
				t.Errorf("%s: %s is\n%.1500s\nand directly\n%.1500s", way, what, b, a)
			}
		}
		for what := range seen {
			if _, ok := direct[what]; !ok {
				t.Errorf("%s: %s isn't there directly", way, what)
			}
		}
	}
	w.must(owner.Stop(w.ctx))
}
