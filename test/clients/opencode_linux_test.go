package clients_test

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"waymark/abi"
)

// opencodeRunner reads files all at once, so that of several skills with one name any counts.
var opencodeRunner = runner{
	id: "opencode", pkg: "opencode-linux-x64", pinned: "npm", seeds: 2,
	command: func(t *testing.T, modules string, home user) []string {
		t.Helper()
		models := filepath.Join(home.dir, "models.json")
		put(t, models, "{}") // its own list of models takes seconds to read
		return []string{"env", "OPENCODE_MODELS_PATH=" + models, filepath.Join(modules, "opencode-linux-x64/bin/opencode"), "run", "--pure", "--title", "x", "hello"}
	},
	env: []string{
		"OPENCODE_DISABLE_SHARE=1", "OPENCODE_DISABLE_DEFAULT_PLUGINS=1", "OPENCODE_EXPERIMENTAL_DISABLE_FILEWATCHER=1",
		`OPENCODE_CONFIG_CONTENT={"model":"fake/m","snapshot":false,"provider":{"fake":{"npm":"@ai-sdk/openai-compatible","name":"fake","options":{"baseURL":"http://` + modelAt +
			`/v1","apiKey":"none"},"models":{"m":{"name":"m","limit":{"context":200000,"output":8000}}}}}}`,
	},
	read:    func(file string) toolCall { return toolCall{"read", map[string]string{"filePath": file}} },
	unsent:  []abi.Kind{abi.KindCommand},
	differs: map[string]string{"random 2/4": sameName},
	trees:   opencodeTrees(),
	random: func(seed uint64) *tree {
		if seed < randomPerSeed {
			return randomMarked(seed)
		}
		tr := ofOpencode(*randomKilo(seed))
		return &tr
	},
}

// opencodeTrees are those of Kilo, which is a fork of opencode, at the places of opencode, and
// some of links and names.
func opencodeTrees() (list []tree) {
	for _, tr := range trees {
		if strings.Contains(tr.name, "link") || tr.name == "user" || tr.name == "odd skills" || tr.name == "one name in many places" {
			tr.name, tr.files, tr.home = "opencode: "+tr.name, maps.Clone(tr.files), maps.Clone(tr.home)
			list = append(list, *withMarks(&tr))
		}
	}
	for _, tr := range kiloTrees {
		// With a wrong value in a subagent opencode doesn't start.
		if made := ofOpencode(tr); !strings.Contains(tr.name, "rules") && !strings.Contains(tr.name, "that there isn't") && !strings.Contains(tr.name, "wrong value") {
			made.name = strings.Replace(tr.name, "kilo: ", "opencode: ", 1)
			list = append(list, made)
		}
	}
	return list
}

// ofOpencode returns a tree of Kilo with the places of opencode. Those of older versions of
// Kilo have none there.
func ofOpencode(tr tree) tree {
	at := func(files map[string]string) map[string]string {
		list := map[string]string{}
		for _, path := range slices.Sorted(maps.Keys(files)) { // of two that become one the last counts
			if parts := strings.Split(path, "/"); !slices.ContainsFunc(parts, func(part string) bool {
				return strings.HasPrefix(part, ".kilocode") || strings.HasPrefix(part, "rules")
			}) {
				list[strings.NewReplacer(".kilo/", ".opencode/", "/kilo/", "/opencode/").Replace(path)] = files[path]
			}
		}
		return list
	}
	tr.files, tr.home = at(tr.files), at(tr.home)
	return tr
}
