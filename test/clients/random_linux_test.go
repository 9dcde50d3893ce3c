package clients_test

import (
	"fmt"
	"math/rand/v2"
	"path"
	"strings"
)

// pick returns one of several texts.
func pick(r *rand.Rand, texts ...string) string { return texts[r.IntN(len(texts))] }

// fill puts some of the names, where nothing is in their way.
func fill(r *rand.Rand, files map[string]string, some int, names []string, text func() string) {
	for range some {
		name := pick(r, names...)
		free := true
		for other := range files {
			free = free && other != name && !strings.HasPrefix(name, other+"/") && !strings.HasPrefix(other, name+"/")
		}
		if free {
			files[name] = text()
		}
	}
}

// inPlace are names in a place of a directory.
func inPlace(dir, place string, names ...string) (paths []string) {
	for _, name := range names {
		paths = append(paths, path.Join(dir, place+name))
	}
	return paths
}

// randomTree makes a tree of places, plugins and links, and in every other one a home
// directory.
func randomTree(r *rand.Rand) *tree {
	tr := &tree{start: pick(r, "", "a", "a/b"), noGit: r.IntN(4) == 0, files: map[string]string{}, home: map[string]string{}}
	dirs := []string{"", "a", "a/b"}
	put := func(name, text string) {
		// Nothing lies below a file or a link, and nothing is put twice.
		for other := range tr.files {
			if other == name || strings.HasPrefix(name, other+"/") || strings.HasPrefix(other, name+"/") {
				return
			}
		}
		tr.files[name] = text
	}
	for range 2 + r.IntN(6) {
		put(path.Join(pick(r, dirs...), pick(r, "AGENTS.md", "AGENTS.md", "AGENTS.override.md", "CLAUDE.md", "CONTEXT.md")),
			pick(r, "some text\n", "more\r\ntext", "", " \n", strings.Repeat("long ", 4000), "-> README.md"))
	}
	put("README.md", "read me\n")
	back := false
	containers := []string{".agents/skills", ".agents/skills", ".codex/skills", ".claude/skills", ".opencode/skill", ".opencode/skills"}
	for i := range 8 + r.IntN(24) {
		place := path.Join(pick(r, dirs...), pick(r, containers...))
		for range 1 + r.IntN(3) {
			place = path.Join(place, pick(r, "one", "two", "three", "deep", "node_modules", ".hidden", "Up_er", "four.five"))
		}
		switch r.IntN(12) {
		case 0:
			to := pick(r, "shared/one", "shared", "a", ".agents/skills/two", "nowhere", "../out", "../out/two")
			if to == "a" {
				if back { // opencode doesn't end with two
					to = "shared"
				}
				back = true
			}
			put(place, "-> "+relative(place, to))
		case 1:
			put(path.Join(place, "SKILL.md"), "-> "+relative(path.Join(place, "SKILL.md"), "shared/one/SKILL.md"))
		case 2:
			put(path.Join(place, pick(r, ".codex-plugin", ".claude-plugin"), "plugin.json"),
				pick(r, `{"name": "plug"}`, `{"name": " "}`, `{"name": ""}`, `{"version": "1"}`, `{"name": 3}`, `{"name": "x", "skills": "./s"}`, `[]`, `{`, `{"name": " in "}`))
		default:
			put(path.Join(place, "SKILL.md"), randomSkill(r, i))
			if r.IntN(6) == 0 {
				put(path.Join(place, "agents/openai.yaml"), pick(r,
					"policy:\n  allow_implicit_invocation: false\n", "policy: {allow_implicit_invocation: false}\n", "policy:\n  allow_implicit_invocation: true\n",
					"policy:\n  products: [CODEX]\n", "policy:\n  products: [CHATGPT]\n", "policy:\n  products: []\n", "policy: [\n", "interface:\n  display_name: X\n", "",
					"allow_implicit_invocation: false\n", "policy:\n  allow_implicit_invocation: \"false\"\n"))
			}
		}
	}
	put("shared/one/SKILL.md", head("shared-one", "What links lead to."))
	put("shared/SKILL.md", head("shared", "Above."))
	put("../out/two/SKILL.md", head("out-two", "Out of the project."))
	if r.IntN(2) == 0 {
		randomHome(r, tr.home)
	}
	return tr
}

// randomHome puts skills and instructions into a home directory, some of them by names
// that the project has, too.
func randomHome(r *rand.Rand, home map[string]string) {
	places := []string{".agents/skills", ".codex/skills", ".claude/skills", ".config/opencode/skill", ".config/opencode/skills", ".opencode/skills"}
	for i := range 2 + r.IntN(8) {
		home[path.Join(pick(r, places...), pick(r, "one", "two", ".hidden", "deep/er"), "SKILL.md")] = randomSkill(r, i)
	}
	for range r.IntN(3) {
		home[pick(r, ".codex/AGENTS.md", ".codex/AGENTS.override.md", ".config/opencode/AGENTS.md", ".claude/CLAUDE.md")] = pick(r, "mine\n", "", " \n", "mine\r\nand more")
	}
}

// relative is the way from where a link lies to a path of the same tree.
func relative(from, to string) string {
	return strings.Repeat("../", strings.Count(from, "/")) + to
}

// randomSkill is a SKILL.md, most of them good ones.
func randomSkill(r *rand.Rand, i int) string {
	name := fmt.Sprintf("name-%02d", i)
	switch r.IntN(12) {
	case 0:
		name = pick(r, "twin", "Twin", "other")
	case 1:
		return "---\ndescription: Without a name " + name + ".\n---\nbody\n"
	case 2:
		return pick(r, "no front matter\n", "---\nname: "+name+"\n---\n", "", "---\n---\n")
	case 3:
		return head(name, pick(r, "a: b", "3", "`code`", "[a, b]", "'quoted'", "two  blanks", strings.Repeat("long ", 250)))
	}
	return head(name, fmt.Sprintf("What number %d does.", i))
}
