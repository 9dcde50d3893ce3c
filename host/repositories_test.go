package host_test

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bmatcuk/doublestar/v4"

	"waymark/abi"
	"waymark/host"
)

// envRepositories is a directory with clones of public repositories, as OWNER/NAME. They
// change, and none of them is ours to keep.
const envRepositories = "WAYMARK_REPOSITORIES"

// named are the files that are what they are by their names, wherever they lie. It knows
// nothing of the table of conventions, which it is compared with.
var named = map[string]abi.Kind{
	"SKILL.md": abi.KindSkill, "AGENTS.md": abi.KindInstructionFile, "CLAUDE.md": abi.KindInstructionFile, "GEMINI.md": abi.KindInstructionFile,
	"plugin.json": abi.KindPlugin, "marketplace.json": abi.KindPlugin, "gemini-extension.json": abi.KindPlugin,
	"hooks.json": abi.KindHook, "hooks-cursor.json": abi.KindHook, ".mcp.json": abi.KindMCPConfig,
}

// repositories are those that are looked for, with what isn't found in them and why.
var repositories = map[string]map[string]string{
	"obra/superpowers": {},
	"wshobson/agents": {
		".cursor-plugin/plugins/*.json": "no place of the format",
	},
	"anthropics/claude-plugins-official": {
		"plugins/example-plugin/**": "an example, which the list of plugins doesn't name",
	},
	"openai/skills": {},
	"vercel-labs/agent-skills": {
		"skills/*/AGENTS.md": "read by who works on a file beside it: agent for has it",
	},
	"anthropics/skills": {
		"template/SKILL.md": "a template: no agent looks for skills there",
	},
}

// TestRepositories counts by kind what is there, and compares it with what is found.
func TestRepositories(t *testing.T) {
	dir := os.Getenv(envRepositories)
	if dir == "" {
		t.Skipf("SKIPPED: %s names no directory with clones of public repositories", envRepositories)
	}
	for name, explained := range repositories {
		t.Run(name, func(t *testing.T) {
			root, err := filepath.EvalSymlinks(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			there := namedFiles(t, root)
			report := refresh(t, newHost(t, host.Options{Builtin: module(builtin(t)), Roots: []host.RootSpec{{Path: root}}}))
			found := map[abi.Kind]map[string]bool{}
			for i := range report.Snapshot.Resources {
				r := &report.Snapshot.Resources[i]
				if r.Status != "ok" {
					t.Errorf("%s is %s: %s", r.ID(), r.Status, r.Error)
				}
				rel, err := filepath.Rel(root, r.Source)
				if err != nil {
					t.Fatal(err)
				}
				if found[r.Kind] == nil {
					found[r.Kind] = map[string]bool{}
				}
				found[r.Kind][rel] = true
			}
			for kind, paths := range there {
				missing := 0
				for _, p := range paths {
					source := p
					if kind == abi.KindSkill { // a skill is its directory
						source = path.Dir(p)
					}
					if found[kind][source] {
						continue
					}
					missing++
					if why := explanation(explained, p); why != "" {
						t.Logf("%s: %s", p, why)
					} else {
						t.Errorf("%s (%s) was not found", p, kind)
					}
				}
				t.Logf("%s: %d there, %d found, %d explained", kind, len(paths), len(paths)-missing, missing)
			}
		})
	}
}

func explanation(explained map[string]string, file string) string {
	for pattern, why := range explained {
		if ok, err := doublestar.Match(pattern, file); ok && err == nil {
			return why
		}
	}
	return ""
}

// isSubagent reports whether a file is one of agents/ of a plugin in plugins/.
func isSubagent(rel string) bool {
	ok, err := doublestar.Match("plugins/*/agents/*.md", rel)
	return ok && err == nil
}

// namedFiles lists the files below a directory that are something by their name.
func namedFiles(t *testing.T, root string) map[abi.Kind][]string {
	t.Helper()
	there := map[abi.Kind][]string{}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && slices.Contains([]string{".git", "node_modules"}, d.Name()) {
			return fs.SkipDir
		}
		kind, ok := named[d.Name()]
		if rel := strings.TrimPrefix(p, root+"/"); !ok && isSubagent(rel) {
			kind, ok = abi.KindSubagent, true
		}
		if ok && !d.IsDir() {
			// A link is what it leads to, which is listed once.
			target, err := filepath.EvalSymlinks(p)
			if rel := strings.TrimPrefix(target, root+"/"); err == nil && !slices.Contains(there[kind], rel) {
				there[kind] = append(there[kind], rel)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(there[abi.KindSkill]) == 0 {
		t.Fatalf("there is no skill in %s: is it a clone with its files?", root)
	}
	return there
}
