package clients_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"waymark/abi"
	"waymark/host/codingagents"
	"waymark/test/built"
	"waymark/test/e2e"
)

// timeout ends a client that hangs, and none that is slow on a machine with much else to do.
const timeout = 8 * time.Minute

// seen is what a client saw, or is said to see.
type seen struct {
	// instructions are the texts in their order, with where they are from if a client
	// says that.
	instructions []text
	skills       []listed
}

type text struct{ path, body string }

type listed struct{ name, description, path string }

// programs are what is compared.
type programs struct{ agent, codex, opencode, claude string }

func find(t *testing.T) programs {
	t.Helper()
	if testing.Short() {
		t.Skip("it takes long")
	}
	if runtime.GOARCH != "amd64" {
		t.Skip("SKIPPED: the clients that are pinned are those for amd64")
	}
	needNamespace(t)
	modules := built.NodeModules(t, "testdata/npm")
	built, err := e2e.Build(t.Context(), t.TempDir(), false)
	if err != nil {
		t.Fatal(err)
	}
	return programs{
		agent:    built.Agent,
		codex:    filepath.Join(modules, "@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex"),
		opencode: filepath.Join(modules, "opencode-linux-x64/bin/opencode"),
		claude:   filepath.Join(modules, "@anthropic-ai/claude-code-linux-x64/claude"),
	}
}

// TestVersions: the rules are of the versions that they are compared with.
func TestVersions(t *testing.T) {
	t.Parallel()
	lock, err := os.ReadFile("testdata/npm/package.json")
	if err != nil {
		t.Fatal(err)
	}
	var pinned struct {
		Dependencies map[string]string `json:"dependencies"`
	}
	if err := json.Unmarshal(lock, &pinned); err != nil {
		t.Fatal(err)
	}
	for id, name := range map[string]string{"claude": "@anthropic-ai/claude-code-linux-x64", "codex": "@openai/codex", "opencode": "opencode-linux-x64"} {
		if c := codingagents.Lookup(id); c == nil || !c.Judged || c.Version != pinned.Dependencies[name] {
			t.Errorf("the rules of %s are not those of %s, which is pinned", id, pinned.Dependencies[name])
		}
	}
}

func TestClients(t *testing.T) {
	t.Parallel()
	p := find(t)
	// As many as there are processors: each takes one.
	turns := make(chan struct{}, runtime.NumCPU())
	for i := range trees {
		tr := &trees[i]
		t.Run(tr.name, func(t *testing.T) {
			t.Parallel()
			start := tr.make(t)
			for name, judge := range map[string]func(t *testing.T){
				"codex":    func(t *testing.T) { p.judgeCodex(t, tr, start) },
				"opencode": func(t *testing.T) { p.judgeOpencode(t, tr, start) },
			} {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					turns <- struct{}{}
					defer func() { <-turns }()
					judge(t)
				})
			}
		})
	}
}

// user is a home directory, and the environment variables that name others.
type user struct {
	dir string
	env []string
}

// run runs a client in a namespace, with a home of its own.
func run(t *testing.T, home user, mode, dir string, args ...string) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	if err := os.MkdirAll(filepath.Join(home.dir, ".codex"), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, os.Args[0], append([]string{mode}, args...)...)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "PWD=" + dir, "HOME=" + home.dir, inside + "=1",
		"OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1",
	}
	cmd.Env = append(cmd.Env, home.env...)
	// Into a file: opencode ends before all is written that doesn't fit into a pipe.
	stdout, err := os.Create(filepath.Join(t.TempDir(), "stdout"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stdout.Close() }()
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = stdout, &stderr, 5*time.Second
	namespace(cmd)
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %v: %v\n%s", filepath.Base(args[0]), args[1:], err, stderr.Bytes())
	}
	out, err := os.ReadFile(stdout.Name())
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// said is what `agent context` says.
func (p programs) said(t *testing.T, home user, client, start string) (*codingagents.View, seen) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), p.agent, "context", "--client", client, "--root", start, "--json")
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home.dir, "XDG_CACHE_HOME=" + filepath.Join(cache, "waymark-test")}
	cmd.Env = append(cmd.Env, home.env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("agent context: %v\n%s", err, stderr.Bytes())
	}
	var v codingagents.View
	if err := json.Unmarshal(out, &v); err != nil {
		t.Fatal(err)
	}
	if v.Root != start || v.Client != client || len(v.NotLookedAt) > 0 {
		t.Errorf("%s is started in %s, and %v wasn't looked at; want %s", v.Client, v.Root, v.NotLookedAt, start)
	}
	var s seen
	for i := range v.Items {
		switch it := &v.Items[i]; {
		case !it.Included:
		case it.Kind == abi.KindInstructionFile:
			body, err := os.ReadFile(it.Path)
			if err != nil {
				t.Fatal(err)
			}
			if it.Bytes != int64(len(body)) {
				t.Errorf("%s has %d bytes, not %d", it.Path, len(body), it.Bytes)
			}
			s.instructions = append(s.instructions, text{it.Path, strings.ToValidUTF8(string(body[:it.Bytes-it.CutBytes]), "\ufffd")})
		case it.Kind == abi.KindSkill:
			s.skills = append(s.skills, listed{it.Name, it.Description, it.Path})
		}
	}
	return &v, s
}

var (
	codexRoot  = regexp.MustCompile("^- `(r\\d+)` = `(.*)`$")
	codexSkill = regexp.MustCompile(`^- ([^ ]+):(?: (.*))? \(file: (r\d+)/(.*)\)$`)
)

// judgeCodex compares with what Codex would send.
func (p programs) judgeCodex(t *testing.T, tr *tree, start string) {
	home := tr.makeHome(t)
	view, want := p.said(t, home, "codex", start)
	var messages []struct {
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
	}
	if err := json.Unmarshal(run(t, home, "plain", start, p.codex, "debug", "prompt-input"), &messages); err != nil {
		t.Fatal(err)
	}
	var got []listed
	instructions, used, builtin := "", int64(0), 0
	for _, m := range messages {
		for _, c := range m.Content {
			// The user's alone are those of no directory.
			if _, rest, ok := strings.Cut(c.Text, "<INSTRUCTIONS>\n"); ok && strings.HasPrefix(c.Text, "# AGENTS.md instructions") {
				instructions = strings.TrimSuffix(rest, "\n</INSTRUCTIONS>")
			}
			if !strings.HasPrefix(c.Text, "<skills_instructions>") {
				continue
			}
			roots := map[string]string{}
			for line := range strings.SplitSeq(c.Text, "\n") {
				if m := codexRoot.FindStringSubmatch(line); m != nil {
					roots[m[1]] = m[2]
				}
				m := codexSkill.FindStringSubmatch(line)
				if m == nil {
					continue
				}
				used += int64(len(line)+1+3) / 4
				if strings.HasSuffix(roots[m[3]], "/skills/.system") {
					builtin++
				} else {
					got = append(got, listed{m[1], m[2], filepath.Join(roots[m[3]], m[4])})
				}
			}
		}
	}
	var own, texts []string
	for _, i := range want.instructions {
		if strings.HasPrefix(i.path, home.dir) {
			own = append(own, strings.TrimSpace(i.body))
		} else {
			texts = append(texts, i.body)
		}
	}
	if len(texts) > 0 {
		own = append(own, strings.Join(texts, "\n\n"))
	}
	if joined := strings.Join(own, "\n\n--- project-doc ---\n\n"); joined != instructions {
		t.Errorf("Codex has the instructions\n%s\nand not\n%s", brief(instructions), brief(joined))
	}
	compare(t, "Codex", got, want.skills)
	if builtin != view.Budget.Builtin || used != view.Budget.UsedTokens {
		t.Errorf("Codex has %d skills of its own and a list of %d tokens, not %d and %d", builtin, used, view.Budget.Builtin, view.Budget.UsedTokens)
	}
}

// compare compares lists of skills in their order.
func compare(t *testing.T, client string, got, want []listed) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s lists %d skills, not %d:\n%v\n%v", client, len(got), len(want), names(got), names(want))
	}
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Fatalf("%s has as skill %d\n%+v\nand not\n%+v", client, i, got[i], want[i])
		}
	}
}

func names(list []listed) (all []string) {
	for _, s := range list {
		all = append(all, s.name)
	}
	return all
}

func brief(s string) string {
	if len(s) > 400 {
		return fmt.Sprintf("%q … %q (%d bytes)", s[:200], s[len(s)-200:], len(s))
	}
	return fmt.Sprintf("%q", s)
}

// judgeOpencode compares with what opencode lists, and where it runs with what it sends.
func (p programs) judgeOpencode(t *testing.T, tr *tree, start string) {
	home := tr.makeHome(t)
	view, want := p.said(t, home, "opencode", start)
	if tr.run {
		got := promptOf(t, string(run(t, home, "model", start, p.opencode, "run", "--pure", "--title", "x", "hi")))
		for i := range want.instructions {
			want.instructions[i].body = strings.TrimRight(want.instructions[i].body, "\r\n")
		}
		if !slices.Equal(got.instructions, want.instructions) {
			t.Errorf("opencode has the instructions\n%+v\nand not\n%+v", got.instructions, want.instructions)
		}
		compare(t, "opencode", alike(view, got.skills), alike(view, want.skills))
		return
	}
	var skills []struct{ Name, Description, Location string }
	if err := json.Unmarshal(run(t, home, "plain", start, p.opencode, "--pure", "debug", "skill"), &skills); err != nil {
		t.Fatal(err)
	}
	var got []listed
	for _, s := range skills {
		if s.Location != "<built-in>" && s.Description != "" { // those without aren't shown to the model
			got = append(got, listed{s.Name, s.Description, s.Location})
		}
	}
	byName := func(a, b listed) int { return cmp.Compare(a.name, b.name) } // this list has no order
	slices.SortFunc(got, byName)
	slices.SortFunc(want.skills, byName)
	compare(t, "opencode", alike(view, got), alike(view, want.skills))
	p.compareConfig(t, view, home, start)
}

// compareConfig compares the subagents and commands, where there are any.
func (p programs) compareConfig(t *testing.T, view *codingagents.View, home user, start string) {
	t.Helper()
	want := map[abi.Kind][]string{}
	for i := range view.Items {
		if it := &view.Items[i]; it.Included && (it.Kind == abi.KindSubagent || it.Kind == abi.KindCommand) {
			want[it.Kind] = append(want[it.Kind], it.Name)
		}
	}
	if len(want) == 0 {
		return
	}
	var config struct{ Agent, Command map[string]json.RawMessage }
	if err := json.Unmarshal(run(t, home, "plain", start, p.opencode, "--pure", "debug", "config"), &config); err != nil {
		t.Fatal(err)
	}
	for kind, got := range map[abi.Kind]map[string]json.RawMessage{abi.KindSubagent: config.Agent, abi.KindCommand: config.Command} {
		var has []string
		for name := range got {
			has = append(has, name)
		}
		slices.Sort(has)
		slices.Sort(want[kind])
		if !slices.Equal(has, want[kind]) {
			t.Errorf("opencode has as %s %v, not %v", kind, has, want[kind])
		}
	}
}

var opencodeSkill = regexp.MustCompile(`(?s)<skill>\n\s*<name>(.*?)</name>\n\s*<description>(.*?)</description>\n\s*<location>(.*?)</location>`)

// promptOf reads the instructions and skills of what opencode tells its model.
func promptOf(t *testing.T, prompt string) (s seen) {
	t.Helper()
	head, list, ok := strings.Cut(prompt, "Skills provide specialized instructions")
	if !ok {
		t.Fatalf("%v: %s", errNoPrompt, brief(prompt))
	}
	for _, part := range strings.Split(head, "Instructions from: ")[1:] {
		path, body, _ := strings.Cut(part, "\n")
		s.instructions = append(s.instructions, text{path, strings.TrimRight(body, "\r\n")})
	}
	for _, m := range opencodeSkill.FindAllStringSubmatch(list, -1) {
		if m[1] != "customize-opencode" {
			s.skills = append(s.skills, listed{m[1], m[2], m[3]})
		}
	}
	return s
}

// alike takes away what may differ: the path of a skill that links lead to more than
// once, and which one of several of one name is listed, with its description, as long as it
// is one of those that are said to be in question.
func alike(v *codingagents.View, list []listed) []listed {
	list = slices.Clone(list)
	for i := range list {
		s := &list[i]
		s.path, s.description = realPath(s.path), strings.TrimSpace(s.description)
		several, known := false, false
		for j := range v.Items {
			if it := &v.Items[j]; it.Kind == abi.KindSkill && it.Name == s.name && (it.Included || it.Reason == codingagents.Duplicate) {
				several = several || strings.Contains(it.Detail, "from start to start")
				known = known || realPath(it.Path) == s.path
			}
		}
		if several && known {
			s.path, s.description = "any of several", ""
		}
	}
	return list
}

func realPath(path string) string {
	if to, err := filepath.EvalSymlinks(path); err == nil {
		return to
	}
	return path
}
