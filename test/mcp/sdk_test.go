package mcp_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"waymark/agentapi"
	"waymark/agentapi/client"
	"waymark/test/built"
)

// examples are the SDK's own that are servers over stdio or HTTP: of the version in
// go.mod, from the module cache. Those that are left out talk to themselves in one
// process (basic, custom-method, elicitation, middleware), only show a configuration
// (completion), or are for fixed ports (proxy, auth/server).
var examples = []string{
	"server/hello", "server/custom-transport", "server/toolschemas", "server/everything", "server/memory",
	"server/sequentialthinking", "server/sse", "server/distributed", "http",
}

// buildExamples builds them and returns their directory.
func (w *world) buildExamples() string {
	w.t.Helper()
	dir := filepath.Join(w.home.Dir, "examples")
	packages := make([]string, len(examples))
	for i, name := range examples {
		packages[i] = "github.com/modelcontextprotocol/go-sdk/examples/" + name
	}
	w.must(os.Mkdir(dir, 0o700))
	w.must(built.Programs(w.ctx, dir, false, packages...))
	return dir
}

// TestServersOfTheSDK calls every tool of the SDK's own examples, over each transport.
func TestServersOfTheSDK(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	dir := w.buildExamples()
	program := func(name string, args ...string) entry {
		return entry{Command: filepath.Join(dir, name), Args: args, Env: map[string]string{"WAYMARK_TEST_WORLD": w.mark()}}
	}
	w.put(filepath.Join(w.home.Dir, "kept/graph.json"), "")
	w.configure(config{
		"hello":           program("hello"),
		"transport":       program("custom-transport"),
		"schemas":         program("toolschemas"),
		"thinking":        program("sequentialthinking"),
		"everything":      program("everything"),
		"memory":          program("memory", "-memory", filepath.Join(w.home.Dir, "kept/graph.json")),
		"everything-http": {Type: "http", URL: "http://" + w.serve("/", flagged(w, dir, "everything", "-http", "127.0.0.1:"))},
		"memory-http":     {Type: "http", URL: "http://" + w.serve("/", flagged(w, dir, "memory", "-http", "127.0.0.1:"))},
		"thinking-http":   {Type: "http", URL: "http://" + w.serve("/", flagged(w, dir, "sequentialthinking", "-http", "127.0.0.1:"))},
		"time":            {Type: "http", URL: "http://" + w.serve("/", flagged(w, dir, "http", "-host=127.0.0.1", "-port=", "server"))},
		"stateless":       {Type: "http", URL: "http://" + w.serve("/", w.stateless(dir))},
		"sse":             {Type: "sse", URL: "http://" + w.serve("/", flagged(w, dir, "sse", "-host=127.0.0.1", "-port=")) + "/greeter1"},
	})
	w.start()
	calls := map[string]func(*chat){
		"hello": (*chat).greet, "transport": (*chat).greet, "schemas": (*chat).schemas, "thinking": (*chat).thinking, "thinking-http": (*chat).thinking,
		"everything": (*chat).sdkEverything, "everything-http": (*chat).sdkEverything, "memory": (*chat).sdkMemory, "memory-http": (*chat).sdkMemory,
		"time":      func(c *chat) { c.does("cityTime", `{"city":"boston"}`, "The current time in Boston is") },
		"stateless": func(c *chat) { c.does("inc", `{}`, `"Count":1`); c.does("inc", `{}`, `"Count":2`) },
		"sse":       func(c *chat) { c.does("greet1", `{"name":"Ada"}`, "Hi Ada") },
	}
	for name := range calls {
		w.listed(name)
		if name == "memory" {
			w.approveWith(agentapi.MCPWidening{Write: []string{filepath.Join(w.home.Dir, "kept")}}, name)
		} else {
			w.approve(name)
		}
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			c := w.in(t).chat(name)
			c.becomes(name, works...)
			call(c)
			c.all()
		})
	}
	w.stop()
}

// flagged is a program with its port at the end of the flag that ends with ":" or "=".
func flagged(w *world, dir, name string, args ...string) func(port string) *exec.Cmd {
	return func(port string) *exec.Cmd {
		with := make([]string, len(args))
		for i, arg := range args {
			if with[i] = arg; strings.HasSuffix(arg, ":") || strings.HasSuffix(arg, "=") {
				with[i] += port
			}
		}
		return exec.CommandContext(w.ctx, filepath.Join(dir, name), with...)
	}
}

// stateless is one of the servers among which the example distributes its requests.
func (w *world) stateless(dir string) func(port string) *exec.Cmd {
	return func(port string) *exec.Cmd {
		cmd := exec.CommandContext(w.ctx, filepath.Join(dir, "distributed"))
		cmd.Env = append(w.home.Environ(), "MCP_CHILD_PORT="+port)
		return cmd
	}
}

func (c *chat) greet() {
	c.t.Helper()
	c.does("greet", `{"name":"Ada"}`, "Hi Ada")
}

// fails requires that a tool says that it has failed, with a text in it.
func (c *chat) fails(tool, arguments, want string) {
	c.t.Helper()
	c.called[tool] = true
	r, err := c.call(c.server+"__"+tool, arguments)
	switch {
	case err != nil:
		if !strings.Contains(err.Error(), want) {
			c.t.Errorf("%s: %v, without %q", tool, err, want)
		}
	case !r.IsError || !strings.Contains(say(r), want):
		c.t.Errorf("%s answers %v, %.2000s, without %q", tool, r.IsError, say(r), want)
	}
}

func (c *chat) schemas() {
	c.t.Helper()
	c.does("simple greeting", `{"name":"Ada"}`, `"greeting":"Hi Ada"`)
	c.does("manual greeting", `{"name":"Ada"}`, `"greeting":"Hi Ada"`)
	c.does("unvalidated greeting", `{"user":"Ada"}`, "Hi Ada")
	for _, tool := range []string{"customized greeting 1", "customized greeting 2"} {
		c.does(tool, `{"name":"Ada"}`, `"greeting":"Hi Ada"`)
	}
	for _, tool := range []string{"manual greeting", "customized greeting 1", "customized greeting 2"} {
		c.fails(tool, `{"name":"Ada, Countess of Lovelace"}`, "maxLength")
	}
}

func (c *chat) thinking() {
	c.t.Helper()
	c.does("start_thinking", `{"problem":"what is 6 by 9","sessionId":"one","estimatedSteps":2}`, "Estimated steps: 2")
	c.does("continue_thinking", `{"sessionId":"one","thought":"it is 42"}`, "it is 42")
	c.does("continue_thinking", `{"sessionId":"one","thought":"it is 54","reviseStep":1}`, "54")
	c.does("review_thinking", `{"sessionId":"one"}`, "it is 54 (revised)")
	c.fails("review_thinking", `{"sessionId":"two"}`, "two not found")
}

// sdkEverything calls also what asks its client for something: that is refused, unless
// it is a sign of life.
func (c *chat) sdkEverything() {
	c.t.Helper()
	c.greet()
	c.does("greet (structured)", `{"name":"Ada"}`, `"message":"Hi Ada"`)
	c.does("greet (with Icons)", `{"name":"Ada"}`, `"message":"Hi Ada"`)
	link := c.does("greet (content with ResourceLink)", `{"name":"Ada"}`, "")
	if len(link.Content) != 1 || link.Content[0].Type != "resource_link" || link.Content[0].URI != "data:text/plain,Hi%20Ada" {
		c.t.Errorf("the link: %+v", link.Content)
	}
	c.does("ping", `{}`, "")
	c.does("log", `{}`, "")
	if c.server == "everything" {
		// By the newest protocol, which the example speaks over stdio, nothing may be asked
		// in the middle of a call; the SDK says so to its own example.
		c.fails("roots", `{}`, "listing roots failed")
	} else {
		c.does("roots", `{}`, "") // there are none
	}
	c.fails("sample", `{}`, "sampling failed")
	c.fails("elicit (form)", `{}`, "eliciting failed")
	c.fails("elicit (url)", `{}`, "eliciting failed")
}

func (c *chat) sdkMemory() {
	c.t.Helper()
	c.does("create_entities", `{"entities":[{"name":"Ada","entityType":"person","observations":["counts"]},{"name":"Engine","entityType":"machine","observations":[]}]}`, "Ada")
	c.does("create_relations", `{"relations":[{"from":"Ada","to":"Engine","relationType":"programs"}]}`, "programs")
	c.does("add_observations", `{"observations":[{"entityName":"Ada","contents":["writes"]}]}`, "writes")
	c.does("search_nodes", `{"query":"writes"}`, "Ada")
	c.does("open_nodes", `{"names":["Engine"]}`, "machine")
	c.does("read_graph", `{}`, "programs")
	c.does("delete_observations", `{"deletions":[{"entityName":"Ada","contents":[],"observations":["counts"]}]}`, "")
	c.does("delete_relations", `{"relations":[{"from":"Ada","to":"Engine","relationType":"programs"}]}`, "")
	c.does("delete_entities", `{"entityNames":["Engine"]}`, "")
}

// TestPages: the tools of a server that lists them in pages are all there, once each,
// whatever the size of a page.
func TestPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	sizes := []int{1, 3, 7, 100}
	servers := config{}
	for _, size := range sizes {
		servers[fmt.Sprint("by", size)] = entry{
			Command: filepath.Join(w.servers, "mcpserver"), Args: []string{fmt.Sprint("-page=", size)}, Env: map[string]string{"WAYMARK_TEST_WORLD": w.mark()},
		}
	}
	w.configure(servers)
	w.start()
	want := []string{"add", "echo", "fail", "long", "picture", "secret", "steps"}
	for name := range servers {
		w.listed(name)
		w.approve(name)
		w.becomes(name, works...)
		list, err := w.client.ListMCPTools(w.ctx, client.MCPToolOptions{})
		w.must(err)
		var have []string
		for _, tool := range list.Tools {
			if tool.ServerName == name {
				have = append(have, strings.TrimPrefix(tool.Name, name+"__"))
			}
		}
		if fmt.Sprint(have) != fmt.Sprint(want) {
			t.Errorf("%s: %v, want %v", name, have, want)
		}
		w.chat(name).does(want[len(want)-1], `{"count":2}`, "all steps are taken")
	}
	w.stop()
}
