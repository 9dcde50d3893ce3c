package codingagents

import (
	"waymark/abi"
	"waymark/plugins/agentfiles/imports"
	"waymark/plugins/conventions"
	"waymark/snapshot"
)

// copilotCLI is Copilot CLI.
var copilotCLI = Client{
	ID: "copilot-cli", Reader: "copilot", Name: "GitHub Copilot CLI", Program: "copilot", Version: "1.0.102", Judged: true, Heads: conventions.HeadsCopilot, Dependencies: true,
	FoldNames: true, WholeGit: true, NameGlobs: true, SkipHidden: true,
	NotAtHome: []string{"claude-skill-files", "claude-agent-files", "copilot-commands"},
	Imports: &Imports{
		Of: imports.InProse, Steps: 8, Inlined: true, ElseStart: true, AsWritten: true,
		Without: []string{"gemini-md", "copilot-rules", "claude-rules", "copilot-user-rules"},
	},
	Instructions: &Instructions{
		Top: Project, Take: Every, SkipBlank: true,
		Places: []Place{
			{Convention: "copilot-instructions", OneText: true}, {Convention: "agents-md", OneText: true}, {Convention: "claude-md", OneText: true},
			{Convention: "claude-dir-md", OneText: true}, {Convention: "gemini-md", OneText: true}, {Convention: "copilot-rules"}, {Convention: "claude-rules"},
		},
		Parts: []Part{
			{Ends, []string{"copilot-instructions"}}, {Ends, []string{"agents-md", "claude-md", "gemini-md"}},
			{Between, []string{"copilot-instructions", "agents-md", "claude-md", "claude-dir-md", "gemini-md"}},
			{Of: UsersRules}, {Ends, []string{"copilot-rules", "claude-rules"}},
		},
	},
	Skills: &Skills{
		Top: ProjectElseThroughHome, Up: true, Places: [][]string{{"copilot-skill-files"}, {"agents-skill-files"}, {"claude-skill-files"}},
		SkipHidden: true, Outermost: true, Same: SameNameFirst, Counted: []Reason{snapshot.ClientNotAlways}, Names: ByRun, Line: LineName,
	},
	User: &User{
		Instructions: []string{"copilot-user-md"}, Rules: []string{"copilot-user-rules"}, Skills: [][]string{nil, nil, nil, {"copilot-user-skill-files", "agents-skill-files"}},
		Subagents: []string{"copilot-user-agents"},
		Moved:     []Moved{{"COPILOT_HOME", ".copilot"}, {"COPILOT_HOME", ".agents"}}, // the latter isn't read then
		Plugins:   &Plugins{Dir: ".copilot", Skills: []string{"plugin-skills"}, Lists: []string{"plugin-agents", "plugin-commands"}, PrefixSubagents: true},
	},
	ListBudget: &ListBudget{Characters: 15_000, Window: 128_000, Builtin: 2, BuiltinCharacters: 780, Element: 87},
	Lists:      []string{"copilot-agent-files", "claude-agent-files", "copilot-commands"}, ListsTop: ProjectElseThroughHome, ListsByRun: true, SubagentsByFile: true,
	Own: []conventions.Convention{
		userFile("copilot-user-md", "copilot", ".copilot/copilot-instructions.md"),
		ofCopilot("copilot-user-rules", abi.KindInstructionFile, ".copilot/instructions/**/*.instructions.md"),
		skillFiles("copilot-skill-files", "copilot", ".github/skills/**/SKILL.md"),
		skillFiles("agents-skill-files", "copilot", ".agents/skills/**/SKILL.md"),
		skillFiles("claude-skill-files", "copilot", ".claude/skills/**/SKILL.md"),
		skillFiles("copilot-user-skill-files", "copilot", ".copilot/skills/**/SKILL.md"),
		ofCopilot("copilot-agent-files", abi.KindSubagent, ".github/agents/**/*.md"),
		ofCopilot("claude-agent-files", abi.KindSubagent, ".claude/agents/**/*.md"),
		ofCopilot("copilot-user-agents", abi.KindSubagent, ".copilot/agents/**/*.md"),
		ofCopilot("copilot-commands", abi.KindCommand, ".claude/commands/*.md", ".claude/commands/*.MD"),
	},
	Sources: []Source{
		{"Copilot CLI 1.0.102, what it sends to its model", "2026-11-28"},
		{"https://docs.github.com/copilot/reference/copilot-cli-reference/cli-plugin-reference", latest},
	},
}

// ofCopilot makes a convention of files with front matter.
func ofCopilot(id string, kind abi.Kind, places ...string) conventions.Convention {
	c := skillFiles(id, "copilot", places...)
	c.Kind = kind
	return c
}
