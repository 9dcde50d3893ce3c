package clients_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tree is a workspace, and where in it a client is started.
type tree struct {
	name, start string
	files       map[string]string // with "-> target" for a link
	noGit       bool
	home        map[string]string // what lies in the user's home directory
	// inHome: the workspace lies in it.
	inHome bool
	// variables name directories, relative to the home directory, in the place of others.
	variables map[string]string
	// reads is a file, relative to the start, that the program reads after its start.
	reads string
}

// head is a SKILL.md.
func head(name, description string) string {
	return fmt.Sprintf("---\nname: %s\ndescription: %s\n---\nbody\n", name, description)
}

// numbered are many skills.
func numbered(n int, description string) map[string]string {
	files := map[string]string{}
	for i := range n {
		files[fmt.Sprintf(".agents/skills/s%d/SKILL.md", i)] = head(fmt.Sprintf("skill-%03d", i), description)
	}
	return files
}

// installedPlugins adds plugins that are installed for Codex in a directory of the home
// directory: two that are on, one that is off and one that nothing names.
func installedPlugins(dir string, files map[string]string) map[string]string {
	all := map[string]string{dir + "/config.toml": "[plugins.\"on@market\"]\nenabled = true\n[plugins.\"off@market\"]\nenabled = false\n[plugins.\"named@market\"]\nenabled = true\n"}
	for name, text := range map[string]string{
		"on/1.9.0/.codex-plugin/plugin.json":           `{"name": "on", "version": "1.9.0"}`,
		"on/1.9.0/skills/old/SKILL.md":                 head("old", "Of an old version."),
		"on/1.10.0/.codex-plugin/plugin.json":          `{"name": "on", "version": "1.10.0"}`,
		"on/1.10.0/skills/brought/SKILL.md":            head("brought", "What it brings."),
		"on/1.10.0/skills/deep/er/SKILL.md":            head("deep", "Deeper."),
		"on/1.10.0/skills/.hidden/SKILL.md":            head("hidden", "Hidden."),
		"on/1.10.0/skills/nodesc/SKILL.md":             "---\nname: nodesc\n---\nx",
		"on/1.10.0/skills/withheld/SKILL.md":           head("withheld", "By its policy."),
		"on/1.10.0/skills/withheld/agents/openai.yaml": "policy:\n  allow_implicit_invocation: false\n",
		"off/1.0.0/.codex-plugin/plugin.json":          `{"name": "off", "version": "1.0.0"}`,
		"off/1.0.0/skills/off/SKILL.md":                head("off", "Switched off."),
		"named/1.0.0/.codex-plugin/plugin.json":        `{"name": "named", "version": "1.0.0", "skills": "./more"}`,
		"named/1.0.0/more/extra/SKILL.md":              head("extra", "Where the manifest says."),
		"unnamed/1.0.0/.codex-plugin/plugin.json":      `{"name": "unnamed", "version": "1.0.0"}`,
		"unnamed/1.0.0/skills/unnamed/SKILL.md":        head("unnamed", "Nothing names it."),
	} {
		all[dir+"/plugins/cache/market/"+name] = text
	}
	maps.Copy(all, files)
	return all
}

var trees = []tree{
	{name: "plain", files: map[string]string{
		"AGENTS.md":                                  "root\n",
		".agents/skills/one/SKILL.md":                head("one", "First."),
		".agents/skills/two/SKILL.md":                head("two", "Second."),
		".claude/skills/three/SKILL.md":              head("three", "Third."),
		".codex/skills/four/SKILL.md":                head("four", "Fourth."),
		".opencode/skills/five/SKILL.md":             head("five", "Fifth."),
		".opencode/agent/helper.md":                  "---\ndescription: Helps.\nmode: subagent\n---\nHelp.\n",
		".opencode/command/go.md":                    "---\ndescription: Goes.\n---\nGo.\n",
		".agents/skills/withheld/SKILL.md":           head("withheld", "By its policy."),
		".agents/skills/withheld/agents/openai.yaml": "policy:\n  allow_implicit_invocation: false\n",
	}},
	{name: "nested", start: "a/b", files: map[string]string{
		"AGENTS.md":                        "root\n",
		"a/AGENTS.md":                      "in a",
		"a/b/AGENTS.md":                    "in b\r\nand more\r\n",
		"a/b/c/AGENTS.md":                  "below\n",
		"CLAUDE.md":                        "for another\n",
		".agents/skills/one/SKILL.md":      head("one", "At the top."),
		"a/.agents/skills/two/SKILL.md":    head("two", "In a."),
		"a/b/.claude/skills/UP/SKILL.md":   head("UP", "In b."),
		"a/b/c/.agents/skills/no/SKILL.md": head("no", "Below."),
	}},
	{name: "overrides", start: "sub", files: map[string]string{
		"AGENTS.md": "root\n", "AGENTS.override.md": "in its place\n",
		"sub/AGENTS.md": "sub\n", "sub/AGENTS.override.md": " \n", "sub/CLAUDE.md": "claude\n", "sub/CONTEXT.md": "context\n",
	}},
	{name: "other names", files: map[string]string{"CLAUDE.md": "claude\n", "CONTEXT.md": "context\n", "agents.md": "lower case\n"}},
	{name: "links", start: "sub", files: map[string]string{
		"CLAUDE.md": "claude\n", "AGENTS.md": "-> CLAUDE.md", "sub/AGENTS.md": "-> ../AGENTS.md",
		"real/linked/SKILL.md":          head("linked", "Over a link."),
		".agents/skills/linked":         "-> ../../real/linked",
		".agents/skills/plain/SKILL.md": head("plain", "Plain."),
		"sub/.agents/skills":            "-> ../../.agents/skills",
		".agents/skills/again":          "-> ../../real/linked",
		"real/file/SKILL.md":            head("file-link", "A linked file."),
		".agents/skills/file/SKILL.md":  "-> ../../../real/file/SKILL.md",
		".agents/skills/broken":         "-> nowhere",
	}},
	{name: "duplicates", start: "sub", files: map[string]string{
		".agents/skills/dup/SKILL.md":     head("dup", "At the top."),
		"sub/.agents/skills/dup/SKILL.md": head("dup", "Below."),
		".claude/skills/dup/SKILL.md":     head("dup", "Another one's."),
		".agents/skills/twin1/SKILL.md":   head("twin", "The same words."),
		".agents/skills/twin2/SKILL.md":   head("twin", "The same words."),
	}},
	{name: "plugin", files: map[string]string{
		".codex-plugin/plugin.json":                    `{"name": "bundle", "skills": "./skills/"}`,
		".claude-plugin/plugin.json":                   `{"name": "other"}`,
		"skills/brought/SKILL.md":                      head("brought", "What it brings."),
		".agents/skills/own/SKILL.md":                  head("own", "Its own."),
		".agents/skills/in/skills/deep/SKILL.md":       head("deep", "In another one."),
		".agents/skills/in/.claude-plugin/plugin.json": `{"name": "inner"}`,
	}},
	{name: "nameless plugin", files: map[string]string{
		".codex-plugin/plugin.json": `{"version": "1.0.0"}`, ".agents/skills/own/SKILL.md": head("own", "Its own."),
	}},
	{name: "odd skills", files: map[string]string{
		".agents/skills/a/b/c/d/e/f/SKILL.md":   head("six", "Six deep."),
		".agents/skills/a/b/c/d/e/f/g/SKILL.md": head("seven", "Seven deep."),
		".agents/skills/a/b/SKILL.md":           head("two", "Two deep, with others in it."),
		".agents/skills/.hidden/SKILL.md":       head("hidden", "Hidden."),
		".agents/skills/dir/SKILL.md":           head("othername", "Another name."),
		".agents/skills/UPPER/SKILL.md":         head("UPPER_case", "Upper."),
		".agents/skills/nodesc/SKILL.md":        "---\nname: nodesc\n---\nx",
		".agents/skills/noname/SKILL.md":        "---\ndescription: No name.\n---\nx",
		".agents/skills/nohead/SKILL.md":        "hello",
		".agents/skills/colon/SKILL.md":         head("colon", "a: b: c"),
		".agents/skills/lines/SKILL.md":         "---\nname: lines\ndescription: |\n  one\n  two\n---\nx",
		".agents/skills/long/SKILL.md":          head("long", strings.Repeat("d", 1100)),
		".agents/skills/longname/SKILL.md":      head(strings.Repeat("n", 65), "Long name."),
		".agents/skills/lower/skill.md":         head("lower", "Lower case."),
		".agents/skills/SKILL.md":               head("top", "In the container itself."),
	}},
	{name: "long descriptions", files: numbered(120, strings.Repeat("wörter ", 60))},
	{name: "too many skills", files: numbered(700, "some words")},
	{name: "too large", start: "a/b", files: map[string]string{
		"AGENTS.md": strings.Repeat("r", 30_000) + "\n", "a/AGENTS.md": strings.Repeat("é", 2000) + "\n", "a/b/AGENTS.md": "leaf\n",
	}},
	{name: "no git", start: "x", noGit: true, files: map[string]string{
		"AGENTS.md": "above\n", "x/AGENTS.md": "here\n", ".agents/skills/up/SKILL.md": head("up", "Above."), "x/.agents/skills/here/SKILL.md": head("here", "Here."),
	}},
	{name: "user", start: "sub", files: map[string]string{
		"AGENTS.md": "root\n", "sub/AGENTS.md": "sub\n",
		".agents/skills/both/SKILL.md":      head("both", "The project's."),
		"sub/.claude/skills/zz/SKILL.md":    head("zz", "The project's last."),
		"sub/.codex/skills/zy/SKILL.md":     head("zy", "Of codex."),
		".opencode/skills/theirs/SKILL.md":  head("theirs", "The project's."),
		".opencode/skills/another/SKILL.md": head("another", "The project's."),
	}, home: map[string]string{
		".codex/AGENTS.md":                       "  mine\n\n",
		"sub/AGENTS.md":                          "not of the project\n",
		"sub/.agents/skills/not/SKILL.md":        head("not", "Not of the project."),
		".codex/skills/mine/SKILL.md":            head("mine", "Of the user."),
		".agents/skills/mine2/SKILL.md":          head("mine2", "Of the user, too."),
		".claude/skills/mine3/SKILL.md":          head("mine3", "For others."),
		".config/opencode/AGENTS.md":             "for opencode\n",
		".config/opencode/skills/mine4/SKILL.md": head("mine4", "Of opencode."),
	}},
	{name: "user without a project", noGit: true, home: map[string]string{
		".codex/AGENTS.override.md": " \n", ".codex/AGENTS.md": "mine\n", ".claude/CLAUDE.md": "mine, of another\n",
		".opencode/skills/mine5/SKILL.md":     head("mine5", "In the home directory."),
		".agents/skills/deep/in/it/SKILL.md":  head("deep", "Deep."),
		".agents/skills/.hidden/one/SKILL.md": head("hidden", "Hidden."),
	}},
	{name: "user elsewhere", start: "sub", variables: map[string]string{"CODEX_HOME": "else/cx", "XDG_CONFIG_HOME": "else/xdg"}, files: map[string]string{
		"AGENTS.md": "root\n", ".agents/skills/one/SKILL.md": head("one", "Of the project."), "cx/AGENTS.md": "not the user's\n",
	}, home: map[string]string{
		"else/cx/AGENTS.md": "mine\n", "else/cx/skills/mine/SKILL.md": head("mine", "Of the user."), "else/cx/skills/deep/er/SKILL.md": head("deep", "Of the user, too."),
		"else/cx/skills/gone/SKILL.md": head("gone", "Withheld."), "else/cx/skills/gone/agents/openai.yaml": "policy:\n  allow_implicit_invocation: false\n",
		".codex/AGENTS.md": "not read\n", ".codex/skills/no/SKILL.md": head("no", "Not read."), ".agents/skills/mine2/SKILL.md": head("mine2", "Where it always is."),
		"else/xdg/opencode/AGENTS.md": "for opencode\n", "else/xdg/opencode/skills/mine3/SKILL.md": head("mine3", "Of opencode."),
		"else/xdg/opencode/skill/.hidden/SKILL.md": head("hidden", "Hidden."),
		".config/opencode/AGENTS.md":               "not read either\n", ".config/opencode/skills/no2/SKILL.md": head("no2", "Not read."),
	}},
	{name: "user with many skills", files: numbered(100, strings.Repeat("words ", 30)), home: map[string]string{".codex/skills/mine/SKILL.md": head("mine", "The user has one.")}},
	{name: "one name in many places", start: "sub", files: map[string]string{
		".agents/skills/a/SKILL.md": head("same", "Of the project."), "sub/.claude/skills/a/SKILL.md": head("same", "Of the project, below."),
		".opencode/skills/a/SKILL.md": head("same", "Of the project, for opencode."), ".codex/skills/a/SKILL.md": head("same", "Of the project, for Codex."),
	}, home: map[string]string{
		".agents/skills/a/SKILL.md": head("same", "Of the user."), ".config/opencode/skills/a/SKILL.md": head("same", "Of the user, for opencode."),
		".opencode/skill/a/SKILL.md": head("same", "Of the user, in another place."), ".codex/skills/a/SKILL.md": head("same", "Of the user, for Codex."),
	}},
	{name: "links out", start: "sub", files: map[string]string{
		"../out/skills/one/SKILL.md": head("one", "Out of the project."), "../out/two/SKILL.md": head("two", "Out of it, too."),
		"../out/AGENTS.md": "from elsewhere\n", "AGENTS.md": "-> ../out/AGENTS.md", ".claude/skills": "-> ../../out/skills",
		".agents/skills": "-> ../../out/skills", "sub/.agents/skills/two": "-> ../../../../out/two", "../chain": "-> out/two",
		"sub/.codex/skills/three": "-> ../../../../chain",
	}, home: map[string]string{".agents/skills/mine": "-> ../../src/mine", "src/mine/SKILL.md": head("mine", "The user keeps it elsewhere.")}},
	{name: "links out without git", start: "a/b", noGit: true, files: map[string]string{
		"shared/one/SKILL.md": head("one", "Above."), "a/.agents/skills/x/one": "-> ../../../../shared/one", "a/b/.opencode/skills/two": "-> ../../../../shared/one",
		"a/b/.agents/skills/all": "-> ../../../../shared", "CLAUDE.md": "all\n", "a/b/AGENTS.md": "-> ../../CLAUDE.md", "a/.claude/skills/up": "-> ../../b/.agents/skills",
	}},
	{name: "links back", start: "a", files: map[string]string{
		"a/.agents/skills/x/up": "-> ../../../../a", "a/plain/SKILL.md": head("plain", "In no place."),
		"a/.codex/skills/y/SKILL.md": head("other", "In the place of another."), "a/.agents/skills/1/2/3/4/5/6/7/8/9/SKILL.md": head("deepest", "Ten deep."),
	}},
	{name: "installed plugins", start: "sub", files: map[string]string{
		"AGENTS.md": "root\n", ".agents/skills/own/SKILL.md": head("own", "Of the project."), "zz/SKILL.md": head("zz", "In no place."),
	}, home: installedPlugins(".codex", map[string]string{
		".codex/skills/mine/SKILL.md": head("mine", "Of the user."), ".agents/skills/zlast/SKILL.md": head("zlast", "Of the user, too."),
	})},
	{name: "installed plugins elsewhere", variables: map[string]string{"CODEX_HOME": "else/cx"}, files: map[string]string{
		".agents/skills/own/SKILL.md": head("own", "Of the project."),
	}, home: installedPlugins("else/cx", map[string]string{
		".codex/config.toml": "[plugins.\"no@market\"]\nenabled = true\n", ".codex/plugins/cache/market/no/1.0.0/skills/no/SKILL.md": head("no", "Not read."),
	})},
	{name: "installed plugins with many skills", files: numbered(150, strings.Repeat("words ", 30)), home: installedPlugins(".codex", nil)},
	{name: "nothing", files: map[string]string{"README.md": "none\n"}},
}

// make makes a tree and returns where a client is started.
func (tr *tree) make(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return tr.makeIn(t, dir)
}

// makeIn makes it in a directory.
func (tr *tree) makeIn(t *testing.T, dir string) string {
	t.Helper()
	dir = filepath.Join(dir, "w")
	put := func(name, text string) { put(t, filepath.Join(dir, name), text) }
	if !tr.noGit { // what git init makes, as far as clients look
		put(".git/HEAD", "ref: refs/heads/main\n")
		put(".git/config", "[core]\n\trepositoryformatversion = 0\n\tbare = false\n")
		for _, name := range []string{".git/objects/info/x", ".git/refs/heads/x"} {
			put(name, "")
			_ = os.Remove(filepath.Join(dir, name))
		}
	}
	for name, text := range tr.files {
		put(name, text)
	}
	start := filepath.Join(dir, tr.start)
	if err := os.MkdirAll(start, 0o700); err != nil {
		t.Fatal(err)
	}
	return start
}

// makeHome makes the user's home directory.
func (tr *tree) makeHome(t *testing.T) user {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return tr.homeIn(t, home)
}

// homeIn makes it as a directory.
func (tr *tree) homeIn(t *testing.T, home string) user {
	t.Helper()
	if err := os.MkdirAll(home, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range tr.home {
		put(t, filepath.Join(home, name), text)
	}
	u := user{dir: home}
	for name, dir := range tr.variables {
		dir = filepath.Join(home, dir)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		u.env = append(u.env, name+"="+dir)
	}
	return u
}

// put writes a file, or makes a link of "-> target".
func put(t *testing.T, path, text string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err != nil {
		t.Fatal(err)
	}
	if target, ok := strings.CutPrefix(text, "-> "); ok {
		err = os.Symlink(target, path)
	} else {
		err = os.WriteFile(path, []byte(text), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
