package codingagents

import (
	"waymark/abi"
	"waymark/plugins/agentfiles/imports"
	"waymark/plugins/conventions"
)

// qwen is Qwen Code.
var qwen = Client{
	ID: "qwen-code", Reader: "qwen-code", Name: "Qwen Code", Aliases: []string{"qwen"}, Program: "qwen", Version: "0.24.4", Judged: true, Heads: conventions.HeadsQwen, GlobsOfProject: true, GlobsExact: true,
	Imports: &Imports{Of: imports.WordsOutsideCode, Steps: 5, Inlined: true, AsWritten: true, Links: true, Without: []string{"qwen-rules"}},
	Instructions: &Instructions{
		Top: AboveProject, Take: Every, SkipBlank: true, ByPlace: true, EndsAbove: ".qwen",
		Places: []Place{
			{Convention: "qwen-md", User: "qwen-user-md"}, {Convention: "agents-md", User: "qwen-user-agents-md"}, {Convention: "qwen-local-md", TopOnly: true, InProject: true},
			{Convention: "qwen-rules", User: "qwen-rules", TopOnly: true, SkipLinks: true, SkipBare: true},
		},
		Renamed: &Renamed{File: ".qwen/settings.json", Keys: [][]string{{"context", "fileName"}, {"contextFileName"}}, Places: []string{"qwen-md", "agents-md"}, Instead: true, Dir: ".qwen"},
	},
	Skills: &Skills{
		Top: StartOnly, Places: [][]string{{"qwen-skill-files", "agents-skill-files"}}, MaxDepth: 1, Same: SameNameFirst, Names: ByLetter, Line: LineXML,
	},
	User: &User{
		Instructions: []string{"qwen-user-md", "qwen-user-agents-md"}, Rules: []string{"qwen-rules"},
		Skills: [][]string{nil, {"qwen-skill-files", "agents-skill-files"}},
		Lists:  []string{"qwen-agents", "qwen-commands", "qwen-toml-commands"}, ListsLast: true,
		Moved: []Moved{{"QWEN_HOME", ".qwen"}},
	},
	Lists: []string{"qwen-agents", "qwen-commands", "qwen-toml-commands"}, ListsTop: StartOnly, ListsByName: true, NoSkillsNames: true,
	Builtin: map[abi.Kind][]string{abi.KindCommand: {
		"batch", "browser-use", "computer-use", "coordinate", "dataviz", "extension-creator", "goal-draft", "loop", "new-app", "qc-helper", "review", "simplify", "stuck",
		"workflow-authoring", "workflow-creator", "zvec-grep-install",
	}},
	Own: []conventions.Convention{
		skillFiles("qwen-skill-files", "qwen-code", ".qwen/skills/*/SKILL.md"),
		skillFiles("agents-skill-files", "qwen-code", ".agents/skills/*/SKILL.md"),
		userFile("qwen-user-md", "qwen-code", ".qwen/QWEN.md"),
		userFile("qwen-user-agents-md", "qwen-code", ".qwen/AGENTS.md"),
	},
	Sources: []Source{{"Qwen Code 0.24.4, what it sends to its model", "2026-11-28"}},
}
