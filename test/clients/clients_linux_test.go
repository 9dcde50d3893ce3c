package clients_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
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
type programs struct{ agent, codex, opencode string }

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
	}
}

// TestVersions: the rules are of the versions that they are compared with.
func TestVersions(t *testing.T) {
	t.Parallel()
	for _, r := range runners {
		text, err := os.ReadFile(filepath.Join("testdata", r.pinned, "package.json"))
		if err != nil {
			t.Fatal(err)
		}
		var pinned struct {
			Dependencies map[string]string `json:"dependencies"`
		}
		if err := json.Unmarshal(text, &pinned); err != nil {
			t.Fatal(err)
		}
		if c := codingagents.Lookup(r.id); c == nil || !c.Judged || c.Version != pinned.Dependencies[r.pkg] {
			t.Errorf("the rules of %s are not those of %q, which is pinned", r.id, pinned.Dependencies[r.pkg])
		}
	}
}

// TestCodex compares all that Codex has, to the byte: what is cut, and how long its list is.
func TestCodex(t *testing.T) {
	t.Parallel()
	p := find(t)
	turns := make(chan struct{}, runtime.NumCPU())
	for i := range trees {
		tr := &trees[i]
		t.Run(tr.name, func(t *testing.T) {
			t.Parallel()
			turns <- struct{}{}
			defer func() { <-turns }()
			p.judgeCodex(t, tr, tr.make(t))
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
