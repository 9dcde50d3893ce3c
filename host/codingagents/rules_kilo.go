package codingagents

import (
	"slices"

	"waymark/abi"
	"waymark/plugins/conventions"
	"waymark/snapshot"
)

// kilo is Kilo's command line, a fork of opencode.
var kilo = Client{
	ID: "kilo", Reader: "kilo", Name: "Kilo CLI", Program: "kilo", Version: "7.7.9", Judged: true, Heads: conventions.HeadsMatter, Dependencies: true, LinksInside: true,
	Instructions: &Instructions{
		Top: ProjectElseAll, Up: true, Take: FirstOfAll,
		Places:          []Place{{Convention: "agents-md"}, {Convention: "claude-md"}, {Convention: "kilo-context-md"}},
		SkipLinkedRules: true,
		Rules:           idsOf(kiloRuleRows()),
	},
	Skills: &Skills{
		Top: ProjectElseAll, Up: true, Places: [][]string{{"claude-skill-files", "agents-skill-files"}, {"kilocode-skill-files", "kilo-skill-files"}},
		Tops:      map[string]Top{"claude-skill-files": Project, "agents-skill-files": Project},
		HiddenAt:  []string{"kilocode-skill-files", "kilo-skill-files", "kilo-user-skill-files"},
		NeedsName: true, NeedsDescription: true, Same: SameNameLast, Counted: []Reason{snapshot.ClientNoDescription}, Names: ByLetter, Line: LineXML,
	},
	User: &User{
		Instructions: []string{"kilo-user-md", "claude-dir-md"}, BlankTakes: true,
		Rules: []string{"kilo-rule-files"}, RulesLater: true,
		Skills: [][]string{{"claude-skill-files", "agents-skill-files"}, {"kilo-user-skill-files"}, {"kilocode-skill-files", "kilo-skill-files"}},
		Lists: []string{
			"kilo-user-agent-files", "kilo-user-mode-files", "kilo-user-command-files",
			"kilocode-agent-files", "kilocode-mode-files", "kilo-agent-files", "kilo-mode-files", "kilocode-command-files", "kilo-command-files",
		},
		Moved: []Moved{{"XDG_CONFIG_HOME", ".config"}},
	},
	Lists: []string{"kilocode-agent-files", "kilocode-mode-files", "kilo-agent-files", "kilo-mode-files", "kilocode-command-files", "kilo-command-files"}, ListsTop: ProjectElseAll, ListsLater: true, ListsByName: true,
	Primaries: []string{"ask", "build", "code", "compaction", "debug", "orchestrator", "plan", "summary", "title"},
	Own: slices.Concat(kiloRuleRows(), familyFiles("kilo", "kilocode", ".kilocode"), familyFiles("kilo", "kilo", ".kilo"), familyFiles("kilo", "kilo-user", ".config/kilo"), []conventions.Convention{
		skillFiles("claude-skill-files", "kilo", ".claude/skills/**/SKILL.md"),
		skillFiles("agents-skill-files", "kilo", ".agents/skills/**/SKILL.md"),
		userFile("kilo-context-md", "kilo", "CONTEXT.md"),
		userFile("kilo-user-md", "kilo", ".config/kilo/AGENTS.md"),
	}),
	Sources: []Source{{"Kilo CLI 7.7.9, what it sends to its model, and its source", "2026-11-28"}},
}

// kiloRuleRows are Kilo's rules, for all and of one mode, which it reads without front matter.
func kiloRuleRows() (rows []conventions.Convention) {
	row := func(id string, places ...string) {
		rows = append(rows, conventions.Convention{
			ID: id, Readers: []string{"kilo"}, Scope: conventions.ScopeProject, Kind: abi.KindInstructionFile, Format: conventions.Markdown,
			Description: conventions.FromHeading, Places: places,
		})
	}
	row("kilo-rule-files", ".kilo/rules/*.md", ".kilocode/rules/*.md")
	row("kilo-legacy-rules", ".kilocoderules")
	for _, mode := range []string{"code", "architect", "ask", "debug", "orchestrator"} {
		row("kilo-rules-"+mode, ".kilo/rules-"+mode+"/*.md", ".kilocode/rules-"+mode+"/*.md")
		row("kilo-legacy-rules-"+mode, ".kilocoderules-"+mode)
	}
	return rows
}

// idsOf returns the ids of rows.
func idsOf(rows []conventions.Convention) (ids []string) {
	for i := range rows {
		ids = append(ids, rows[i].ID)
	}
	return ids
}

// familyFiles are the skills, subagents, modes and commands in a directory of opencode or Kilo,
// whose rows begin with an id.
func familyFiles(reader, id, dir string) []conventions.Convention {
	return []conventions.Convention{
		skillFiles(id+"-skill-files", reader, dir+"/skill/**/SKILL.md", dir+"/skills/**/SKILL.md"),
		agentFiles(id+"-agent-files", reader, dir+"/agent/**/*.md", dir+"/agents/**/*.md"),
		modeFiles(id+"-mode-files", reader, dir+"/mode/*.md", dir+"/modes/*.md"),
		commandFiles(id+"-command-files", reader, dir+"/command/**/*.md", dir+"/commands/**/*.md"),
	}
}

// agentFiles makes a convention of subagents of opencode or Kilo. One whose mode is primary is for the user alone.
func agentFiles(id, reader string, places ...string) conventions.Convention {
	return conventions.Convention{
		ID: id, Readers: []string{reader}, Scope: conventions.ScopeProject, Kind: abi.KindSubagent, Format: conventions.Markdown,
		Name: conventions.FromField, Description: conventions.FromField, Places: places,
		Applies: conventions.Applies{ManualKey: "disable", ModeKey: "mode", Words: []conventions.Word{{Is: "primary", Mode: "manual"}, {Is: "subagent", Mode: "model"}, {Is: "all", Mode: "model"}}},
	}
}

// modeFiles makes a convention of modes of opencode or Kilo. They read each file as a
// subagent whose mode is primary, whatever mode it states.
func modeFiles(id, reader string, places ...string) conventions.Convention {
	c := agentFiles(id, reader, places...)
	c.Applies = conventions.Applies{Mode: "manual"}
	return c
}

// commandFiles makes a convention of commands of opencode or Kilo.
func commandFiles(id, reader string, places ...string) conventions.Convention {
	return conventions.Convention{
		ID: id, Readers: []string{reader}, Scope: conventions.ScopeProject, Kind: abi.KindCommand, Format: conventions.Markdown,
		Name: conventions.FromPath, Description: conventions.FromField, Places: places,
	}
}
