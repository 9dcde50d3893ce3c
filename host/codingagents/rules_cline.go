package codingagents

import (
	"waymark/abi"
	"waymark/plugins/conventions"
	"waymark/snapshot"
)

// cline is Cline CLI.
var cline = Client{
	ID: "cline", Reader: "cline", Name: "Cline CLI", Program: "cline", Version: "3.0.65", Judged: true, Heads: conventions.HeadsCline, IgnoreCase: true, WholeGit: true,
	Instructions: &Instructions{
		Top: StartOnly, Take: Every, SkipBlank: true, AlwaysOnly: true, ByName: true,
		Places: []Place{
			{Convention: "cline-agents-md"}, {Convention: "cline-clinerules"}, {Convention: "cline-clinerules-agents-md"}, {Convention: "cline-clinerules-files"},
			{Convention: "cline-rule-agents-md"}, {Convention: "cline-rule-files"},
		},
		Called: map[string]string{"cline-agents-md": "Workspace AGENTS.md", "cline-user-agents-md": "Global AGENTS.md"},
	},
	Unlinked: []string{
		"cline-clinerules-files", "cline-rule-files", "cline-home-rules", "cline-documents-rules",
		"clinerules-skill-file", "cline-skill-file", "agents-skill-file",
	},
	Skills: &Skills{
		Top: ProjectAlone, Places: [][]string{{"clinerules-skill-files", "clinerules-skill-file", "cline-skill-files", "cline-skill-file", "agents-skill-files", "agents-skill-file"}},
		Same: SameNameLast, Counted: []Reason{snapshot.ClientNotAlways}, Names: ByPlace, Line: LineBare,
	},
	User: &User{
		Rules: []string{"cline-user-agents-md", "cline-rule-agents-md", "cline-rule-files", "cline-home-rules", "cline-documents-rules"}, After: true,
		Skills: [][]string{nil, {"cline-skill-files", "cline-skill-file", "agents-skill-files", "agents-skill-file"}},
		Lists:  []string{"cline-agent-files"},
		Moved:  []Moved{{"CLINE_DIR", ".cline"}},
	},
	Lists: []string{"cline-agent-files"}, ListsTop: ProjectAlone, ListsByName: true, ListsNoLinks: true,
	Own: []conventions.Convention{
		clineRules("cline-agents-md", "AGENTS.md"),
		clineRules("cline-clinerules", ".clinerules"),
		// Before the files among which they are: each file is found by its first convention.
		clineRules("cline-clinerules-agents-md", ".clinerules/AGENTS.md"),
		clineRules("cline-rule-agents-md", ".cline/rules/AGENTS.md"),
		clineRules("cline-clinerules-files", clineFiles(".clinerules")...),
		clineRules("cline-rule-files", clineFiles(".cline/rules")...),
		clineRules("cline-user-agents-md", ".agents/AGENTS.md"),
		clineRules("cline-home-rules", clineFiles("Cline/Rules")...),
		clineRules("cline-documents-rules", clineFiles("Documents/Cline/Rules")...),
		skillFiles("clinerules-skill-files", "cline", ".clinerules/skills/*/SKILL.md"),
		skillFiles("clinerules-skill-file", "cline", ".clinerules/skills/SKILL.md"),
		skillFiles("cline-skill-files", "cline", ".cline/skills/*/SKILL.md"),
		skillFiles("cline-skill-file", "cline", ".cline/skills/SKILL.md"),
		skillFiles("agents-skill-files", "cline", ".agents/skills/*/SKILL.md"),
		skillFiles("agents-skill-file", "cline", ".agents/skills/SKILL.md"),
		{
			ID: "cline-agent-files", Readers: []string{"cline"}, Scope: conventions.ScopeProject, Kind: abi.KindSubagent, Format: conventions.Markdown,
			Name: conventions.FromField, Description: conventions.FromField, Places: []string{".cline/agents/*.yaml", ".cline/agents/*.yml", ".cline/agents/*.YAML", ".cline/agents/*.YML"},
		},
	},
	Sources: []Source{
		{"@cline/cli-linux-x64 3.0.65, what it sends to its model", "2026-11-28"},
		{"@cline/core and @cline/shared of cline 3.0.65: dist/index.js, dist/storage/index.js", "2026-11-28"},
	},
}

// clineRules makes the convention of texts of Cline.
func clineRules(id string, places ...string) conventions.Convention {
	return conventions.Convention{
		ID: id, Readers: []string{"cline"}, Scope: conventions.ScopeProject, Kind: abi.KindInstructionFile, Format: conventions.Markdown,
		Description: conventions.FromField, Places: places,
	}
}

// clineFiles are the files that Cline takes for rules in a directory. Their endings may have
// any case.
func clineFiles(dir string) (places []string) {
	for _, ending := range []string{"md", "markdown", "txt", "MD", "MARKDOWN", "TXT"} {
		places = append(places, dir+"/*."+ending)
	}
	return places
}
