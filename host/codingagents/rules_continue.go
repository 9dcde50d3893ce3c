package codingagents

import "waymark/plugins/conventions"

// continued is Continue CLI.
var continued = Client{
	ID: "continue", Reader: "continue", Name: "Continue CLI", Program: "cn", Version: "1.5.47", Judged: true, Heads: conventions.HeadsContinue,
	Instructions: &Instructions{
		Top: StartOnly, Take: FirstOfDirectory, SkipBlank: true, AlwaysOnly: true,
		Places: []Place{
			{Convention: "agents-md"}, {Convention: "agent-md"}, {Convention: "claude-md"}, {Convention: "codex-md"},
			{Convention: "continue-rules", Beside: true},
		},
		Shallow: []string{"continue-rules"}, Once: []string{"continue-rules"},
	},
	Skills: &Skills{
		Top: StartOnly, Places: [][]string{{"continue-skill-files", "claude-skill-files"}}, SkipLinkedDirs: true,
		Same: SameNever, Names: ByPlace, Line: LineName,
	},
	User: &User{
		Rules: []string{"continue-rules"}, After: true,
		Skills: [][]string{nil, {"continue-skill-files"}},
		Moved:  []Moved{{"CONTINUE_GLOBAL_DIR", ".continue"}},
	},
	Own: []conventions.Convention{
		skillFiles("continue-skill-files", "continue", ".continue/skills/*/SKILL.md"),
		skillFiles("claude-skill-files", "continue", ".claude/skills/*/SKILL.md"),
	},
	Sources: []Source{
		{"@continuedev/cli 1.5.47, what it sends to its model", "2026-11-28"},
		{"@continuedev/cli 1.5.47: src/systemMessage.ts, src/util/loadMarkdownSkills.ts", "2026-11-28"},
	},
}
