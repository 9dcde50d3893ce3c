package codingagents

import (
	"waymark/abi"
	"waymark/plugins/conventions"
)

// codex is Codex.
var codex = Client{
	ID: "codex", Reader: "codex", Name: "Codex", Program: "codex", Version: "0.169.0", Judged: true, Heads: conventions.HeadsSerde, Dependencies: true,
	Instructions: &Instructions{
		Top: Project, Take: FirstOfDirectory, MaxBytes: 32 << 10, SkipBlank: true,
		Places: []Place{{Convention: "agents-override-md"}, {Convention: "agents-md"}},
	},
	Skills: &Skills{
		Top: Project, Places: [][]string{{"codex-skill-files"}, {"agents-skill-files"}},
		MaxDepth: 6, SkipHidden: true, SkipLinks: true, RealPlaces: true,
		NeedsDescription: true, MaxName: 64, MaxDescription: 1024, NeedsUTF8: true, OneLine: true,
		Same: SameFile, Names: ByByte, Line: LineAliased,
		Namespaces: []string{"codex-plugin", "claude-plugin", "codex-nested-plugin", "claude-nested-plugin"}, Policy: "codex-skill-policy",
		Budget: &Budget{
			Tokens: 5440, Percent: 2, Window: 272_000, FreeRoots: 142, Root: ".codex/skills/.system",
			Builtin: []Builtin{{"imagegen", 570}, {"openai-docs", 624}, {"skill-creator", 106}, {"skill-installer", 225}},
		},
	},
	User: &User{
		Instructions: []string{"codex-user-override-md", "codex-user-md"},
		Skills:       [][]string{nil, {"codex-skill-files", "agents-skill-files"}}, Last: true,
		Moved: []Moved{{"CODEX_HOME", ".codex"}},
		Plugins: &Plugins{Dir: ".codex", Skills: []string{"codex-plugin-skill-files", "plugin-skills"}, Own: []conventions.Convention{
			ofPlugins(skillFiles("codex-plugin-skill-files", "codex"), "skills/**/SKILL.md"),
			ofPlugins(policies, "**/agents/openai.yaml"),
			ofPlugins(manifest("codex-nested-plugin", ""), "**/.codex-plugin/plugin.json"),
			ofPlugins(manifest("claude-nested-plugin", ""), "**/.claude-plugin/plugin.json"),
		}},
	},
	Own: []conventions.Convention{
		skillFiles("codex-skill-files", "codex", ".codex/skills/**/SKILL.md"),
		skillFiles("agents-skill-files", "codex", ".agents/skills/**/SKILL.md"),
		policies,
		userFile("codex-user-override-md", "codex", ".codex/AGENTS.override.md"),
		userFile("codex-user-md", "codex", ".codex/AGENTS.md"),
		manifest("codex-nested-plugin", ".codex-plugin/plugin.json"),
		manifest("claude-nested-plugin", ".claude-plugin/plugin.json"),
	},
	Sources: []Source{
		{"@openai/codex 0.169.0, codex debug prompt-input", judged},
		{"https://github.com/openai/codex: codex-rs/core/src/agents_md.rs, codex-rs/core-skills/src/{loader,render,model_visible}.rs", judged},
	},
}

// manifest makes the convention of a plugin's manifest among the skills of Codex.
func manifest(id, name string) conventions.Convention {
	return conventions.Convention{
		ID: id, Readers: []string{"codex"}, Scope: conventions.ScopeProject, Kind: abi.KindPlugin, Format: conventions.JSON,
		Places: []string{".agents/skills/**/" + name, ".codex/skills/**/" + name}, Name: conventions.FromField,
	}
}

// policies are the files beside skills of Codex that can remove them from the list.
var policies = conventions.Convention{
	ID: "codex-skill-policy", Readers: []string{"codex"}, Scope: conventions.ScopeProject, Kind: abi.KindInstructionFile, Format: conventions.OpenAIYAML,
	Places: []string{".agents/skills/**/agents/openai.yaml", ".codex/skills/**/agents/openai.yaml"},
}

// ofPlugins returns a convention with a place in the plugins that Codex has installed.
func ofPlugins(c conventions.Convention, place string) conventions.Convention {
	c.Scope, c.Places = conventions.ScopeUser, []string{".codex/plugins/cache/*/*/*/" + place}
	return c
}
