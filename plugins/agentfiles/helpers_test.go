package agentfiles_test

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"waymark/abi"
	"waymark/plugins/agentfiles"
	"waymark/plugins/conventions"
	guest "waymark/sdk-guest"
)

// table is the tests' own, so that they stay what they are when the facts move.
var table = []conventions.Convention{
	instruction("agents-md", "AGENTS.md"),
	{
		ID: "claude-md", Scope: conventions.ScopeProject, Kind: abi.KindInstructionFile, Format: conventions.Markdown,
		Places: []string{"CLAUDE.md"}, Description: conventions.FromHeading, Imports: true,
	},
	instruction("cursorrules", ".cursorrules"),
	rules("cursor-rules", ".cursor/rules/**/*.mdc", conventions.Applies{Mode: "manual", GlobsKey: "globs", AlwaysKey: "alwaysApply", Described: "model"}),
	rules("windsurf-rules", ".windsurf/rules/*.md", conventions.Applies{
		Mode: "manual", GlobsKey: "globs", ModeKey: "trigger",
		Words: []conventions.Word{{Is: "always_on", Mode: "always"}, {Is: "glob", Mode: "glob"}, {Is: "model_decision", Mode: "model"}},
	}),
	rules("claude-rules", ".claude/rules/**/*.md", conventions.Applies{Mode: "always", GlobsKey: "paths"}),
	skills("skills", "skills/*/SKILL.md"),
	skills("agents-skills", ".agents/skills/*/SKILL.md"),
	skills("claude-skills", ".claude/skills/*/SKILL.md"),
	skills("codex-skills", ".codex/skills/*/SKILL.md"),
	skills("deep-skills", ".deep/skills/**/SKILL.md"),
	of(abi.KindSubagent, "claude-agents", conventions.Markdown, conventions.FromField, ".claude/agents/**/*.md"),
	of(abi.KindSubagent, "codex-agents", conventions.TOML, conventions.FromField, ".codex/agents/*.toml"),
	of(abi.KindSubagent, "kiro-agents", conventions.JSON, conventions.FromField, ".kiro/agents/*.json"),
	of(abi.KindCommand, "claude-commands", conventions.Markdown, conventions.FromPath, ".claude/commands/**/*.md"),
	of(abi.KindCommand, "gemini-commands", conventions.TOML, conventions.FromPath, ".gemini/commands/**/*.toml"),
	of(abi.KindCommand, "copilot-prompts", conventions.Markdown, conventions.FromField, ".github/prompts/*.prompt.md"),
	of(abi.KindCommand, "goose-recipes", conventions.YAML, conventions.FromField, ".goose/recipes/*.yaml"),
	{
		ID: "roomodes", Scope: conventions.ScopeProject, Kind: abi.KindSubagent, Format: conventions.YAML,
		Places: []string{".roomodes"}, Name: conventions.FromField, Description: conventions.FromField, Each: "customModes",
	},
	{
		ID: "user-claude-md", Scope: conventions.ScopeUser, Kind: abi.KindInstructionFile, Format: conventions.Markdown,
		Places: []string{".claude/CLAUDE.md"}, Description: conventions.FromHeading,
	},
}

func instruction(id, place string) conventions.Convention {
	return conventions.Convention{
		ID: id, Scope: conventions.ScopeProject, Kind: abi.KindInstructionFile, Format: conventions.Markdown,
		Places: []string{place}, Description: conventions.FromHeading,
	}
}

func rules(id, place string, applies conventions.Applies) conventions.Convention {
	return conventions.Convention{
		ID: id, Scope: conventions.ScopeProject, Kind: abi.KindInstructionFile, Format: conventions.Markdown,
		Places: []string{place}, Name: conventions.FromFile, Description: conventions.FromField, Applies: applies,
	}
}

func skills(id, place string) conventions.Convention {
	return of(abi.KindSkill, id, conventions.Markdown, conventions.FromField, place)
}

func of(kind abi.Kind, id string, format conventions.Format, name conventions.Derivation, place string) conventions.Convention {
	return conventions.Convention{
		ID: id, Scope: conventions.ScopeProject, Kind: kind, Format: format,
		Places: []string{place}, Name: name, Description: conventions.FromField,
	}
}

var resolver = agentfiles.Resolver(table)

// module is one whose only resolver this is.
func module() guest.Module {
	return guest.Module{Name: "test", Version: "1.0.0", Resolvers: []guest.Resolver{resolver}}
}

func text(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }

func skill(name string) string {
	return "---\nname: " + name + "\ndescription: About " + name + ".\n---\n# Body\n"
}

func config(t testing.TB, json string) guest.Config {
	t.Helper()
	c, err := guest.ParseConfig(json)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func resolve(t testing.TB, root guest.Root, json string, fsys fs.FS) *guest.Response {
	t.Helper()
	resp, err := resolver.Resolve(&guest.Request{Root: root, Config: config(t, json)}, fsys)
	if err != nil {
		t.Fatal(err)
	}
	if resp == nil {
		resp = &guest.Response{}
	}
	for _, rows := range resp.Rows {
		list, err := rows.Decode()
		if err != nil {
			t.Fatal(err)
		}
		resp.Resources = append(resp.Resources, list...)
	}
	resp.Rows = nil
	return resp
}

// codes shows the findings of a resource.
func codes(r guest.Resource) string {
	var out strings.Builder
	for _, f := range r.Findings {
		out.WriteString(" +" + f.Code)
	}
	return out.String()
}
