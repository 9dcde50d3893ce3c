package chats_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"waymark/agentapi"
	"waymark/agentapi/client"
	"waymark/test/built"
	"waymark/test/process"
)

// TestActing: a chat runs commands in the workspace and calls a tool of an MCP server behind
// the agent, with a capability that is good for them; one with a narrower one calls what
// that names, and nothing else.
func TestActing(t *testing.T) {
	all := []string{"processes", "files", "mcp"}
	w := newWorld(t, agentapi.NewToken{Scopes: all})
	w.must(built.Programs(w.ctx, w.dir, false, "waymark/test/mcp/servers/mcpserver"))
	w.write(".mcp.json", fmt.Sprintf(`{"mcpServers": {"hello": {"command": %q}}}`, filepath.Join(w.dir, "mcpserver")))
	control, err := w.home.ControlToken()
	w.must(err)
	owner := client.New(w.home.Socket(), client.Options{Token: control})
	approve(w, owner, "hello")

	c := w.startChat()
	for !strings.Contains(c.do("tools"), "hello__echo: ") { // it starts
		w.must(process.Pause(w.ctx, 50*time.Millisecond))
	}
	c.wants("tools", "execute: ", "process_output: ", "write_file: ")
	c.wants(`call execute {"command":"touch made; echo in $(basename $PWD); exit 3"}`, `"exit_code":3`, `in ws\n`)
	if _, err := os.Stat(filepath.Join(w.root, "made")); err != nil {
		t.Error(err)
	}
	begun := c.do(`call execute {"command":"echo begun; sleep 600","timeout":"1s"}`)
	id := regexp.MustCompile(`process_id":"([^"]+)"`).FindStringSubmatch(begun)
	if id == nil {
		t.Fatalf("no process goes on: %s", begun)
	}
	c.wants("call process_list {}", id[1], "sleep 600")
	c.wants(fmt.Sprintf(`call process_signal {"process_id":%q,"signal":"terminate"}`, id[1]))
	c.wants(`call hello__echo {"message":"hi there"}`, "hi there")
	c.wants(`call hello__add {"a":40,"b":2}`, "42")
	// longOf calls a tool whose result is too long, and has all of it shown.
	longOf := func(c *chat) {
		t.Helper()
		shown := c.do(`call hello__long {"bytes":200000}`)
		id := regexp.MustCompile(`tool_result shows all, with result_id ([0-9a-f-]+)`).FindStringSubmatch(shown)
		if id == nil {
			t.Fatalf("nobody is told where the rest is: %.200s … %s", shown, shown[max(0, len(shown)-200):])
		}
		c.wants(fmt.Sprintf(`call tool_result {"result_id":%q,"offset":100000}`, id[1]), `"next_offset":`)
	}
	longOf(c)
	c.wants(`call hello__nothing {}`, "was not called")

	made, err := owner.CreateToken(w.ctx, agentapi.NewToken{Scopes: all, Hub: &agentapi.Capability{Tools: []string{"hello__echo", "hello__long"}}})
	w.must(err)
	w.capacity = w.secret("narrow", made.Secret)
	narrow := w.startChat()
	if said := narrow.do("tools"); !strings.Contains(said, "hello__echo: ") || strings.Contains(said, "hello__add") || strings.Contains(said, "execute") {
		t.Errorf("the narrow capability is offered %s", said)
	}
	narrow.wants(`call hello__echo {"message":"still here"}`, "still here")
	longOf(narrow)
	narrow.wants(`call hello__add {"a":40,"b":2}`, "not good for the tool hello__add")
	narrow.wants(`call execute {"command":"touch more"}`, "not good for the tool execute")
	if _, err := os.Stat(filepath.Join(w.root, "more")); err == nil {
		t.Error("a capability for another tool has run a command")
	}
	w.must(owner.Stop(w.ctx)) // the supervisor, too
}

// approve approves an MCP server as it is, once the agent knows of it.
func approve(w *world, owner client.Client, name string) {
	w.t.Helper()
	for {
		detail, err := owner.MCPServer(w.ctx, name)
		if err == nil {
			err = owner.ApproveMCPServer(w.ctx, name, agentapi.ApproveMCPServer{Definition: detail.Definition, Local: detail.Local, Held: detail.HeldDigest})
		}
		if err == nil {
			return
		}
		if process.Pause(w.ctx, 50*time.Millisecond) != nil {
			w.t.Fatalf("%s can't be approved: %v", name, err)
		}
	}
}
