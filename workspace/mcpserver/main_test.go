package mcpserver_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"waymark/abi"
	"waymark/agent/server/servertest"
	"waymark/agentapi/client"
	"waymark/agentapi/client/fake"
	"waymark/snapshot"
	"waymark/workspace/mcpserver"
	"waymark/workspace/mcpserver/tools"
)

// patience bounds what is waited for: some hundred times what it takes.
const patience = time.Minute

// world is an agent in memory with a server for it.
type world struct {
	*testing.T
	agent   *fake.Agent
	engine  *servertest.Backend
	server  *mcpserver.Server
	changed chan string // what the client is told has changed
}

// start starts a server. change may change its options.
func start(t *testing.T, change func(*world, *mcpserver.Options)) *world {
	t.Helper()
	engine := &servertest.Backend{Skills: map[string]map[string]string{}, Bodies: map[string][]byte{}}
	engine.Report.Roots = []string{"/home/user/.waymark", "/workspace"}
	engine.PublishResources()
	w := &world{T: t, engine: engine, agent: fake.New(fake.Options{Engine: engine}), changed: make(chan string, 1000)}
	t.Cleanup(func() { _ = w.agent.Close() })
	opts := mcpserver.Options{Offer: tools.All(), Dial: func(context.Context) (client.Client, error) { return w.agent, nil }}
	if change != nil {
		change(w, &opts)
	}
	w.server = mcpserver.New(opts)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.server.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return w
}

// connect connects a client over pipes.
func (w *world) connect() *mcp.ClientSession {
	w.Helper()
	toServer, fromClient := io.Pipe()
	toClient, fromServer := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.server.ServeStdio(ctx, toServer, fromServer) }()
	tell := func(what string) { w.changed <- what }
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		Capabilities:               &mcp.ClientCapabilities{},
		ToolListChangedHandler:     func(context.Context, *mcp.ToolListChangedRequest) { tell("tools") },
		ResourceListChangedHandler: func(context.Context, *mcp.ResourceListChangedRequest) { tell("resources") },
		PromptListChangedHandler:   func(context.Context, *mcp.PromptListChangedRequest) { tell("prompts") },
	})
	// These are methods of the extension, which the SDK doesn't know.
	for _, err := range []error{
		mcp.AddSendingCustomMethod[*request, *answer](c, "skills/list"), mcp.AddSendingCustomMethod[*request, *answer](c, "skills/get"),
		mcp.AddSendingCustomMethod[*request, *answer](c, "resources/directory/read"),
	} {
		if err != nil {
			w.Fatal(err)
		}
	}
	session, err := c.Connect(w.Context(), &mcp.IOTransport{Reader: toClient, Writer: fromClient}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() {
		_ = session.Close()
		cancel()
		if err := <-done; err != nil {
			w.Error(err)
		}
	})
	return session
}

// request and answer are those of the skills extension.
type request struct {
	mcp.ParamsBase
	URI    string `json:"uri,omitempty"`
	Cursor string `json:"cursor,omitempty"`
}

type entry struct {
	URI         string         `json:"uri"`
	FrontMatter map[string]any `json:"frontmatter"`
	Resources   []struct {
		URI    string `json:"uri"`
		Digest string `json:"digest"`
		Size   int64  `json:"size"`
	} `json:"resources"`
}

type answer struct {
	mcp.ResultBase
	ResultType string         `json:"resultType"`
	Skills     []entry        `json:"skills"`
	Skill      entry          `json:"skill"`
	Resources  []mcp.Resource `json:"resources"`
	NextCursor string         `json:"nextCursor"`
}

// await waits until clients are told that something has changed.
func (w *world) await(what string) {
	w.Helper()
	timeout := time.After(patience)
	for {
		select {
		case got := <-w.changed:
			if got == what {
				return
			}
		case <-timeout:
			w.Fatalf("nobody is told that the %s have changed", what)
		}
	}
}

// skill is a find with the files of its directory.
func (w *world) skill(dir, name, description string, files map[string]string) snapshot.Resource {
	r := snapshot.Resource{Kind: abi.KindSkill, Source: dir, Name: name, Description: description, Status: snapshot.StatusOK}
	all := map[string]string{"SKILL.md": fmt.Sprintf("---\nname: %s\ndescription: %s\n---\nDo it.\n", name, description)}
	for file, content := range files {
		all[file] = content
	}
	w.engine.Skills[r.ID()] = all
	return resource(r, all["SKILL.md"])
}

func instructions(file, content string, readers ...string) snapshot.Resource {
	return resource(snapshot.Resource{Kind: abi.KindInstructionFile, Source: file, Name: path.Base(file), Status: snapshot.StatusOK, Readers: readers}, content)
}

func resource(r snapshot.Resource, content string) snapshot.Resource {
	sum := sha256.Sum256([]byte(content))
	r.Payload, r.ContentHash, r.SizeBytes, r.Resolver = []byte(content), sum[:], int64(len(content)), "test/test@1"
	return r
}

// call calls a tool and returns its text.
func call(t *testing.T, s *mcp.ClientSession, name string, arguments any) (text string, failed bool) {
	t.Helper()
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	var b strings.Builder
	for _, c := range r.Content {
		if c, ok := c.(*mcp.TextContent); ok {
			b.WriteString(c.Text)
		}
	}
	return b.String(), r.IsError
}

func toolNames(t *testing.T, s *mcp.ClientSession) string {
	t.Helper()
	var names []string
	for tool, err := range s.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, tool.Name)
	}
	return strings.Join(names, " ")
}

// sizeOf is what something takes as JSON.
func sizeOf(t *testing.T, v any) int {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return len(text)
}
