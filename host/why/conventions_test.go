package why_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bmatcuk/doublestar/v4"

	"waymark/host/vfs"
	"waymark/host/why"
)

// TestTableIsSound: every row's pattern is one, and no row stands there twice.
func TestTableIsSound(t *testing.T) {
	var seen []string
	for _, p := range why.Patterns() {
		if !doublestar.ValidatePattern(p) {
			t.Errorf("%q is no pattern", p)
		}
		seen = append(seen, p)
	}
	slices.Sort(seen)
	for i := 1; i < len(seen); i++ {
		// The two rows of a place that some tools read below the top, too.
		if seen[i] == seen[i-1] && !strings.HasSuffix(seen[i], ".md") {
			t.Errorf("%q stands there twice", seen[i])
		}
	}
}

// TestMCPFilesAreKnown: the table knows every client whose configuration is
// protected.
func TestMCPFilesAreKnown(t *testing.T) {
	var w world
	w.disable = []string{"instructions", "skills", "mcp-config"}
	for _, m := range vfs.MCPFiles() {
		w.tree = append(w.tree, strings.ReplaceAll(m.Pattern, "*", ".json")+" = x")
	}
	dir, in := w.build(t)
	for _, m := range vfs.MCPFiles() {
		path := filepath.Join(dir, strings.ReplaceAll(m.Pattern, "*", ".json"))
		if a := why.Explain(in, path); a.Reason != why.ReasonNotAKnownPlace || !strings.Contains(a.Detail, "MCP configuration") {
			t.Errorf("%s (%s): %s: %s", m.Pattern, m.Client, a.Reason, a.Detail)
		}
	}
}

// toolFiles are those that tools are known to read, each with one of the tools
// and a word of what they take it for.
func toolFiles() []string {
	return []string{
		"AGENTS.md|Codex|instructions", "AGENTS.md|Cursor|instructions", "AGENTS.override.md|Pi|instructions", "AGENTS.local.md|Roo Code|instructions",
		"AGENT.md|Amp|instructions", "CLAUDE.md|Claude Code|instructions", ".claude/CLAUDE.md|Claude Code|instructions", "CLAUDE.local.md|Claude Code|instructions",
		".claude/AGENTS.md|Claude Code|instructions", "GEMINI.md|Gemini CLI|instructions", "GEMINI.md|GitHub Copilot|instructions", "QWEN.md|Qwen Code|instructions",
		"QWEN.local.md|Qwen Code|instructions", "WARP.md|Warp|instructions", "REASONIX.md|Reasonix|instructions", "replit.md|Replit|instructions",
		".goosehints|Goose|instructions", ".rules|Zed|instructions", ".cursorrules|Cursor|instructions", ".windsurfrules|Windsurf|instructions",
		".roorules|Roo Code|instructions", ".roorules-code|Roo Code|mode", ".augment-guidelines|Augment|instructions", "APPEND_SYSTEM.md|Pi|prompt",
		".github/copilot-instructions.md|GitHub Copilot|instructions", ".junie/AGENTS.md|Junie|instructions", ".junie/guidelines.md|Junie|instructions",
		".cursor/BUGBOT.md|Cursor|reviews", "CONVENTIONS.md|Aider|instructions", ".aider.conf.yml|Aider|settings",

		".cursor/rules/sub/a.mdc|Cursor|rules", "pkg/.cursor/rules/a.mdc|Cursor|rules", ".github/instructions/x/a.instructions.md|GitHub Copilot|rules",
		".claude/rules/x/a.md|Claude Code|rules", ".clinerules/a.md|Cline|rules", ".clinerules/a.txt|Cline|rules", ".windsurf/rules/a.md|Windsurf|rules",
		".devin/rules/a.md|Windsurf|rules", ".roo/rules/a.md|Roo Code|rules", ".roo/rules-code/a.md|Roo Code|mode", ".kiro/steering/a.md|Kiro|rules",
		".aiassistant/rules/a.md|JetBrains AI Assistant|rules", ".augment/rules/a.md|Augment|rules", ".agents/rules/a.md|Antigravity|rules",
		".agents/checks/a.md|Amp|checks", ".kilo/rules/a.md|Kilo|rules", ".takt/facets/policies/a.md|Takt|rules", ".codex/rules/a.rules|Codex|commands",

		".agents/skills/x/SKILL.md|Codex|skills", ".agents/skills/x/scripts/a.sh|Amp|skills", ".claude/skills/x/SKILL.md|Claude Code|skills",
		".codex/skills/x/SKILL.md|Codex|skills", ".github/skills/x/SKILL.md|GitHub Copilot|skills", ".cursor/skills/x/SKILL.md|Cursor|skills",
		".gemini/skills/x/SKILL.md|Gemini CLI|skills", ".opencode/skill/x/SKILL.md|opencode|skills", ".opencode/skills/x/SKILL.md|opencode|skills",
		".kiro/skills/x/SKILL.md|Kiro|skills", ".junie/skills/x/SKILL.md|Junie|skills", ".factory/skills/x/SKILL.md|Factory|skills",
		".windsurf/skills/x/SKILL.md|Windsurf|skills", ".devin/skills/x/SKILL.md|Windsurf|skills", ".cline/skills/x/SKILL.md|Cline|skills",
		".clinerules/skills/x/SKILL.md|Cline|skills", ".roo/skills/x/SKILL.md|Roo Code|skills", ".roo/skills-code/x/SKILL.md|Roo Code|mode",
		".goose/skills/x/SKILL.md|Goose|skills", ".warp/skills/x/SKILL.md|Warp|skills", ".augment/skills/x/SKILL.md|Augment|skills",
		".qwen/skills/x/SKILL.md|Qwen Code|skills", ".kilo/skills/x/SKILL.md|Kilo|skills", ".kilocode/skills/x/SKILL.md|Kilo|skills",
		".kimi-code/skills/x/SKILL.md|Kimi Code|skills", ".grok/skills/x/SKILL.md|Grok CLI|skills", ".pi/skills/x/SKILL.md|Pi|skills",
		".reasonix/skills/x/SKILL.md|Reasonix|skills", ".rovodev/skills/x/SKILL.md|Rovo Dev|skills", ".deepagents/skills/x/SKILL.md|deepagents|skills",
		".trae/skills/x/SKILL.md|Trae|skills", ".continue/skills/x/SKILL.md|Continue|skills", ".crush/skills/x/SKILL.md|Crush|skills",
		".openhands/skills/x/SKILL.md|OpenHands|skills", ".agent/skills/x/SKILL.md|Agent Skills|skills", "skills/x/SKILL.md|OpenClaw|skills",
		"SKILL.md|Claude Code|one skill", ".copilot/skills/x/SKILL.md|GitHub Copilot|skills", ".config/agents/skills/x/SKILL.md|Amp|skills",

		".claude/agents/x/a.md|Claude Code|subagents", ".github/agents/a.agent.md|GitHub Copilot|subagents", ".github/agents/a.chatmode.md|VS Code|subagents",
		".cursor/agents/a.md|Cursor|subagents", ".gemini/agents/a.md|Gemini CLI|subagents", ".opencode/agent/a.md|opencode|subagents",
		".opencode/agents/a.md|opencode|subagents", ".codex/agents/a.toml|Codex|subagents", ".kiro/agents/a.md|Kiro|subagents", ".kiro/agents/a.json|Kiro|subagents",
		".factory/droids/a.md|Factory|subagents", ".goose/agents/a.md|Goose|subagents", ".junie/agents/a.md|Junie|subagents", ".augment/agents/a.md|Augment|subagents",
		".qwen/agents/a.md|Qwen Code|subagents", ".devin/agents/a.md|Windsurf|subagents", ".grok/agents/a.md|Grok CLI|subagents", ".agents/agents/a.md|Kimi Code|subagents",
		".roomodes|Roo Code|modes", ".cline/agents/a.yaml|Cline|subagents", ".kilo/agents/a.md|Kilo|subagents", ".kimi-code/agents/a.md|Kimi Code|subagents",
		".rovodev/subagents/a.md|Rovo Dev|subagents", "agents/a.md|Claude Code|subagents",

		".claude/commands/git/a.md|Claude Code|commands", ".gemini/commands/git/a.toml|Gemini CLI|commands", ".cursor/commands/a.md|Cursor|commands",
		".opencode/command/a.md|opencode|commands", ".opencode/commands/a.md|opencode|commands", ".github/prompts/a.prompt.md|VS Code|prompts",
		".codex/prompts/a.md|Codex|prompts", ".windsurf/workflows/a.md|Windsurf|workflows", ".clinerules/workflows/a.md|Cline|workflows",
		".roo/commands/a.md|Roo Code|commands", ".augment/commands/a.md|Augment|commands", ".factory/commands/a.md|Factory|commands",
		".qwen/commands/a.toml|Qwen Code|commands", ".kiro/prompts/a.md|Kiro|prompts", ".agents/commands/a.md|Augment|commands",
		".agents/workflows/a.md|Antigravity|workflows", ".junie/commands/a.md|Junie|commands", ".kilo/commands/a.md|Kilo|commands", ".pi/prompts/a.md|Pi|prompts",
		".rovodev/prompts/a.md|Rovo Dev|prompts", ".rovodev/prompts.yml|Rovo Dev|prompts", "prompts.yml|Rovo Dev|prompts", ".goose/recipes/a.yaml|Goose|recipes",
		"commands/a.md|Claude Code|commands", "commands/a.toml|Gemini CLI|commands",

		".claude/settings.json|Claude Code|hooks", ".claude/settings.local.json|Claude Code|hooks", ".codex/hooks.json|Codex|hooks", ".cursor/hooks.json|Cursor|hooks",
		".github/hooks/a.json|GitHub Copilot|hooks", ".copilot/hooks/a.json|GitHub Copilot|hooks", ".gemini/settings.json|Gemini CLI|hooks",
		".devin/hooks.v1.json|Windsurf|hooks", ".clinerules/hooks/PreToolUse|Cline|hooks", ".kiro/hooks/a.json|Kiro|hooks", ".factory/hooks.json|Factory|hooks",
		".factory/settings.json|Factory|hooks", ".augment/settings.json|Augment|hooks", ".grok/hooks/a.json|Grok CLI|hooks", ".agents/hooks.json|Antigravity|hooks",
		"hooks/hooks.json|Goose|hooks", ".agents/plugins/p/hooks/hooks.json|Goose|hooks",

		"plugin.json|Agent Plugins|manifest", ".claude-plugin/plugin.json|Claude Code|manifest", ".claude-plugin/marketplace.json|Claude Code|plugins",
		".codex-plugin/plugin.json|Codex|manifest", ".agents/plugins/marketplace.json|Codex|plugins", ".cursor-plugin/plugin.json|Cursor|manifest",
		".kimi-plugin/plugin.json|Kimi Code|plugin", "gemini-extension.json|Gemini CLI|extension", "POWER.md|Kiro|power", "steering/a.md|Kiro|power",
		".opencode/plugin/a.ts|opencode|plugins", ".kilo/plugins/a.ts|Kilo|plugins", ".amp/plugins/a.ts|Amp|plugins", ".pi/extensions/a.ts|Pi|extensions",
		".lsp.json|Claude Code|language servers", "output-styles/a.md|Claude Code|output styles", "monitors/monitors.json|Claude Code|monitors",
		"policies/a.toml|Gemini CLI|policies", ".claude/plugins/cache/m/p/1/x|Claude Code|disabled", ".gemini/extensions/x/commands/a.toml|Gemini CLI|extension",

		".mcp.json|Claude Code|MCP", ".claude.json|Claude Code|MCP", "mcp.json|Kiro|MCP", ".vscode/mcp.json|VS Code|MCP", ".github/mcp.json|GitHub Copilot|MCP",
		".copilot/mcp-config.json|GitHub Copilot|MCP", ".cursor/mcp.json|Cursor|MCP", ".codex/config.toml|Codex|MCP", ".grok/config.toml|Grok CLI|MCP",
		"opencode.json|opencode|MCP", "opencode.jsonc|opencode|MCP", ".kiro/settings/mcp.json|Kiro|MCP", ".roo/mcp.json|Roo Code|MCP", ".junie/mcp/mcp.json|Junie|MCP",
		".factory/mcp.json|Factory|MCP", ".warp/.mcp.json|Warp|MCP", ".ai/mcp/mcp.json|JetBrains AI Assistant|MCP", ".devin/mcp_config.json|Windsurf|MCP",
		".devin/mcp_config.local.json|Windsurf|MCP", ".agents/mcp_config.json|Antigravity|MCP", ".rovodev/mcp.json|Rovo Dev|MCP", ".kimi-code/mcp.json|Kimi Code|MCP",
		".amp/settings.json|Amp|MCP", ".amp/settings.jsonc|Amp|MCP", ".config/goose/config.yaml|Goose|MCP", ".agents/plugins/p/.mcp.json|Goose|MCP",
		".cline/data/settings/cline_mcp_settings.json|Cline|MCP", ".zed/settings.json|Zed|MCP", "kilo.json|Kilo|MCP", ".kimi-code/config.toml|Kimi Code|MCP",
		".qwen/settings.json|Qwen Code|MCP",

		".codex/AGENTS.md|Codex|the user's", ".codex/AGENTS.override.md|Codex|the user's", ".claude/projects/p/memory/MEMORY.md|Claude Code|remembers",
		".gemini/GEMINI.md|Gemini CLI|the user's", ".copilot/copilot-instructions.md|GitHub Copilot|the user's", ".copilot/instructions/a.md|GitHub Copilot|the user's",
		".config/opencode/AGENTS.md|opencode|the user's", ".config/amp/AGENTS.md|Amp|the user's", ".config/zed/AGENTS.md|Zed|the user's",
		".config/devin/AGENTS.md|Windsurf|the user's", ".config/goose/.goosehints|Goose|the user's", ".agents/AGENTS.md|Warp|the user's", ".grok/AGENTS.md|Grok CLI|the user's",
		".codeium/windsurf/memories/global_rules.md|Windsurf|the user's", "Documents/Cline/Rules/a.md|Cline|the user's", ".cline/rules/a.md|Cline|the user's",
		".cursor/cli.json|Cursor|settings", ".devin/config.json|Windsurf|settings", ".pi/settings.json|Pi|settings", ".reasonix/a.json|Reasonix|settings",
		".deepagents/a.json|deepagents|settings", ".takt/a.yaml|Takt|settings", ".cursorignore|Cursor|leave alone", ".clineignore|Cline|leave alone",
		".rooignore|Roo Code|leave alone", ".aiignore|Junie|leave alone",
	}
}

// TestOtherTools: for every place that a tool is known to read and no resolver
// here does, the answer names the tool.
func TestOtherTools(t *testing.T) {
	w := world{disable: []string{"instructions", "skills", "mcp-config"}}
	for _, p := range toolFiles() {
		path, _, _ := strings.Cut(p, "|")
		if line := path + " = x"; !slices.Contains(w.tree, line) {
			w.tree = append(w.tree, line)
		}
	}
	dir, in := w.build(t)
	for _, p := range toolFiles() {
		f := strings.Split(p, "|")
		a := why.Explain(in, filepath.Join(dir, f[0]))
		named := strings.Contains(a.Detail, f[1]) || strings.Contains(a.Detail, "other tools read it")
		if a.Reason != why.ReasonNotAKnownPlace || !named || !strings.Contains(a.Detail, f[2]) {
			t.Errorf("%s: %s: %s", p, a.Reason, a.Detail)
		}
		checkAnswer(t, in, a)
	}
	a := why.Explain(in, filepath.Join(dir, ".clinerules"))
	if a.Reason != why.ReasonNotAKnownPlace {
		t.Errorf(".clinerules as a directory: %s", a.Reason)
	}
	for path, tool := range map[string]string{
		"/etc/claude-code/CLAUDE.md": "Claude Code reads it as the machine's instructions", "/etc/codex/skills/x/SKILL.md": "the machine's skills",
		"/Library/Application Support/ClaudeCode/CLAUDE.md": "the machine's instructions",
	} {
		if a := why.Explain(in, path); a.Reason != why.ReasonOutsideRoots || !strings.Contains(a.Detail, tool) {
			t.Errorf("%s: %s: %s", path, a.Reason, a.Detail)
		}
	}
}
