package authors_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"waymark/test/authors"
)

// TestReadme follows the README's "Your first resolver": its commands, to the
// letter, and then the resolver that it shows, in the place of the scaffold's.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, chapter, ok := strings.Cut(string(readme), "## Your first resolver")
	if !ok {
		t.Fatal("the README has no such chapter")
	}
	chapter, _, _ = strings.Cut(chapter, "\n## ")
	steps, err := authors.Parse(chapter)
	if err != nil || len(steps) != 1 {
		t.Fatalf("the chapter has %d blocks of commands, %v", len(steps), err)
	}
	h := newHome(t)
	put := func(name, text string) {
		t.Helper()
		name = filepath.Join(h.dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("project/.acme-rules/style.md", "Be brief.\n")
	put("project/ACME.md", "# Use anvils\n")
	if out := h.sh(t, h.dir, steps[0].Text); !strings.Contains(out, "style.md") {
		t.Errorf("harness run doesn't show what is found:\n%s", out)
	}
	if out := h.sh(t, h.dir, "agent resolve project"); !strings.Contains(out, "style.md") {
		t.Errorf("the agent doesn't use what was copied:\n%s", out)
	}

	_, code, _ := strings.Cut(chapter, "```go\n")
	code, _, _ = strings.Cut(code, "```")
	put("acme-rules/resolver.go", "package main\n\nimport (\n\t\"errors\"\n\t\"io/fs\"\n\n\tguest \"waymark/sdk-guest\"\n)\n\nconst rulesDir = \".\"\n\n"+code)
	if err := os.Remove(filepath.Join(h.dir, "acme-rules", "resolver_test.go")); err != nil {
		t.Fatal(err)
	}
	out := h.sh(t, filepath.Join(h.dir, "acme-rules"), "sed -i 's|rulesDir + \"/\\*.md\"|\"ACME.md\"|' main.go && harness build && harness run acme-rules.wasm ~/project")
	if !strings.Contains(out, "ACME.md") || strings.Contains(out, "style.md") {
		t.Errorf("the README's resolver finds something else:\n%s", out)
	}
}

// TestReadmePicture shows the workspace that the README begins with to an agent, which says
// what stands there.
func TestReadmePicture(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	picture, _, _ := strings.Cut(string(readme), "\n## ")
	p := newPlayer(t)
	steps, err := authors.Parse(strings.NewReplacer("~/shop", filepath.Join(p.dir, "shop"), "127.0.0.1:7878 has version 3", "…").Replace(picture))
	if err != nil || len(steps) != 2 {
		t.Fatalf("%d commands are shown, %v", len(steps), err)
	}
	files, err := txtar.ParseFile("testdata/shop.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files.Files {
		p.play(authors.Step{File: filepath.Join("..", f.Name), Text: string(f.Data)})
	}
	p.play(authors.Step{Text: "chmod 700 ~/bin/*\ncd ~/shop\ngit init -q\n"})
	for _, step := range steps {
		step.Text = "exec 2>log\nPATH=~/bin:$PATH\n" + step.Text
		step.Want = append(step.Want, "…") // the hub's page
		p.play(step)
	}
}

// sh runs commands and returns what they print; they must succeed.
func (h *home) sh(t *testing.T, dir, script string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-euc", script)
	cmd.Dir, cmd.Env = dir, h.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// TestReadmeHub follows the README's "A hub for several workspaces", and the five minutes
// of docs/hub.md, at a port that is free: what they make is known to the hub that they start.
func TestReadmeHub(t *testing.T) {
	for file, heading := range map[string]string{"README.md": "## A hub for several workspaces\n", "docs/hub.md": "## Five minutes\n"} {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile("../../" + file)
			if err != nil {
				t.Fatal(err)
			}
			_, chapter, ok := strings.Cut(string(text), heading)
			if !ok {
				t.Fatal("there is no such chapter")
			}
			chapter, _, _ = strings.Cut(chapter, "\n```\n") // the first block
			address := freeAddress(t)
			steps, err := authors.Parse(strings.NewReplacer("127.0.0.1:7878", address, "make build ", "", "hub ready --wait 30s", "hub ready --wait 5m http://"+address, "hub serve", "hub serve --http "+address).Replace(chapter) + "\n```\n")
			if err != nil || len(steps) != 1 {
				t.Fatalf("%d blocks of commands, %v", len(steps), err)
			}
			before, run, ok := strings.Cut(steps[0].Text, "agent run ")
			if !ok {
				t.Fatal("no agent is run")
			}
			p := newPlayer(t)
			p.configure(filepath.Join(p.work, ".config", "waymark"))
			t.Cleanup(func() { h := p.command(context.Background(), p.work, "sh", "-c", "kill $(cat hub.pid)"); _ = h.Run() })
			p.play(authors.Step{Text: "touch AGENTS.md\nexec >hub.log 2>&1\n" + before + "echo $! >hub.pid\n"})
			p.play(authors.Step{Text: "agent run " + run, Background: true})
			p.play(authors.Step{Text: "hub agents --url http://" + address + " --token-file ~/reader.token | grep -v never | grep -c '^box .* connected '", Eventually: true, Want: []string{"1"}})
		})
	}
}
