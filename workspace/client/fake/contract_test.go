package fake_test

import (
	"context"
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"waymark/test/contracts/clienttest"
	"waymark/workspace"
	"waymark/workspace/client"
	"waymark/workspace/client/fake"
	"waymark/workspace/files/edit"
)

// TestContract: the fake is as the agent is, as far as the contract goes.
func TestContract(t *testing.T) {
	clienttest.Run(t, func(t *testing.T) (client.Client, clienttest.Env) {
		a := fake.New(fake.Options{})
		t.Cleanup(func() { _ = a.Close() })
		e := &env{a, map[string]map[string]string{}}
		e.Mkdir(t, e.Outside())
		return a, e
	})
}

// env is the fake's.
type env struct {
	agent     *fake.Agent
	committed map[string]map[string]string // by repository and name
}

func (e *env) Root() string    { return "/workspace" }
func (e *env) Home() string    { return "/home/user" }
func (e *env) Outside() string { return "/elsewhere" }

func (e *env) must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (e *env) Write(t testing.TB, name, content string) {
	e.must(t, e.agent.Files().Write(name, content))
}
func (e *env) Mkdir(t testing.TB, name string)        { e.must(t, e.agent.Files().Mkdir(name)) }
func (e *env) Link(t testing.TB, target, name string) { e.must(t, e.agent.Files().Link(target, name)) }
func (e *env) Read(_ testing.TB, name string) string {
	content, _ := e.agent.Files().Read(name) // "" where there is none
	return content
}

func (e *env) Repository(t testing.TB, dir string) {
	e.committed[dir] = map[string]string{"a.txt": "one\ntwo\nthree\n"}
	e.Change(t, dir, "a.txt", "one\ntwo\nthree\n")
}

func (e *env) Change(t testing.TB, dir, name, content string) {
	e.Write(t, path.Join(dir, name), content)
	if _, known := e.committed[dir][name]; !known {
		e.committed[dir][name] = ""
	}
	diff, files := "", []workspace.GitFile{}
	for _, name := range slices.Sorted(maps.Keys(e.committed[dir])) {
		one := edit.Diff(name, e.committed[dir][name], e.Read(t, path.Join(dir, name)))
		if diff += one; one != "" {
			files = append(files, workspace.GitFile{Path: name, Added: strings.Count(one, "\n+") - 1, Removed: strings.Count(one, "\n-")})
		}
	}
	e.agent.SetGitDiff(workspace.GitDiff{RepoRoot: dir, Branch: "main", Files: files, Diff: diff})
	e.agent.SetRepository(workspace.GitRepository{RepoRoot: dir, Branch: "main", RemoteOrigin: "https://example.com/r.git", UnifiedDiff: diff})
}

func (e *env) MCPServer(testing.TB) {
	text := func(s string) *workspace.MCPToolResult {
		return &workspace.MCPToolResult{Content: []workspace.MCPContent{{Type: "text", Text: s}}}
	}
	type progress = func(workspace.MCPProgress)
	e.agent.SetMCPServers(fake.MCPServer{
		Name: clienttest.MCPServerName, Title: "Demo server", Stderr: "demo is here\n",
		Tools: []fake.MCPTool{
			{
				Name: "echo", Title: "Echo", Description: "Gives a text back", Annotations: json.RawMessage(`{"readOnlyHint":true}`),
				InputSchema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`),
				Call: func(_ context.Context, arguments json.RawMessage, _ progress) (*workspace.MCPToolResult, error) {
					var in struct{ Text string }
					err := json.Unmarshal(arguments, &in)
					return text(in.Text), err
				},
			},
			{Name: "fail", Call: func(context.Context, json.RawMessage, progress) (*workspace.MCPToolResult, error) {
				result := text("it has failed")
				result.IsError = true
				return result, nil
			}},
			{Name: "steps", Call: func(_ context.Context, arguments json.RawMessage, step progress) (*workspace.MCPToolResult, error) {
				var in struct{ N int }
				err := json.Unmarshal(arguments, &in)
				for i := range in.N {
					step(workspace.MCPProgress{Progress: float64(i + 1), Total: float64(in.N), Message: "step"})
				}
				return text("done"), err
			}},
			{Name: "repeat", Call: func(_ context.Context, arguments json.RawMessage, _ progress) (*workspace.MCPToolResult, error) {
				var in struct {
					Text  string
					Times int
				}
				err := json.Unmarshal(arguments, &in)
				return text(strings.Repeat(in.Text, in.Times)), err
			}},
			{Name: "structured", Call: func(context.Context, json.RawMessage, progress) (*workspace.MCPToolResult, error) {
				result := text(`{"a":1}`)
				result.Structured = json.RawMessage(`{"a":1}`)
				return result, nil
			}},
			{Name: "hang", Call: func(ctx context.Context, _ json.RawMessage, _ progress) (*workspace.MCPToolResult, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}},
		},
	})
}

func (e *env) Unmake(_ testing.TB, dir string) { e.agent.RemoveRepository(dir) }
func (e *env) Restart(testing.TB)              { e.agent.Restart() }
func (e *env) WithToken(token string) client.Client {
	return e.agent.WithToken(token)
}
