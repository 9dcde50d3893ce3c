package fake_test

import (
	"path"
	"testing"

	"waymark/workspace"
	"waymark/workspace/client"
	"waymark/workspace/client/clienttest"
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
	diff := ""
	for name, old := range e.committed[dir] {
		diff += edit.Diff(name, old, e.Read(t, path.Join(dir, name)))
	}
	e.agent.SetRepository(workspace.GitRepository{RepoRoot: dir, Branch: "main", RemoteOrigin: "https://example.com/r.git", UnifiedDiff: diff})
}

func (e *env) Unmake(_ testing.TB, dir string) { e.agent.RemoveRepository(dir) }
func (e *env) Restart(testing.TB)              { e.agent.Restart() }
func (e *env) WithToken(token string) client.Client {
	return e.agent.WithToken(token)
}
