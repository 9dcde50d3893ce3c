package codingagents

import (
	"waymark/abi"
	"waymark/plugins/conventions"
	"waymark/snapshot"
)

// pi is Pi.
var pi = Client{
	ID: "pi", Reader: "pi", Name: "Pi", Program: "pi", Version: "0.73.1", Judged: true, Heads: conventions.HeadsYAML,
	Instructions: &Instructions{
		Top: All, Take: FirstOfDirectory,
		Places: []Place{{Convention: "agents-md"}, {Convention: "pi-agents-upper-md"}, {Convention: "claude-md"}, {Convention: "pi-claude-upper-md"}},
		Before: []string{"pi-system", "pi-append-system"},
	},
	Skills: &Skills{
		Top: ProjectElseAll, Up: true, Places: [][]string{{"pi-skill-files", "pi-skill-texts"}, {"agents-skill-files"}}, Tops: map[string]Top{"pi-skill-files": StartOnly, "pi-skill-texts": StartOnly}, HomeApart: true,
		Files: []string{"pi-skill-texts", "pi-user-skill-texts"}, Outermost: true, SkipHidden: true,
		NeedsDescription: true, Same: SameFileOrName, Counted: []Reason{snapshot.ClientNotAlways}, Names: ByPath, Line: LineXML,
	},
	User: &User{
		Instructions: []string{"pi-user-agents-md", "pi-user-agents-upper-md", "pi-user-claude-md", "pi-user-claude-upper-md"}, BlankTakes: true,
		Before: []string{"pi-user-system", "pi-user-append-system"},
		Skills: [][]string{nil, nil, {"pi-user-skill-files", "pi-user-skill-texts", "agents-skill-files"}}, Lists: []string{"pi-user-prompts"}, ListsLast: true,
		Moved: []Moved{{"PI_CODING_AGENT_DIR", ".pi/agent"}},
	},
	Lists: []string{"pi-prompts"}, ListsTop: StartOnly,
	Own: []conventions.Convention{
		skillFiles("pi-skill-files", "pi", ".pi/skills/**/SKILL.md"),
		skillFiles("pi-skill-texts", "pi", ".pi/skills/*.md"),
		skillFiles("agents-skill-files", "pi", ".agents/skills/**/SKILL.md"),
		skillFiles("pi-user-skill-files", "pi", ".pi/agent/skills/**/SKILL.md"),
		skillFiles("pi-user-skill-texts", "pi", ".pi/agent/skills/*.md"),
		userFile("pi-agents-upper-md", "pi", "AGENTS.MD"),
		userFile("pi-claude-upper-md", "pi", "CLAUDE.MD"),
		userFile("pi-user-agents-md", "pi", ".pi/agent/AGENTS.md"),
		userFile("pi-user-agents-upper-md", "pi", ".pi/agent/AGENTS.MD"),
		userFile("pi-user-claude-md", "pi", ".pi/agent/CLAUDE.md"),
		userFile("pi-user-claude-upper-md", "pi", ".pi/agent/CLAUDE.MD"),
		userFile("pi-user-system", "pi", ".pi/agent/SYSTEM.md"),
		userFile("pi-user-append-system", "pi", ".pi/agent/APPEND_SYSTEM.md"),
		{
			ID: "pi-user-prompts", Readers: []string{"pi"}, Scope: conventions.ScopeProject, Kind: abi.KindCommand, Format: conventions.Markdown,
			Name: conventions.FromFile, Description: conventions.FromField, Places: []string{".pi/agent/prompts/*.md"},
		},
	},
	Sources: []Source{{"Pi 0.73.1, what it sends to its model, and its source", "2026-11-28"}},
}
