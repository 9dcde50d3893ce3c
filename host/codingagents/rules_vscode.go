package codingagents

// copilotVSCode is GitHub Copilot in VS Code, with its default settings.
var copilotVSCode = Client{
	ID: "copilot-vscode", Reader: "vscode", Name: "GitHub Copilot in VS Code", Version: "documentation of 2026-11",
	Instructions: &Instructions{
		Top: StartOnly, Take: Every, Places: []Place{{Convention: "copilot-instructions"}, {Convention: "copilot-rules"}, {Convention: "agents-md"}},
	},
	Skills: &Skills{
		Top: StartOnly, Places: [][]string{{"copilot-skills", "claude-skills", "agents-skills"}}, MaxDepth: 1,
		NeedsName: true, NeedsDescription: true, Same: SameNameFirst, Names: ByByte, Line: LineName,
	},
	Lists: []string{"copilot-agents", "copilot-prompts"}, ListsTop: StartOnly,
	Sources: []Source{{"https://code.visualstudio.com/docs/agent-customization", "2026-11-23"}},
}
