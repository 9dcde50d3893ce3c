package clients_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files")

const differences = "testdata/frontmatter.txt"

// TestFrontMatter compares how front matter is read that isn't plain, and Codex' file beside
// a skill. What the clients see
// otherwise than `agent context` says stands in a file, so that no difference comes, and
// none goes, unseen.
func TestFrontMatter(t *testing.T) {
	t.Parallel()
	p := find(t)
	texts := odd()
	files := map[string]string{}
	for id, text := range texts {
		files[".agents/skills/"+id+"/SKILL.md"] = text
	}
	for i, policy := range policies {
		id := fmt.Sprintf("policy%02d", i)
		files[".agents/skills/"+id+"/SKILL.md"] = head(id, "With a policy.")
		files[".agents/skills/"+id+"/agents/openai.yaml"] = policy
		texts[id] = policy
	}
	tr := tree{files: files}
	start := tr.make(t)
	home := user{dir: t.TempDir()}
	var lines []string
	for client, list := range map[string]map[string]string{"codex": p.codexSkills(t, home, start), "opencode": p.opencodeSkills(t, home, start)} {
		said := map[string]string{}
		_, view := p.said(t, home, client, start)
		for _, s := range view.skills {
			said[filepath.Base(filepath.Dir(s.path))] = s.name + ": " + s.description
		}
		for id, text := range texts {
			if list[id] != said[id] {
				lines = append(lines, fmt.Sprintf("%-8s %q is listed as %q, and we say %q", client, text, list[id], said[id]))
			}
		}
	}
	slices.Sort(lines)
	got := strings.Join(lines, "\n") + "\n"
	if *update {
		if err := os.WriteFile(differences, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(differences)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the differences are\n%s\nand not those of %s; -update writes them", got, differences)
	}
}

var codexLine = regexp.MustCompile(`(?m)^- (.*) \(file: r\d+/(?:.*/)?([^/]*)/SKILL\.md\)$`)

// codexSkills are the lines of Codex' list, by directory.
func (p programs) codexSkills(t *testing.T, home user, start string) map[string]string {
	t.Helper()
	var messages []struct{ Content []struct{ Text string } }
	if err := json.Unmarshal(run(t, home, "plain", start, p.codex, "debug", "prompt-input"), &messages); err != nil {
		t.Fatal(err)
	}
	list := map[string]string{}
	for _, m := range messages {
		for _, c := range m.Content {
			for _, line := range codexLine.FindAllStringSubmatch(c.Text, -1) {
				list[line[2]] = line[1]
			}
		}
	}
	return list
}

// opencodeSkills are the skills that opencode shows a model, by directory.
func (p programs) opencodeSkills(t *testing.T, home user, start string) map[string]string {
	t.Helper()
	var skills []struct{ Name, Description, Location string }
	if err := json.Unmarshal(run(t, home, "plain", start, p.opencode, "--pure", "debug", "skill"), &skills); err != nil {
		t.Fatal(err)
	}
	list := map[string]string{}
	for _, s := range skills {
		if s.Description != "" {
			list[filepath.Base(filepath.Dir(s.Location))] = s.Name + ": " + strings.TrimSpace(s.Description)
		}
	}
	return list
}

// policies are texts of agents/openai.yaml.
var policies = []string{
	"policy:\n  allow_implicit_invocation: false\n", "policy: {allow_implicit_invocation: false}\n", "policy:\n  allow_implicit_invocation: \"false\"\n",
	"policy:\n  allow_implicit_invocation: False\n", "policy:\n  allow_implicit_invocation: FALSE\n", "policy:\n  allow_implicit_invocation: no\n",
	"policy:\n  allow_implicit_invocation: fAlse\n", "policy:\n  allow_implicit_invocation: ~\n", "policy:\n  allow_implicit_invocation: 0\n",
	"policy:\n  allow_implicit_invocation: !!bool false\n", "policy:\n  <<: {allow_implicit_invocation: false}\n",
	"policy:\n  products: [CODEX]\n", "policy:\n  products: [codex]\n", "policy:\n  products: [CHATGPT]\n", "policy:\n  products: [chatgpt]\n",
	"policy:\n  products: [Chatgpt]\n", "policy:\n  products: [atlas]\n", "policy:\n  products: [ATLAS]\n", "policy:\n  products: [other]\n",
	"policy:\n  products: [chatgpt, other]\n", "policy:\n  products: [chatgpt, codex]\n", "policy:\n  products: []\n", "policy:\n  products: ~\n",
	"policy:\n  products: codex\n", "policy:\n  products: [~]\n", "policy:\n  products: [!x chatgpt]\n", "policy:\n  products: [{chatgpt: ~}]\n",
	"policy:\n  products:\n  - chatgpt\n  allow_implicit_invocation: true\n", "policy:\n  products: ['chatgpt']\n",
	"policy: [\n", "policy: []\n", "policy: ~\n", "policy: {}\n", "allow_implicit_invocation: false\n", "policy: [false, []]\n", "policy: [false]\n",
	"interface: [\npolicy:\n  allow_implicit_invocation: false\n", "interface:\n  display_name: [x]\npolicy:\n  allow_implicit_invocation: false\n",
	"interface:\n  display_name: 3\npolicy:\n  allow_implicit_invocation: false\n", "interface: none\npolicy:\n  allow_implicit_invocation: false\n",
	"interface:\npolicy:\n  allow_implicit_invocation: false\n", "interface:\n  icon_small: [x]\npolicy:\n  allow_implicit_invocation: false\n",
	"interface:\n  unknown: [x]\npolicy:\n  allow_implicit_invocation: false\n", "interface:\n  display_name: a\n  display_name: b\npolicy:\n  allow_implicit_invocation: false\n",
	"dependencies: none\npolicy:\n  allow_implicit_invocation: false\n", "dependencies:\n  tools: none\npolicy:\n  allow_implicit_invocation: false\n",
	"dependencies:\n  tools:\n  - x\npolicy:\n  allow_implicit_invocation: false\n", "dependencies:\n  tools:\n  - type: [x]\npolicy:\n  allow_implicit_invocation: false\n",
	"dependencies:\n  tools: ~\npolicy:\n  allow_implicit_invocation: false\n", "dependencies:\n  tools:\n  - type: mcp\n    value: 3\npolicy:\n  allow_implicit_invocation: false\n",
	"unknown: {a: b}\npolicy:\n  allow_implicit_invocation: false\n  more: [x]\n", "policy:\n  allow_implicit_invocation: false\npolicy:\n  allow_implicit_invocation: true\n",
	"policy:\n  allow_implicit_invocation: false\n  allow_implicit_invocation: false\n", "x: 1\nx: 2\npolicy:\n  allow_implicit_invocation: false\n",
	"---\npolicy:\n  allow_implicit_invocation: false\n", "---\npolicy:\n  allow_implicit_invocation: false\n---\nx: y\n",
	"\ufeffpolicy:\n  allow_implicit_invocation: false\n", "# c\n\n  policy:\n    allow_implicit_invocation: false # c\n", `{"policy": {"allow_implicit_invocation": false}}`,
	"a: &x\n  allow_implicit_invocation: false\npolicy: *x\n", "policy:\n  allow_implicit_invocation: false\nx: \xff\n", "", "- a\n", "text\n",
	"policy: !!map {allow_implicit_invocation: false}\n", "policy: !x {allow_implicit_invocation: false}\n", "policy:\r\n  allow_implicit_invocation: false\r\n",
	"policy:\n\tallow_implicit_invocation: false\n", "policy:\n  allow_implicit_invocation: false\n? [a]\n: b\n", "policy:\n  allow_implicit_invocation: false\n3: x\n",
}

// odd are texts of SKILL.md, by directory.
func odd() map[string]string {
	texts := map[string]string{
		"crlf":     "---\r\nname: crlf\r\ndescription: Words.\r\n---\r\nbody\r\n",
		"cr":       "---\rname: cr\rdescription: Words.\r---\rbody\r",
		"badbyte":  "---\nname: badbyte\ndescription: Words.\n---\nbody\xff\n",
		"badfront": "---\nname: badfront\ndescription: Wo\xffrds.\n---\nbody\n",
		"nohead":   "x", "list": "---\n- list\n---\n", "empty": "---\n---\nx",
		"noname": "---\ndescription: D.\n---\nx", "nodesc": "---\nname: nodesc\n---\nx",
		"caps": "---\nName: caps\nDescription: words\n---\n",
	}
	each := func(kind string, parts []string, text func(id, part string) string) {
		for i, part := range parts {
			id := fmt.Sprintf("%s%02d", kind, i)
			texts[id] = text(id, part)
		}
	}
	each("open", []string{"--- \n", "\ufeff---\n", "\n---\n", " ---\n", "----\n", "---yaml\n", "---\t\n", "\n\n---\n"}, func(id, part string) string {
		return part + "name: " + id + "\ndescription: Words.\n---\nbody\n"
	})
	each("end", []string{"---", "--- \n", "...\n", "----\n", "", " ---\n", "---\t\n", "---x\n---\n"}, func(id, part string) string {
		return "---\nname: " + id + "\ndescription: Words.\n" + part
	})
	each("description", []string{
		"a: b", "'it''s'", `"e \u00e9"`, ">\n  fo\n  li", "|\n  ke\n  li", "|-\n   deep", "3", "true", "", "null", "[a, b]", "{a: b}", "!!str 5",
		"<b>t</b> & m", "  blanks  ", "`code`", "@at", "%percent", "- dash", "? mark", "*star", "&anchor words", "trailing: ", "tab\there",
		"uni\u200bcode \u2028 line", "one\n  continued", "2026-01-02", "0x10", "1e3", "yes", "\"unterminated", "'a' b", "# comment", "~", "1.5", "a # b", "a #b",
		"!tag x", ": x", "a : b", "[a", "{a", "]", "}", ",", "\"a\" b", "> x", "| x", "a\tb: c", "http://x.y/z", "x: 'y'", "\u0085nel", "x\u0007y",
	}, func(id, part string) string {
		return "---\nname: " + id + "\ndescription: " + part + "\n---\nbody\n"
	})
	each("name", []string{
		"3", "true", "null", "", "[list]", "~", "|-\n  blk", "Up Per", "a:b", "a: b", "'q'", "x # c", `"q\"q"`, "ünï", "a/b", " b  ", "1.5", "2026-01-02", "@x", "%x", "x'y",
	}, func(id, part string) string {
		return "---\nname: " + part + "\ndescription: Of " + id + ".\n---\nbody\n"
	})
	each("more", []string{
		"license: MIT\n", "metadata: none\n", "allowed-tools: [a, b]\n", "disable-model-invocation: true\n", "user-invocable: false\n", "name: again\n",
		"description: again\n", "unknown: {a: [1, 2]}\n", "broken: [\n", "\tTab: x\n", "<<: *x\n", "metadata: {short-description: 3}\n", "metadata: [a]\n",
		"a: b: c\n", "just text\n", "metadata:\n  short-description: \"\"\n", "version: 1.0\n", "---\n", "compatibility: x\n", "hidden: true\n",
		"license: [MIT]\n", "license: 3\n", "metadata: {a: {b: c}}\n", "metadata: {a: 3}\n",
	}, func(id, part string) string {
		return "---\nname: " + id + "\ndescription: Words.\n" + part + "---\nbody\n"
	})
	return texts
}
