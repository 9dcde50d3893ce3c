package conventions

import "waymark/abi"

// All is the table.
var All = []Convention{
	{ID: "agents-md", Readers: []string{"codex", "cursor"}, Places: []string{"AGENTS.md"}, Scope: ScopeProject,
		Kind: abi.KindInstructionFile, As: "instructions", Format: Markdown, Description: FromHeading},
	{ID: "claude-md", Readers: []string{"claude-code"}, Places: []string{"CLAUDE.md"}, Scope: ScopeProject,
		Kind: abi.KindInstructionFile, As: "instructions", Format: Markdown, Description: FromHeading},
	{ID: "cursorrules", Readers: []string{"cursor"}, Places: []string{".cursorrules"}, Scope: ScopeProject,
		Kind: abi.KindInstructionFile, As: "instructions", Format: Text, Description: FromHeading},
	{ID: "cursor-rules", Readers: []string{"cursor"}, Places: []string{".cursor/rules/**/*.mdc"}, Scope: ScopeProject,
		Kind: abi.KindInstructionFile, As: "rules", Format: Markdown, Name: FromFile, Description: FromField,
		Applies: Applies{Mode: "manual", GlobsKey: "globs", AlwaysKey: "alwaysApply", Described: "model"}},
	{ID: "skills", Readers: []string{"openclaw"}, Places: []string{"skills/*/SKILL.md"}, Scope: ScopeProject,
		Kind: abi.KindSkill, As: "skills", Format: Markdown, Name: FromField, Description: FromField},
	{ID: "agents-skills", Readers: []string{"codex"}, Places: []string{".agents/skills/*/SKILL.md"}, Scope: ScopeProject,
		Kind: abi.KindSkill, As: "skills", Format: Markdown, Name: FromField, Description: FromField},
	{ID: "claude-skills", Readers: []string{"claude-code"}, Places: []string{".claude/skills/*/SKILL.md"}, Scope: ScopeProject,
		Kind: abi.KindSkill, As: "skills", Format: Markdown, Name: FromField, Description: FromField},
	{ID: "codex-skills", Readers: []string{"codex"}, Places: []string{".codex/skills/*/SKILL.md"}, Scope: ScopeProject,
		Kind: abi.KindSkill, As: "skills", Format: Markdown, Name: FromField, Description: FromField},
	{ID: "claude-agents", Readers: []string{"claude-code"}, Places: []string{".claude/agents/**/*.md"}, Scope: ScopeProject,
		Kind: abi.KindSubagent, As: "subagents", Format: Markdown, Name: FromField, Description: FromField},
	{ID: "claude-commands", Readers: []string{"claude-code"}, Places: []string{".claude/commands/**/*.md"}, Scope: ScopeProject,
		Kind: abi.KindCommand, As: "commands", Format: Markdown, Name: FromPath, Description: FromField},
	{ID: "codex-agents", Readers: []string{"codex"}, Places: []string{".codex/agents/*.toml"}, Scope: ScopeProject,
		Kind: abi.KindSubagent, As: "subagents", Format: TOML, Name: FromField, Description: FromField},
	{ID: "claude-settings", Readers: []string{"claude-code"}, Places: []string{".claude/settings.json", ".claude/settings.local.json"},
		Scope: ScopeProject, Kind: abi.KindHook, As: "hooks", Format: JSON},
	{ID: "mcp-json", Readers: []string{"claude-code"}, Places: []string{".mcp.json"}, Scope: ScopeProject,
		Kind: abi.KindMCPConfig, As: "MCP configuration", Format: JSON},
}

// Agents are the readers, in order of their ids.
var Agents = []Agent{{"claude-code", "Claude Code"}, {"codex", "Codex"}, {"cursor", "Cursor"}, {"openclaw", "OpenClaw"}}
