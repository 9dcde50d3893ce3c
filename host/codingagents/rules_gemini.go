package codingagents

import (
	"waymark/abi"
	"waymark/plugins/agentfiles/imports"
	"waymark/plugins/conventions"
)

// gemini is Gemini CLI.
var gemini = Client{
	ID: "gemini", Reader: "gemini", Name: "Gemini CLI", Aliases: []string{"gemini-cli"}, Program: "gemini", Version: "0.61.0", Judged: true, Heads: conventions.HeadsLines,
	Imports: &Imports{Of: imports.Words, Steps: 5, Inlined: true, AsWritten: true},
	Instructions: &Instructions{
		Top: Project, Take: Every, SkipBlank: true, ByPath: true, EndsAbove: ".gemini", Places: []Place{{Convention: "gemini-md", User: "gemini-user-md"}},
		Renamed: &Renamed{File: ".gemini/settings.json", Keys: [][]string{{"context", "fileName"}}, Places: []string{"gemini-md"}, Dir: ".gemini"},
	},
	Skills: &Skills{
		Top: StartOnly, Places: [][]string{{"gemini-skill-files", "agents-skill-files"}}, MaxDepth: 1, SkipHidden: true, Beside: []string{"node_modules"},
		NoSigns: `:\/<>*?"|`, Same: SameNameLast, Names: ByPlace, Line: LineXML,
	},
	User: &User{
		Instructions: []string{"gemini-user-md"}, EachInstruction: true, Skills: [][]string{{"gemini-skill-files", "agents-skill-files"}},
		Lists: []string{"gemini-agents"},
	},
	Lists: []string{"gemini-agents"}, ListsTop: StartOnly, ListsWithout: "_", ListsNoLinks: true, Agreed: []string{"gemini-agents"},
	Builtin: map[abi.Kind][]string{abi.KindSubagent: {"codebase_investigator", "cli_help", "generalist"}},
	Own: []conventions.Convention{
		skillFiles("gemini-skill-files", "gemini", ".gemini/skills/SKILL.md", ".gemini/skills/*/SKILL.md"),
		skillFiles("agents-skill-files", "gemini", ".agents/skills/SKILL.md", ".agents/skills/*/SKILL.md"),
		userFile("gemini-user-md", "gemini", ".gemini/GEMINI.md"),
	},
	Sources: []Source{{"Gemini CLI 0.61.0, what it sends to its model", "2026-11-28"}},
}
