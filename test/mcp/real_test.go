package mcp_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image/png"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"waymark/agentapi"
	"waymark/agentapi/client"
	"waymark/test/process"
)

// module is the program of a package from npm.
func module(modules, name string) string {
	return filepath.Join(modules, "@modelcontextprotocol", name, "dist", "index.js")
}

// node configures a server from npm.
func (w *world) node(modules, name string, args ...string) entry {
	return entry{Command: "node", Args: append([]string{module(modules, name)}, args...), Env: map[string]string{"WAYMARK_TEST_WORLD": w.mark()}}
}

// chat calls tools as a chat does: in the name of one, over the socket.
type chat struct {
	*world
	server string
	called map[string]bool
}

func (w *world) chat(server string) *chat {
	return &chat{world: w, server: server, called: map[string]bool{}}
}

// does requires that a tool answers, with a text in it.
func (c *chat) does(tool, arguments, want string) *agentapi.MCPToolResult {
	c.t.Helper()
	c.called[tool] = true
	r, err := c.call(c.server+"__"+tool, arguments)
	if err != nil {
		c.t.Errorf("%s: %v", tool, err)
		return &agentapi.MCPToolResult{}
	}
	if r.IsError || !strings.Contains(say(r)+string(r.Structured), want) {
		text, _ := json.Marshal(r)
		c.t.Errorf("%s answers %.2000s, without %q", tool, text, want)
	}
	return r
}

// all requires that every tool was called.
func (c *chat) all() {
	c.t.Helper()
	list, err := c.client.ListMCPTools(c.ctx, client.MCPToolOptions{})
	c.must(err)
	n := 0
	for _, tool := range list.Tools {
		if tool.ServerName != c.server {
			continue
		}
		n++
		if name := strings.TrimPrefix(tool.Name, c.server+"__"); !c.called[name] {
			c.t.Errorf("%s was not called", name)
		}
	}
	if n == 0 {
		c.t.Errorf("%s has no tools", c.server)
	}
	c.t.Logf("%s: %d tools called", c.server, len(c.called))
}

// TestServersFromNPM calls every tool of real servers.
func TestServersFromNPM(t *testing.T) {
	t.Parallel()
	modules := fromNPM(t, "testdata/npm")
	w := newWorld(t, "")
	w.put(filepath.Join(w.root, "files/a.txt"), "one\ntwo\nthree\n")
	w.configure(config{
		"everything": w.node(modules, "server-everything", "stdio"),
		"files":      w.node(modules, "server-filesystem", filepath.Join(w.root, "files")),
		"memory":     w.memory(modules),
		"http":       {Type: "http", URL: w.everythingHTTP(modules)},
	})
	w.start()
	w.listed("everything", "files", "memory", "http")
	w.approve("http")
	w.approveWith(agentapi.MCPWidening{Read: []string{modules}}, "everything")
	w.approveWith(agentapi.MCPWidening{Read: []string{modules}, Write: []string{"files", w.kept()}}, "files", "memory")
	for _, name := range []string{"everything", "http"} {
		t.Run(name, func(t *testing.T) { w.in(t).chat(name).everything() })
	}
	t.Run("files", func(t *testing.T) { w.in(t).chat("files").files() })
	t.Run("memory", func(t *testing.T) { w.in(t).chat("memory").memory() })
	w.stop()
}

// kept is a directory beside the workspace.
func (w *world) kept() string {
	dir := filepath.Join(w.home.Dir, "kept")
	w.must(os.MkdirAll(dir, 0o700))
	return dir
}

func (w *world) memory(modules string) entry {
	e := w.node(modules, "server-memory")
	// Not in the workspace: a file there that an entry names is part of what is approved.
	e.Env["MEMORY_FILE_PATH"] = filepath.Join(w.kept(), "memory.json")
	return e
}

// everythingHTTP starts server-everything over HTTP and returns its URL.
func (w *world) everythingHTTP(modules string) string {
	w.t.Helper()
	return "http://" + w.serve("/mcp", func(port string) *exec.Cmd {
		cmd := exec.CommandContext(w.ctx, "node", module(modules, "server-everything"), "streamableHttp")
		cmd.Env = append(w.home.Environ(), "PORT="+port)
		return cmd
	}) + "/mcp"
}

// serve starts a server that listens on a port of the loopback interface, until the
// test ends, and returns its host and port. It answers path then, if only with an error.
func (w *world) serve(path string, command func(port string) *exec.Cmd) string {
	w.t.Helper()
	var lc net.ListenConfig
	for range 5 { // somebody else may take the port
		l, err := lc.Listen(w.ctx, "tcp", "127.0.0.1:0")
		w.must(err)
		at := l.Addr().String()
		_, port, err := net.SplitHostPort(at)
		w.must(err)
		w.must(l.Close())
		cmd := command(port)
		if cmd.Env == nil {
			cmd.Env = w.home.Environ()
		}
		p, err := process.Start(cmd)
		w.must(err)
		w.t.Cleanup(p.Kill)
		if w.answers("http://"+at+path, p) {
			return at
		}
	}
	w.t.Fatal("no server listens")
	return ""
}

// answers waits until an address does; false when what should serve it has ended, or
// never does.
func (w *world) answers(address string, p *process.Process) bool {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.ctx, http.MethodGet, address, nil)
	w.must(err)
	for begun := time.Now(); time.Since(begun) < timeout; {
		if r, err := http.DefaultClient.Do(req); err == nil {
			_ = r.Body.Close()
			return true
		}
		select {
		case <-p.Done():
			w.t.Logf("it has ended: %.2000s", p.Output())
			return false
		case <-time.After(20 * time.Millisecond):
		}
	}
	return false
}

func (c *chat) everything() {
	c.t.Helper()
	c.does("echo", `{"message":"hello"}`, "hello")
	c.does("get-sum", `{"a":40,"b":2}`, "42")
	c.does("get-env", `{}`, "")
	c.does("get-annotated-message", `{"messageType":"success","includeImage":true}`, "")
	c.does("get-structured-content", `{"location":"Chicago"}`, "temperature")
	c.does("toggle-simulated-logging", `{}`, "")
	c.does("toggle-simulated-logging", `{}`, "")
	c.does("toggle-subscriber-updates", `{}`, "")
	c.does("toggle-subscriber-updates", `{}`, "")
	c.called["simulate-research-query"] = true // a task, which this client doesn't offer
	if r, err := c.call(c.server+"__simulate-research-query", `{"topic":"x"}`); err == nil {
		c.t.Logf("simulate-research-query: %v, %s", r.IsError, say(r))
	}
	c.image(c.does("get-tiny-image", `{}`, ""))
	c.resources()
	c.progress()
	c.cancel()
	c.all()
}

// image requires that a result has a picture.
func (c *chat) image(r *agentapi.MCPToolResult) {
	c.t.Helper()
	i := slices.IndexFunc(r.Content, func(p agentapi.MCPContent) bool { return p.Type == "image" })
	if i < 0 {
		c.t.Errorf("there is no image in %+v", r.Content)
		return
	}
	data, err := base64.StdEncoding.DecodeString(r.Content[i].Data)
	c.must(err)
	// Its color profile has a wrong checksum, which Decode minds.
	if _, err := png.DecodeConfig(bytes.NewReader(data)); err != nil || r.Content[i].MediaType != "image/png" {
		c.t.Errorf("%s: %v", r.Content[i].MediaType, err)
	}
}

func (c *chat) resources() {
	c.t.Helper()
	kinds := map[string]int{}
	count := func(r *agentapi.MCPToolResult) {
		for _, p := range r.Content {
			if p.URI != "" {
				kinds[p.Type]++
			}
		}
	}
	count(c.does("get-resource-links", `{"count":3}`, ""))
	count(c.does("get-resource-reference", `{"resourceType":"Text","resourceId":1}`, ""))
	count(c.does("get-resource-reference", `{"resourceType":"Blob","resourceId":2}`, ""))
	count(c.does("gzip-file-as-resource", `{"name":"x.gz","data":"data:text/plain;base64,aGVsbG8=","outputType":"resource"}`, ""))
	if kinds["resource_link"] != 3 || kinds["resource"] != 3 {
		c.t.Errorf("links and resources: %v", kinds)
	}
}

// progress requires that every note of a call comes, in order, before its result.
func (c *chat) progress() {
	c.t.Helper()
	const tool = "trigger-long-running-operation"
	c.called[tool] = true
	var notes []float64
	r, err := c.client.CallMCPTool(c.ctx, agentapi.CallMCPTool{ToolName: c.server + "__" + tool, Arguments: json.RawMessage(`{"duration":0.4,"steps":4}`)},
		func(p agentapi.MCPProgress) { notes = append(notes, p.Progress) })
	if err != nil || r.IsError || !slices.Equal(notes, []float64{1, 2, 3, 4}) {
		c.t.Errorf("%v, %v, notes: %v", r, err, notes)
	}
}

// cancel requires that a call ends with its caller, and the server goes on.
func (c *chat) cancel() {
	c.t.Helper()
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	begun := time.Now()
	_, err := c.client.CallMCPTool(ctx, agentapi.CallMCPTool{ToolName: c.server + "__trigger-long-running-operation", Arguments: json.RawMessage(`{"duration":600,"steps":1200}`)},
		func(agentapi.MCPProgress) { cancel() })
	if err == nil || c.ctx.Err() != nil {
		c.t.Errorf("a canceled call: %v", err)
	}
	c.t.Logf("a canceled call ended after %v", time.Since(begun))
	c.does("echo", `{"message":"still there"}`, "still there")
}

func (c *chat) files() {
	c.t.Helper()
	dir := filepath.Join(c.root, "files")
	path := func(name string) string { return fmt.Sprintf("%q", filepath.Join(dir, name)) }
	c.does("list_allowed_directories", `{}`, dir)
	c.does("read_file", `{"path":`+path("a.txt")+`}`, "two")
	c.does("read_text_file", `{"path":`+path("a.txt")+`,"head":1}`, "one")
	c.does("read_media_file", `{"path":`+path("a.txt")+`}`, "")
	c.does("read_multiple_files", `{"paths":[`+path("a.txt")+`]}`, "three")
	c.does("write_file", `{"path":`+path("b.txt")+`,"content":"written\n"}`, "")
	c.does("edit_file", `{"path":`+path("b.txt")+`,"edits":[{"oldText":"written","newText":"edited"}]}`, "edited")
	if text, err := os.ReadFile(filepath.Join(dir, "b.txt")); err != nil || string(text) != "edited\n" {
		c.t.Errorf("the file holds %q: %v", text, err)
	}
	c.does("create_directory", `{"path":`+path("sub")+`}`, "")
	c.does("move_file", `{"source":`+path("b.txt")+`,"destination":`+path("sub/c.txt")+`}`, "")
	c.does("list_directory", `{"path":`+path("")+`}`, "sub")
	c.does("list_directory_with_sizes", `{"path":`+path("")+`}`, "a.txt")
	c.does("directory_tree", `{"path":`+path("")+`}`, "c.txt")
	c.does("search_files", `{"path":`+path("")+`,"pattern":"**/c.txt"}`, "c.txt")
	c.does("get_file_info", `{"path":`+path("a.txt")+`}`, "size")
	c.all()
}

func (c *chat) memory() {
	c.t.Helper()
	c.does("create_entities", `{"entities":[{"name":"Ada","entityType":"person","observations":["counts"]},{"name":"Engine","entityType":"machine","observations":[]}]}`, "Ada")
	c.does("create_relations", `{"relations":[{"from":"Ada","to":"Engine","relationType":"programs"}]}`, "programs")
	c.does("add_observations", `{"observations":[{"entityName":"Ada","contents":["writes"]}]}`, "writes")
	c.does("search_nodes", `{"query":"writes"}`, "Ada")
	c.does("open_nodes", `{"names":["Engine"]}`, "machine")
	c.does("read_graph", `{}`, "programs")
	c.does("delete_observations", `{"deletions":[{"entityName":"Ada","observations":["counts"]}]}`, "")
	c.does("delete_relations", `{"relations":[{"from":"Ada","to":"Engine","relationType":"programs"}]}`, "")
	c.does("delete_entities", `{"entityNames":["Engine"]}`, "")
	c.all()
}
