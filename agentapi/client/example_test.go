package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log"
	"strings"
	"time"

	"github.com/google/uuid"

	"waymark/agentapi"
	"waymark/agentapi/client"
	"waymark/agentapi/client/fake"
	"waymark/workspace/mcp/catalog"
)

// connect is where a program would have
// client.New("/run/user/1000/waymark/….sock", client.Options{Token: token}).
func connect() (c client.Client, done func()) {
	prints := func(text string, code int) fake.Program {
		return func(_ context.Context, p *fake.Process) int {
			_, _ = fmt.Fprint(p.Output, text)
			return code
		}
	}
	agent := fake.New(fake.Options{Programs: map[string]fake.Program{
		"echo hello; exit 3": prints("hello\n", 3),
		"seq":                prints("1\n2\n3\n", 0),
	}})
	return agent, func() { _ = agent.Close() }
}

// A command that a model has asked for: it runs once, however often the request is
// sent, and the chat waits for it for ten seconds.
func Example_execute() {
	c, done := connect()
	defer done()
	chat := c.For(agentapi.Caller{Chat: uuid.MustParse("5d3c1b8e-0000-4000-8000-000000000001")})
	ctx, cancel := context.WithTimeout(context.Background(), 40*time.Second)
	defer cancel()

	started, err := chat.StartProcess(ctx, agentapi.StartProcess{Command: "echo hello; exit 3", ClientToken: "message 17, call 2"})
	if err != nil {
		log.Fatal(err)
	}
	out, err := chat.ProcessOutput(ctx, started.ID, agentapi.OutputOptions{Wait: true, WaitFor: 10 * time.Second})
	switch {
	case err != nil:
		log.Fatal(err)
	case out.Running:
		fmt.Println("it goes on in the background as", started.ID)
	case out.Lost != "":
		fmt.Println("nobody knows how it has ended:", out.Lost)
	default:
		fmt.Printf("exit code %d, %q\n", *out.ExitCode, out.Output)
	}
	// Output: exit code 3, "hello\n"
}

// All that a process writes, to its end, over restarts of the agent.
func ExampleFollow() {
	c, done := connect()
	defer done()
	ctx := context.Background()
	started, err := c.StartProcess(ctx, agentapi.StartProcess{Command: "seq 1 3"})
	if err != nil {
		log.Fatal(err)
	}
	for part, err := range client.Follow(ctx, c, started.ID) {
		if err != nil {
			log.Print(err) // the agent is away, say: the loop waits for it
			continue
		}
		fmt.Print(string(part))
	}
	// Output:
	// 1
	// 2
	// 3
}

// Edits are made all together or not at all, and what is wrong with them is for the
// model to read.
func ExampleFiles_editFiles() {
	c, done := connect()
	defer done()
	ctx := context.Background()
	if err := c.WriteFile(ctx, "/workspace/main.go", strings.NewReader("package main\n\nvar a = 1\nvar b = 1\n")); err != nil {
		log.Fatal(err)
	}
	edit := func(search, replace string) agentapi.EditFiles {
		return agentapi.EditFiles{IncludeDiff: true, Files: []agentapi.FileEdits{{
			Path: "/workspace/main.go", Edits: []agentapi.Edit{{Search: search, Replace: replace}},
		}}}
	}
	_, err := c.EditFiles(ctx, edit("= 1", "= 2"))
	fmt.Println(client.CodeOf(err), strings.Contains(err.Error(), "matches 2 occurrences"))

	edited, err := c.EditFiles(ctx, edit("var a = 1", "var a = 2"))
	if err != nil {
		log.Fatal(err)
	}
	for line := range strings.Lines(edited.Files[0].Diff) {
		if strings.HasPrefix(line, "+var") || strings.HasPrefix(line, "-var") {
			fmt.Print(line)
		}
	}
	// Output:
	// 400 true
	// -var a = 1
	// +var a = 2
}

// changed is a workspace with a change that isn't committed.
type changed struct{ client.Client }

func (changed) WatchGit(context.Context, client.GitOptions) iter.Seq2[*agentapi.GitMessage, error] {
	return func(yield func(*agentapi.GitMessage, error) bool) {
		yield(&agentapi.GitMessage{Type: agentapi.GitChanges, Repositories: []agentapi.GitRepository{
			{RepoRoot: "/workspace", Branch: "main", UnifiedDiff: "+fresh\n"},
		}}, nil)
	}
}

// A chat sees the repositories that it has touched, itself or through the chats
// that it has started.
func ExampleClient_watchGit() {
	agent := fake.New(fake.Options{Rest: changed{}}) // the fake has no git
	defer func() { _ = agent.Close() }()

	var c client.Client = agent
	for message, err := range c.WatchGit(context.Background(), client.GitOptions{}) {
		if err != nil {
			log.Print(err)
			continue
		}
		for _, r := range message.Repositories {
			fmt.Print(r.RepoRoot, " on ", r.Branch, ": ", r.UnifiedDiff)
		}
		break
	}
	// Output: /workspace on main: +fresh
}

// A token for a chat that only plans: it reads everything but secrets, and writes
// one file.
func ExampleAccess_createToken() {
	agent := fake.New(fake.Options{})
	defer func() { _ = agent.Close() }()
	ctx := context.Background()
	token, err := agent.CreateToken(ctx, agentapi.NewToken{Plan: "/workspace/PLAN.md"})
	if err != nil {
		log.Fatal(err)
	}
	planner := agent.WithToken(token.Secret) // a program: client.New(address, client.Options{Token: token.Secret})
	fmt.Println(planner.WriteFile(ctx, "/workspace/PLAN.md", strings.NewReader("# Plan\n")))
	fmt.Println(client.CodeOf(planner.WriteFile(ctx, "/workspace/main.go", strings.NewReader(""))))
	// Output:
	// <nil>
	// 403
}

func ExampleMCP_callMCPTool() {
	agent := fake.New(fake.Options{MCP: []fake.MCPTool{{
		Server: "everything", Tool: catalog.Tool{Name: "echo", InputSchema: []byte(`{"type":"object"}`)},
		Call: func(_ context.Context, arguments json.RawMessage, _ func(agentapi.MCPProgress)) (*agentapi.MCPToolResult, error) {
			return &agentapi.MCPToolResult{Content: []agentapi.MCPContent{{Type: "text", Text: string(arguments)}}}, nil
		},
	}}})
	defer func() { _ = agent.Close() }()
	var c client.Client = agent
	ctx := context.Background()

	tools, err := c.ListMCPTools(ctx, client.MCPToolOptions{Wait: 30 * time.Second})
	if err != nil {
		log.Fatal(err)
	}
	for _, tool := range tools.Tools {
		fmt.Println(tool.Name, string(tool.InputSchema))
	}
	result, err := c.CallMCPTool(ctx, agentapi.CallMCPTool{ToolName: "everything__echo", Arguments: []byte(`{"message":"hi"}`)}, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.IsError, result.Content[0].Text)
	// Output:
	// everything__echo {"type":"object"}
	// false {"message":"hi"}
}
