package codingagents

import (
	"slices"

	"waymark/plugins/conventions"
	"waymark/snapshot"
)

// opencode is opencode.
var opencode = Client{
	ID: "opencode", Reader: "opencode", Name: "opencode", Program: "opencode", Version: "1.18.33", Judged: true, Heads: conventions.HeadsMatter, Dependencies: true,
	Instructions: &Instructions{
		Top: ProjectElseAll, Up: true, Take: FirstOfAll,
		Places: []Place{{Convention: "agents-md"}, {Convention: "claude-md"}, {Convention: "opencode-context-md"}},
	},
	Skills: &Skills{
		Top: ProjectElseAll, Up: true,
		Places:    [][]string{{"claude-skill-files", "agents-skill-files"}, {"opencode-skill-files"}},
		HiddenAt:  []string{"opencode-skill-files", "opencode-user-skill-files"},
		NeedsName: true, NeedsDescription: true, Same: SameNameAny, Counted: []Reason{snapshot.ClientNoDescription}, Names: ByLetter, Line: LineXML,
	},
	User: &User{
		Instructions: []string{"opencode-user-md", "claude-dir-md"}, BlankTakes: true,
		Skills: [][]string{{"claude-skill-files", "agents-skill-files"}, {"opencode-user-skill-files"}, {"opencode-skill-files"}},
		Lists: []string{
			"opencode-user-agent-files", "opencode-user-mode-files", "opencode-user-command-files",
			"opencode-agent-files", "opencode-mode-files", "opencode-command-files",
		},
		Moved: []Moved{{"XDG_CONFIG_HOME", ".config"}},
	},
	Lists: []string{"opencode-agent-files", "opencode-mode-files", "opencode-command-files"}, ListsTop: ProjectElseAll, ListsLater: true, ListsByName: true,
	Primaries: []string{"build", "compaction", "plan", "summary", "title"},
	Own: slices.Concat(familyFiles("opencode", "opencode", ".opencode"), familyFiles("opencode", "opencode-user", ".config/opencode"), []conventions.Convention{
		skillFiles("claude-skill-files", "opencode", ".claude/skills/**/SKILL.md"),
		skillFiles("agents-skill-files", "opencode", ".agents/skills/**/SKILL.md"),
		userFile("opencode-user-md", "opencode", ".config/opencode/AGENTS.md"),
		userFile("opencode-context-md", "opencode", "CONTEXT.md"),
	}),
	Sources: []Source{
		{"opencode-ai 1.18.33, what it sends to its model", "2026-11-28"},
		{"https://github.com/anomalyco/opencode: packages/opencode/src/session/instruction.ts, packages/opencode/src/skill", judged},
	},
}
