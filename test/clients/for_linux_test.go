package clients_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"waymark/abi"
	"waymark/host/applicability"
)

// TestForCodex: what is said to be there for a file where Codex is started in the file's
// directory is what it has when it is started there.
func TestForCodex(t *testing.T) {
	t.Parallel()
	p := find(t)
	tr := tree{files: map[string]string{
		"AGENTS.md": "root\n", "a/AGENTS.md": "in a\n", "a/AGENTS.override.md": "in its place\n", "a/b/AGENTS.override.md": " \n", "a/b/AGENTS.md": "covered\n",
		"a/b/c/AGENTS.md": "leaf\n", "a/b/c/d/AGENTS.md": "below\n", "a/CLAUDE.md": "for others\n", ".agents/skills/top/SKILL.md": head("top", "At the top."),
		"a/.codex/skills/one/SKILL.md": head("one", "In a."), "a/b/c/.agents/skills/two/SKILL.md": head("two", "In c."),
		"a/b/.agents/skills/gone/SKILL.md": head("gone", "Withheld."), "a/b/.agents/skills/gone/agents/openai.yaml": "policy: {products: [chatgpt]}\n",
		"a/b/c/d/.agents/skills/no/SKILL.md": head("no", "Below."),
	}}
	top := tr.make(t)
	home := tr.makeHome(t)
	cmd := exec.CommandContext(t.Context(), p.agent, "for", "--client", "codex", "--root", top, "--json", filepath.Join(top, "a/b/c/new.go"))
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home.dir}
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var answer applicability.Answer
	if err := json.Unmarshal(out, &answer); err != nil {
		t.Fatal(err)
	}
	var texts, skills []string
	for i := range answer.Items {
		switch it := &answer.Items[i]; {
		case !it.Applies:
		case it.Kind == abi.KindInstructionFile:
			body, err := os.ReadFile(filepath.Join(top, it.Path))
			if err != nil {
				t.Fatal(err)
			}
			texts = append([]string{string(body)}, texts...) // the nearest comes first
		case it.Kind == abi.KindSkill:
			skills = append(skills, it.Name)
		}
	}
	prompt := string(run(t, home, "plain", filepath.Join(top, "a/b/c"), p.codex, "debug", "prompt-input"))
	quoted, err := json.Marshal(strings.Join(texts, "\n\n"))
	if err != nil {
		t.Fatal(err)
	}
	if want := `<INSTRUCTIONS>\n` + strings.Trim(string(quoted), `"`) + `\n</INSTRUCTIONS>`; len(texts) != 3 || !strings.Contains(prompt, want) {
		t.Errorf("Codex that is started there doesn't have %q in\n%s", want, brief(prompt))
	}
	var listed []string
	for name := range p.codexSkills(t, home, filepath.Join(top, "a/b/c")) {
		if !slices.Contains([]string{"imagegen", "openai-docs", "skill-creator", "skill-installer"}, name) {
			listed = append(listed, name)
		}
	}
	slices.Sort(skills)
	slices.Sort(listed)
	if !slices.Equal(skills, listed) || len(skills) != 3 {
		t.Errorf("Codex that is started there lists %v, not %v", listed, skills)
	}
}
