package host_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waymark/abi"
	"waymark/host"
	"waymark/snapshot"
	"waymark/test/testenv"
)

// bundleTree writes files below a directory.
func bundleTree(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// countPlugins counts what is brought, by kind, and by plugin and kind.
func countPlugins(s *snapshot.Snapshot) (kinds map[abi.Kind]int, brought map[string]int) {
	kinds, brought = map[abi.Kind]int{}, map[string]int{}
	for i := range s.Resources {
		r := &s.Resources[i]
		kinds[r.Kind]++
		if p := r.Attributes["plugin"].Text; p != "" && r.Kind != abi.KindPlugin {
			brought[p+" "+string(r.Kind)]++
		}
	}
	return kinds, brought
}

// TestMarketplaces: of lists of plugins such as people keep, with skills, subagents and
// commands each, there is what the generator made, and each with its plugin.
func TestMarketplaces(t *testing.T) {
	r := testenv.Rand(t)
	for range testenv.Rounds(3, 10, 100) {
		dir := t.TempDir()
		files, entries := map[string]string{}, []string(nil)
		want, kinds := map[string]int{}, map[abi.Kind]int{}
		for i := range 1 + r.IntN(40) {
			name := fmt.Sprintf("p%d", i)
			in := "plugins/" + name + "/"
			files[in+".claude-plugin/plugin.json"] = `{"name":"` + name + `"}`
			entries = append(entries, `{"name":"`+name+`","source":"./plugins/`+name+`","description":"`+strings.Repeat("long ", 1000)+`"}`)
			for j := range r.IntN(4) {
				files[fmt.Sprintf("%sskills/s%d/SKILL.md", in, j)] = fmt.Sprintf("---\nname: s%d\ndescription: d\n---\n", j)
				want[name+" skill"]++
				kinds[abi.KindSkill]++
			}
			for j := range r.IntN(4) {
				files[fmt.Sprintf("%sagents/a%d.md", in, j)] = fmt.Sprintf("---\nname: a%d\ndescription: d\n---\n", j)
				want[name+" subagent"]++
				kinds[abi.KindSubagent]++
			}
			for j := range r.IntN(4) {
				files[fmt.Sprintf("%scommands/c%d.md", in, j)] = "Do it"
				want[name+" command"]++
				kinds[abi.KindCommand]++
			}
		}
		n := len(entries)
		entries = append(entries, `{"name":"far","source":{"source":"url","url":"https://example.com/x.git"}}`, `{"name":"out","source":"../x"}`)
		files[".claude-plugin/marketplace.json"] = `{"name":"m","plugins":[` + strings.Join(entries, ",") + `]}`
		bundleTree(t, dir, files)
		report := refresh(t, newHost(t, host.Options{Builtin: module(builtin(t)), Roots: []host.RootSpec{{Path: dir}}}))
		got, brought := countPlugins(report.Snapshot)
		for kind, count := range kinds {
			if got[kind] != count {
				t.Errorf("%d of kind %s, want %d", got[kind], kind, count)
			}
		}
		if got[abi.KindPlugin] != 2*n+3 { // manifests and entries, the list, and what isn't here
			t.Errorf("%d rows of plugins for %d", got[abi.KindPlugin], n)
		}
		for what, count := range want {
			if brought[what] != count {
				t.Errorf("%s: %d, want %d", what, brought[what], count)
			}
		}
		if t.Failed() {
			return
		}
	}
}

// TestBundleComesAndGoes: with the manifest at the top the plugin's parts come and go, also
// while the agent runs.
func TestBundleComesAndGoes(t *testing.T) {
	dir := t.TempDir()
	bundleTree(t, dir, map[string]string{
		"skills/own/SKILL.md": "---\nname: own\ndescription: d\n---\n", "agents/a.md": "---\nname: a\ndescription: d\n---\n",
		"hooks/hooks.json": `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"true"}]}]}}`, "README.md": "text",
	})
	h := newHost(t, host.Options{Builtin: module(builtin(t)), Roots: []host.RootSpec{{Path: dir}}})
	manifest := filepath.Join(dir, ".claude-plugin", "plugin.json")
	for range 2 {
		kinds, brought := countPlugins(refresh(t, h).Snapshot)
		if kinds[abi.KindSkill] != 1 || kinds[abi.KindSubagent] != 0 || len(brought) != 0 {
			t.Fatalf("without a manifest: %v %v", kinds, brought)
		}
		bundleTree(t, dir, map[string]string{".claude-plugin/plugin.json": `{"name":"mine","version":"1"}`})
		kinds, brought = countPlugins(refresh(t, h).Snapshot)
		if kinds[abi.KindSkill] != 1 || brought["mine skill"] != 1 || brought["mine subagent"] != 1 || brought["mine hook"] != 1 {
			t.Fatalf("with a manifest: %v %v", kinds, brought)
		}
		if err := os.Remove(manifest); err != nil {
			t.Fatal(err)
		}
	}
}
