package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"waymark/agent/server/servertest"
	"waymark/agentapi"
	"waymark/agentapi/client"
	"waymark/agentapi/client/fake"
	"waymark/workspace/mcpserver/tools"
)

// agent starts a fake agent.
func agent(t *testing.T, programs map[string]fake.Program) *fake.Agent {
	t.Helper()
	engine := servertest.New()
	engine.Report.Roots = []string{"/home/user/.waymark", "/workspace"}
	a := fake.New(fake.Options{Engine: engine, Programs: programs})
	t.Cleanup(func() { _ = a.Close() })
	return a
}

// call calls a tool of all, and returns its text.
func call(t *testing.T, c client.Client, name, arguments string) (text string, failed bool) {
	t.Helper()
	offer := tools.All().WithDesktop()
	r, err := offer.Call(t.Context(), c, name, json.RawMessage(arguments))
	if err != nil {
		t.Fatalf("%s %s: %v", name, arguments, err)
	}
	if len(r.Content) != 1 || r.Content[0].Type != "text" {
		t.Fatalf("%s answers %+v", name, r.Content)
	}
	return r.Content[0].Text, r.IsError
}

// answer calls a tool that succeeds, and decodes what it says.
func answer[T any](t *testing.T, c client.Client, name, arguments string) (v T) {
	t.Helper()
	text, failed := call(t, c, name, arguments)
	if failed {
		t.Fatalf("%s %s: %s", name, arguments, text)
	}
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%s answers %s: %v", name, text, err)
	}
	return v
}

// refused calls a tool with what the model is to mend, and looks for what it is told.
func refused(t *testing.T, c client.Client, name, arguments, want string) {
	t.Helper()
	if text, failed := call(t, c, name, arguments); !failed || !strings.Contains(text, want) {
		t.Errorf("%s %s: %q, failed %v; want %q", name, arguments, text, failed, want)
	}
}

// TestCatalogue: what a model is told of the tools fits what they take, and into a
// session's start.
func TestCatalogue(t *testing.T) {
	a := agent(t, nil)
	all := tools.All()
	size := 0
	for _, tool := range all.Tools() {
		text, err := json.Marshal(tool)
		if err != nil {
			t.Fatal(err)
		}
		size += len(text)
		var schema struct {
			Type                 string
			Properties           map[string]struct{ Type string }
			Required             []string
			AdditionalProperties *bool
		}
		if err := json.Unmarshal(tool.InputSchema, &schema); err != nil || schema.Type != "object" || schema.AdditionalProperties == nil {
			t.Errorf("%s has the schema %s: %v", tool.Name, tool.InputSchema, err)
		}
		for name, p := range schema.Properties {
			// Of the wrong type, so that nothing is done; and known.
			text, failed := call(t, a, tool.Name, fmt.Sprintf(`{%q:{"no":"such"}}`, name))
			if !failed || strings.Contains(text, "no parameter") {
				t.Errorf("%s: the parameter %s of the type %s: %s", tool.Name, name, p.Type, text)
			}
		}
		refused(t, a, tool.Name, `{"nonsense":1}`, tool.Name+` has no parameter "nonsense"`)
		refused(t, a, tool.Name, `[]`, "JSON object")
		refused(t, a, tool.Name, `{`, "no JSON")
		refused(t, a, tool.Name, `{} {}`, "more than one JSON object")
		for _, name := range schema.Required {
			if text, failed := call(t, a, tool.Name, `{}`); !failed || !strings.Contains(text, "needs") {
				t.Errorf("%s without %s: %s", tool.Name, name, text)
			}
		}
		if tool.Annotations.ReadOnly && tool.Annotations.Destructive || tool.Title == "" || len(tool.Description) > 300 {
			t.Errorf("%s is described by %+v", tool.Name, tool)
		}
	}
	if const8KiB := 8 << 10; size > const8KiB {
		t.Errorf("all tools take %d bytes of every chat, more than %d", size, const8KiB)
	}
}

func names(list []tools.Tool) string {
	var all []string
	for i := range list {
		all = append(all, list[i].Name)
	}
	return strings.Join(all, " ")
}

// TestOffer: what isn't offered isn't called.
func TestOffer(t *testing.T) {
	a := agent(t, nil)
	const reading = "read_file list_directory find_files search_files git_diff context_for read_skill"
	for _, test := range []struct {
		offer tools.Offer
		want  string
	}{
		{tools.Offer{}, reading},
		{tools.All().WithDesktop(), strings.Join(tools.Names(), " ")},
		{tools.Offer{Scopes: []string{"files"}}, "read_file write_file edit_files list_directory find_files search_files git_diff context_for read_skill"},
		{tools.Offer{Scopes: tools.All().WithDesktop().Scopes, Plan: true}, "execute process_output process_list read_file write_file edit_files list_directory find_files search_files git_diff context_for read_skill"},
		{tools.Offer{Only: []string{"git_diff", "read_file", "execute", "nonsense"}}, "read_file git_diff"},
		{tools.Offer{Only: []string{}}, ""},
	} {
		if got := names(test.offer.Tools()); got != test.want {
			t.Errorf("%+v offers %s, not %s", test.offer, got, test.want)
		}
		for _, name := range append(tools.Names(), "nonsense", "") {
			offered := slices.Contains(strings.Fields(test.want), name)
			if test.offer.Has(name) != offered {
				t.Errorf("%+v has %q: %v", test.offer, name, !offered)
			}
			if _, err := test.offer.Call(t.Context(), a, name, json.RawMessage(`{"nonsense":1}`)); errors.Is(err, tools.ErrNotOffered) == offered {
				t.Errorf("%+v: %q: %v", test.offer, name, err)
			}
		}
	}
}

// TestExecute: a command's output and end, and what becomes of one that takes longer.
func TestExecute(t *testing.T) {
	processOf := func(t *testing.T, c client.Client, command string) string {
		list, err := c.ListProcesses(t.Context(), 100)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(list.Processes, func(p agentapi.Process) bool { return p.Command == command })
		return list.Processes[i].ID
	}
	synctest.Test(t, func(t *testing.T) {
		work := func(ctx context.Context, p *fake.Process) int {
			_, _ = io.WriteString(p.Output, "a\n")
			<-ctx.Done()
			return 0
		}
		a := agent(t, map[string]fake.Program{
			"fail": func(_ context.Context, p *fake.Process) int {
				_, _ = io.WriteString(p.Output, "hello\n")
				return 3
			},
			"env": func(_ context.Context, p *fake.Process) int {
				_, _ = fmt.Fprintln(p.Output, p.WorkDir, p.Env["GIT_EDITOR"], p.Env["TERM"], p.Env["NO_COLOR"])
				return 0
			},
			"bar": func(_ context.Context, p *fake.Process) int {
				for i := range 10_001 {
					_, _ = fmt.Fprintf(p.Output, "\r\x1b[32m%d%%\x1b[0m\x1b[K", i/100)
				}
				_, _ = io.WriteString(p.Output, "\x00\ndone\n")
				return 0
			},
			"echo a; sleep 3600": work,
		})
		e := answer[tools.Executed](t, a, "execute", `{"command":"fail"}`)
		if e.Success || *e.ExitCode != 3 || e.Output != "hello\n" || e.BackgroundProcessID != "" || e.Note != "" {
			t.Errorf("a command that fails: %+v", e)
		}
		e = answer[tools.Executed](t, a, "execute", `{"command":"env","workdir":"sub/.."}`)
		if !e.Success || e.Output != "/workspace true dumb 1\n" {
			t.Errorf("environment: %+v", e)
		}
		e = answer[tools.Executed](t, a, "execute", `{"command":"bar"}`)
		if e.Output != "100%\ndone\n" || e.Truncated != nil {
			t.Errorf("a progress bar: %.200q, %+v", e.Output, e.Truncated)
		}
		raw, err := a.ProcessOutput(t.Context(), processOf(t, a, "bar"), agentapi.OutputOptions{Offset: new(int64), Raw: true})
		if err != nil || !strings.HasPrefix(string(raw.Data), "\r\x1b[32m0%") {
			t.Errorf("its bytes are %.20q, %v", raw.Data, err)
		}
		e = answer[tools.Executed](t, a, "execute", `{"command":"echo a; sleep 3600","timeout":"2s"}`)
		if e.Success || e.ExitCode != nil || e.Output != "a\n" || e.BackgroundProcessID == "" || !strings.Contains(e.Error, "within 2s") || e.WallDurationMS != 2000 {
			t.Errorf("a command that takes long: %+v", e)
		}
		out := answer[agentapi.ProcessOutput](t, a, "process_output", fmt.Sprintf(`{"process_id":%q,"wait":"0s"}`, e.BackgroundProcessID))
		if !out.Running || out.Output != "a\n" {
			t.Errorf("while it runs: %+v", out)
		}
		id := e.BackgroundProcessID
		list, _ := call(t, a, "process_list", "")
		if !strings.Contains(list, id) || !strings.Contains(list, "sleep 3600") {
			t.Errorf("the list is %s", list)
		}
		if text, failed := call(t, a, "process_signal", fmt.Sprintf(`{"process_id":%q}`, id)); failed || text != `{"success":true}` {
			t.Errorf("process_signal says %s", text)
		}
		out = answer[agentapi.ProcessOutput](t, a, "process_output", fmt.Sprintf(`{"process_id":%q,"offset":0}`, id))
		if out.Running || *out.ExitCode != 143 || out.Output != "a\n" || *out.NextOffset != 2 {
			t.Errorf("at its end: %+v", out)
		}
		// Longer than the agent lets anybody wait at once.
		e = answer[tools.Executed](t, a, "execute", `{"command":"sleep 1000","timeout":"2h"}`)
		if !e.Success || e.Output != "" || e.WallDurationMS != 1_000_000 {
			t.Errorf("a long wait: %+v", e)
		}
		for _, background := range []string{`{"command":"sleep 1 &"}`, `{"command":"sleep 1","run_in_background":true}`} {
			if e = answer[tools.Executed](t, a, "execute", background); !e.Success || e.BackgroundProcessID == "" || e.WallDurationMS != 0 {
				t.Errorf("%s: %+v", background, e)
			}
		}
		refused(t, a, "execute", `{"command":"true","timeout":"5h"}`, "timeout is from 1ms to 4h")
		refused(t, a, "execute", `{"command":"true","timeout":"soon"}`, "write 30s, 5m or 1h30m")
		refused(t, a, "execute", `{"command":" & "}`, "needs command")
		refused(t, a, "execute", `{"command":"true","work_dir":"/"}`, "did you mean workdir?")
		refused(t, a, "process_output", `{"process_id":"00000000-0000-0000-0000-000000000000"}`, "there is no process")
		refused(t, a, "process_signal", fmt.Sprintf(`{"process_id":%q,"signal":"stop"}`, id), "signal")
	})
}

// TestNotes: what stands beside an output.
func TestNotes(t *testing.T) {
	long := func(_ context.Context, p *fake.Process) int {
		_, _ = io.WriteString(p.Output, strings.Repeat("a line of a file\n", 4000))
		return 0
	}
	programs := map[string]fake.Program{}
	for command, want := range map[string]string{
		"cat f": "read_file shows", "head -c 9 f": "read_file shows", "cat f | head -c 9": "", "cat < f": "", "cat f; ls": "", "echo cat f": "",
		"seq 20000": "process_output with process_id",
	} {
		programs[command] = long
		a := agent(t, programs)
		e := answer[tools.Executed](t, a, "execute", fmt.Sprintf(`{"command":%q}`, command))
		if want == "" && e.Note != "" && e.Truncated == nil || !strings.Contains(e.Note, want) {
			t.Errorf("%s is noted %q, not %q", command, e.Note, want)
		}
		if len(e.Output) > 40<<10 {
			t.Errorf("%s puts out %d bytes", command, len(e.Output))
		}
	}
}

// TestFiles: paths are those of the workspace, and results are bounded.
func TestFiles(t *testing.T) {
	a := agent(t, nil)
	if text, failed := call(t, a, "write_file", `{"path":"d/a.txt","content":"one\ntwo\ntwo\n"}`); failed {
		t.Fatal(text)
	}
	lines := answer[agentapi.FileLines](t, a, "read_file", `{"path":"/workspace/d/a.txt","offset":2,"limit":1}`)
	if lines.Content != "2\ttwo" || lines.TotalLines == 0 {
		t.Errorf("lines are %+v", lines)
	}
	refused(t, a, "read_file", `{"path":"d"}`, "directory")
	refused(t, a, "read_file", `{"path":"nothing"}`, "nothing")
	refused(t, a, "read_file", `{"path":"d/a.txt","offset":-1}`, "from 1")
	refused(t, a, "edit_files", `{"files":[{"path":"d/a.txt","edits":[{"search":"two","replace":"2"}]}]}`, "matches 2 occurrences")
	edited := answer[agentapi.EditedFiles](t, a, "edit_files", `{"files":[{"path":"d/a.txt","edits":[{"search":"two","replace":"2","replace_all":true}]}]}`)
	if len(edited.Files) != 1 || edited.Files[0].Path != "/workspace/d/a.txt" || !strings.Contains(edited.Files[0].Diff, "\n+2\n+2\n") {
		t.Errorf("edited: %+v", edited)
	}
	refused(t, a, "write_file", `{"path":"x"}`, "needs content")
	if _, failed := call(t, a, "write_file", `{"path":"x","content":""}`); failed {
		t.Error("an empty file can't be written")
	}
	// A file whose diff is long.
	if err := a.Files().Write("/workspace/long", strings.Repeat("a line\n", 20000)); err != nil {
		t.Fatal(err)
	}
	edited = answer[agentapi.EditedFiles](t, a, "edit_files", `{"files":[{"path":"long","edits":[{"search":"a line","replace":"a row","replace_all":true}]}]}`)
	if d := edited.Files[0].Diff; len(d) > 33<<10 || !strings.HasSuffix(d, "\n... [cut here]\n") {
		t.Errorf("a long diff has %d bytes", len(d))
	}
	for i := range 1234 {
		if err := a.Files().Write(fmt.Sprintf("/workspace/many/f%04d", i), ""); err != nil {
			t.Fatal(err)
		}
	}
	type listed struct {
		Path    string
		Entries []string
		Next    int `json:"next_offset"`
	}
	l := answer[listed](t, a, "list_directory", `{"path":"many"}`)
	if l.Path != "/workspace/many" || len(l.Entries) != 1000 || l.Next != 1000 {
		t.Errorf("%d entries of %s, next %d", len(l.Entries), l.Path, l.Next)
	}
	l = answer[listed](t, a, "list_directory", `{"path":"many/","offset":1000}`)
	if len(l.Entries) != 234 || l.Entries[0] != "f1000" || l.Next != 0 {
		t.Errorf("%d entries, next %d", len(l.Entries), l.Next)
	}
	if l = answer[listed](t, a, "list_directory", ""); !slices.Contains(l.Entries, "many/") || !slices.Contains(l.Entries, "x") {
		t.Errorf("the workspace has %q", l.Entries)
	}
	refused(t, a, "list_directory", `{"path":"many","offset":1234}`, "below 1234")
}

// repository answers the fake's git_diff.
type repository struct {
	client.Client
	asked []string // by the last call
	no    error
}

func (r *repository) GitDiff(_ context.Context, asked agentapi.GitQuestion) (*agentapi.GitDiffs, error) {
	r.asked = asked.Paths
	if r.no != nil {
		return nil, r.no
	}
	return &agentapi.GitDiffs{Repositories: []agentapi.GitDiff{{RepoRoot: "/workspace", Branch: "main", Files: []agentapi.GitFile{{Path: "a.txt", Added: 2}}, Diff: "diff --git a/a.txt b/a.txt\n"}}}, nil
}

// TestGitDiff: paths are those of the workspace, and the answer is the agent's.
func TestGitDiff(t *testing.T) {
	r := &repository{}
	engine := servertest.New()
	engine.Report.Roots = []string{"/home/user/.waymark", "/workspace"}
	a := fake.New(fake.Options{Engine: engine, Rest: r})
	t.Cleanup(func() { _ = a.Close() })
	for arguments, want := range map[string]string{
		"": "", `{"paths":["large/"]}`: "/workspace/large/", `{"paths":["/workspace/large/c d.txt"]}`: "/workspace/large/c d.txt",
		`{"paths":["clean","."]}`: "/workspace/clean /workspace", `{"paths":["/elsewhere"]}`: "/elsewhere",
	} {
		d := answer[agentapi.GitDiffs](t, a, "git_diff", arguments).Repositories[0]
		if got := strings.Join(r.asked, " "); got != want || len(d.Files) != 1 || d.Diff == "" || d.Branch != "main" {
			t.Errorf("%s: asked for %q, not %q: %+v", arguments, got, want, d)
		}
	}
	refused(t, a, "git_diff", `{"paths":[""]}`, "needs")
	r.no = &client.Error{Code: http.StatusNotFound, Message: "there is no git repository"}
	refused(t, a, "git_diff", "", "no git repository")
}

// TestFence: what the token may not do isn't done, whatever is offered.
func TestFence(t *testing.T) {
	a := agent(t, nil)
	reader := a.WithToken("")
	for name, arguments := range map[string]string{
		"execute": `{"command":"echo > /workspace/f"}`, "write_file": `{"path":"f","content":""}`, "process_signal": `{"process_id":"x"}`,
		"edit_files": `{"files":[{"path":"f","edits":[{"search":"a","replace":"b"}]}]}`,
	} {
		refused(t, reader, name, arguments, "token")
	}
	made, err := a.CreateToken(t.Context(), agentapi.NewToken{Plan: "/workspace/PLAN.md"})
	if err != nil {
		t.Fatal(err)
	}
	planner := a.WithToken(made.Secret)
	refused(t, planner, "write_file", `{"path":"f","content":""}`, "PLAN.md")
	if text, failed := call(t, planner, "write_file", `{"path":"PLAN.md","content":"# Plan"}`); failed {
		t.Errorf("the plan can't be written: %s", text)
	}
}

// TestComputer: a model acts on the desktop, and sees a picture with its size.
func TestComputer(t *testing.T) {
	a := agent(t, nil)
	for arguments, want := range map[string]string{
		`{"action":"left_click","coordinate":[20,30]}`: "left_click action performed",
		`{"action":"cursor_position"}`:                 "x=",
	} {
		if text, failed := call(t, a, "computer", arguments); failed || !strings.HasPrefix(text, want) {
			t.Errorf("%s: %q", arguments, text)
		}
	}
	offer := tools.All().WithDesktop()
	r, err := offer.Call(t.Context(), a, "computer", json.RawMessage(`{"action":"screenshot"}`))
	if err != nil || len(r.Content) != 2 || !strings.Contains(r.Content[0].Text, "1280 × 800") || r.Content[1].Type != "image" || r.Content[1].MediaType != "image/png" || r.Content[1].Data == "" {
		t.Errorf("a picture: %+v, %v", r, err)
	}
	refused(t, a, "computer", `{"action":"fly"}`, "there is no action")
	refused(t, a, "computer", `{"action":"type"}`, "type needs text")
	refused(t, a, "computer", `{"action":"left_click","coordinate":[1]}`, "[x, y]")
	refused(t, a.WithToken(""), "computer", `{"action":"screenshot"}`, "token")
	if all := tools.All(); all.Has("computer") {
		t.Error("it is offered to everybody")
	}
}

// TestErrors: what a model can't mend isn't told to it.
func TestErrors(t *testing.T) {
	a := agent(t, nil)
	offer := tools.All()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if r, err := offer.Call(ended, a, "execute", json.RawMessage(`{"command":"true"}`)); err == nil {
		t.Errorf("after the end of the context: %+v", r)
	}
	a.Break()
	if r, err := offer.Call(t.Context(), a, "list_directory", nil); !errors.Is(err, client.ErrNotRunning) {
		t.Errorf("without an agent: %+v, %v", r, err)
	}
}

// leaving is an agent whose command ends, and leaves something running.
type leaving struct{ client.Client }

func (leaving) StartProcess(context.Context, agentapi.StartProcess) (*agentapi.StartedProcess, error) {
	return &agentapi.StartedProcess{ID: "p1", Started: true}, nil
}

func (leaving) ProcessOutput(context.Context, string, agentapi.OutputOptions) (*agentapi.ProcessOutput, error) {
	code := 0
	return &agentapi.ProcessOutput{Output: "ok\n", ExitCode: &code, Left: []agentapi.LeftProcess{{PID: 7, Command: "server --port 1"}}}, nil
}

// TestLeft: a command that has ended isn't said to run on because of what it has left.
func TestLeft(t *testing.T) {
	e := answer[tools.Executed](t, leaving{}, "execute", `{"command":"server --port 1 & echo ok"}`)
	if !e.Success || e.ExitCode == nil || e.Error != "" || e.BackgroundProcessID != "p1" || len(e.Left) != 1 || e.Left[0].Command != "server --port 1" || !strings.Contains(e.Note, "process_signal ends it") {
		t.Errorf("%+v", e)
	}
}
