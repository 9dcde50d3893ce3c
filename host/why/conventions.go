package why

import "slices"

// conventions is what is known of other tools' places, as of 2026. They change
// monthly: change a row here and nothing else.
func conventions() []convention {
	return slices.Concat(instructionPlaces(), rulePlaces(), skillPlaces(), mcpPlaces(),
		subagentPlaces(), commandPlaces(), hookPlaces(), pluginPlaces(), settingPlaces())
}

// instructionPlaces: one file for a project, a directory or a user.
func instructionPlaces() []convention {
	const as = "instructions"
	return []convention{
		{"AGENTS.md", "Codex, Cursor, GitHub Copilot, VS Code, Amp, opencode, Warp, Pi, Windsurf, Claude Code", as, true},
		{"AGENTS.md", "Cline, Roo Code, Zed, Goose, Kiro, Junie, Factory, Antigravity, Kilo, Kimi Code, Grok CLI, Rovo Dev, Muse, deepagents", as, false},
		{"AGENTS.override.md", "Codex, Pi", as, true},
		{"AGENTS.local.md", "Roo Code, Windsurf", as, true},
		{"AGENT.md", "Zed, Amp", as, false},
		{"CLAUDE.md", "Claude Code, opencode, Amp, Pi", as, true},
		{"CLAUDE.md", "GitHub Copilot, VS Code, Cursor, Zed", as, false},
		{".claude/CLAUDE.md", "Claude Code, VS Code", as, true},
		{".claude/AGENTS.md", "Claude Code", as, false},
		{"CLAUDE.local.md", "Claude Code, VS Code", as, true},
		{"GEMINI.md", "Gemini CLI", as, true},
		{"GEMINI.md", "GitHub Copilot, Zed", as, false},
		{"QWEN.md", "Qwen Code", as, false},
		{"QWEN.local.md", "Qwen Code", as, false},
		{"WARP.md", "Warp", as, true},
		{"REASONIX.md", "Reasonix", as, false},
		{"replit.md", "Replit", as, false},
		{"APPEND_SYSTEM.md", "Pi", "an addition to the system prompt", false},
		{"CONVENTIONS.md", "Aider", "instructions, when its configuration names it", false},
		{".goosehints", "Goose", as, true},
		{".rules", "Zed", as, false},
		{".cursorrules", "Cursor, Cline, Zed", as, false},
		{".windsurfrules", "Windsurf, Cline, Zed", as, false},
		{".clinerules", "Cline, Zed", as, false},
		{".roorules", "Roo Code", as, false},
		{".roorules-*", "Roo Code", "instructions of one mode", false},
		{".augment-guidelines", "Augment", as, false},
		{".github/copilot-instructions.md", "GitHub Copilot, VS Code, Zed", as, false},
		{".junie/AGENTS.md", "Junie", as, false},
		{".junie/guidelines.md", "Junie", as, false},
		{".cursor/BUGBOT.md", "Cursor", "instructions for reviews", false},

		{"~/.codex/{AGENTS,AGENTS.override}.md", "Codex", "the user's instructions", false},
		{"~/.claude/CLAUDE.md", "Claude Code, opencode, VS Code", "the user's instructions", false},
		{"~/.claude/projects/*/memory/MEMORY.md", "Claude Code", "what it remembers of a project", false},
		{"~/.gemini/GEMINI.md", "Gemini CLI, Antigravity", "the user's instructions", false},
		{"~/.copilot/copilot-instructions.md", "GitHub Copilot", "the user's instructions", false},
		{"~/.config/opencode/AGENTS.md", "opencode", "the user's instructions", false},
		{"~/.config/amp/AGENTS.md", "Amp", "the user's instructions", false},
		{"~/.config/zed/AGENTS.md", "Zed", "the user's instructions", false},
		{"~/.config/devin/AGENTS.md", "Windsurf", "the user's instructions", false},
		{"~/.config/goose/.goosehints", "Goose", "the user's instructions", false},
		{"~/.agents/AGENTS.md", "Cline, Goose, Warp", "the user's instructions", false},
		{"~/.config/agents/AGENTS.md", "the tools that follow a proposal of agents.md", "the user's instructions", false},
		{"~/.grok/AGENTS.md", "Grok CLI", "the user's instructions", false},
		{"~/.codeium/windsurf/memories/global_rules.md", "Windsurf", "the user's instructions", false},
		{"/etc/claude-code/CLAUDE.md", "Claude Code", "the machine's instructions", false},
		{"/Library/Application Support/ClaudeCode/CLAUDE.md", "Claude Code", "the machine's instructions", false},
	}
}

// rulePlaces: many files, often each for some of the files of a project.
func rulePlaces() []convention {
	const as = "rules"
	return []convention{
		{".cursor/rules/**/*.mdc", "Cursor", as, true},
		{".github/instructions/**/*.instructions.md", "GitHub Copilot, VS Code", as, false},
		{".claude/rules/**/*.md", "Claude Code, VS Code", as, true},
		{".clinerules/*.{md,txt}", "Cline", as, false},
		{".windsurf/rules/*.md", "Windsurf", as, false},
		{".devin/rules/*.md", "Windsurf", as, false},
		{".roo/rules/**/*", "Roo Code", as, false},
		{".roo/rules-*/**/*", "Roo Code", "rules of one mode", false},
		{".kiro/steering/*.md", "Kiro", as, false},
		{".aiassistant/rules/*.md", "JetBrains AI Assistant", as, false},
		{".augment/rules/**/*.md", "Augment", as, false},
		{".agents/rules/**/*", "Antigravity", as, false},
		{".agents/checks/**/*", "Amp", "checks of reviews", false},
		{".kilo/rules/**/*", "Kilo", as, false},
		{".takt/facets/policies/**/*", "Takt", as, false},
		{"~/.kiro/steering/*.md", "Kiro", "the user's rules", false},
		{"~/.copilot/instructions/**/*", "GitHub Copilot", "the user's rules", false},
		{"~/Documents/Cline/Rules/**/*", "Cline", "the user's rules", false},
		{"~/.cline/rules/**/*", "Cline", "the user's rules", false},
		{".codex/rules/*.rules", "Codex", "rules about commands that may run", false},
	}
}

// skillPlaces: containers of Agent Skills, with all that lies in them.
func skillPlaces() []convention {
	const as = "skills"
	return []convention{
		{".agents/skills/**", "Codex, Amp, GitHub Copilot, Gemini CLI, opencode, Goose, Zed, Kimi Code, Replit, Antigravity, Augment, " +
			"JetBrains AI Assistant, Muse, Rovo Dev, Windsurf", as, true},
		{".claude/skills/**", "Claude Code, GitHub Copilot, VS Code, opencode, Goose, Cline, Cursor", as, true},
		{".codex/skills/**", "Codex", as, false},
		{".github/skills/**", "GitHub Copilot", as, false},
		{".cursor/skills/**", "Cursor", as, false},
		{".gemini/skills/**", "Gemini CLI", as, false},
		{".opencode/{skill,skills}/**", "opencode", as, false},
		{".kiro/skills/**", "Kiro", as, false},
		{".junie/skills/**", "Junie", as, false},
		{".factory/skills/**", "Factory", as, false},
		{".windsurf/skills/**", "Windsurf", as, false},
		{".devin/skills/**", "Windsurf", as, false},
		{".cline/skills/**", "Cline", as, false},
		{".clinerules/skills/**", "Cline", as, false},
		{".roo/skills/**", "Roo Code", as, false},
		{".roo/skills-*/**", "Roo Code", "skills of one mode", false},
		{".goose/skills/**", "Goose", as, false},
		{".warp/skills/**", "Warp", as, false},
		{".augment/skills/**", "Augment", as, false},
		{".qwen/skills/**", "Qwen Code", as, false},
		{".kilo/skills/**", "Kilo", as, false},
		{".kilocode/skills/**", "Kilo", as, false},
		{".kimi-code/skills/**", "Kimi Code", as, false},
		{".grok/skills/**", "Grok CLI", as, false},
		{".pi/skills/**", "Pi", as, false},
		{".reasonix/skills/**", "Reasonix", as, false},
		{".rovodev/skills/**", "Rovo Dev", as, false},
		{".deepagents/skills/**", "deepagents", as, false},
		{".trae/skills/**", "Trae", as, false},
		{".continue/skills/**", "Continue", as, false},
		{".crush/skills/**", "Crush", as, false},
		{".openhands/skills/**", "OpenHands", as, false},
		{".agent/skills/**", "some clients of Agent Skills", as, false},
		{"skills/*/SKILL.md", "OpenClaw, plugins of most tools", as, false},
		{"./SKILL.md", "Claude Code", "a plugin with one skill", false},
		{"~/.copilot/skills/**", "GitHub Copilot", "the user's skills", false},
		{"~/.config/agents/skills/**", "Amp", "the user's skills", false},
		{"/etc/codex/skills/**", "Codex", "the machine's skills", false},
	}
}

// mcpPlaces: configurations of MCP servers. vfs.MCPFiles protects them.
func mcpPlaces() []convention {
	const as = "MCP configuration"
	return []convention{
		{".mcp.json", "Claude Code", as, false},
		{"mcp.json", "Agent Plugins, Kiro", as + " of a plugin", false},
		{".vscode/mcp.json", "VS Code", as, false},
		{".github/mcp.json", "GitHub Copilot", as, false},
		{".cursor/mcp.json", "Cursor", as, false},
		{".codex/config.toml", "Codex", "settings and " + as, false},
		{".grok/config.toml", "Grok CLI", "settings and " + as, false},
		{".gemini/settings.json", "Gemini CLI", "settings with hooks and " + as, false},
		{".qwen/settings.json", "Qwen Code", "settings with hooks and " + as, false},
		{"opencode.{json,jsonc}", "opencode", "settings and " + as, false},
		{"kilo.{json,jsonc}", "Kilo", "settings and " + as, false},
		{".kiro/settings/mcp.json", "Kiro", as, false},
		{".roo/mcp.json", "Roo Code", as, false},
		{".junie/mcp/mcp.json", "Junie", as, false},
		{".factory/mcp.json", "Factory", as, false},
		{".warp/.mcp.json", "Warp", as, false},
		{".ai/mcp/mcp.json", "JetBrains AI Assistant", as, false},
		{".devin/mcp_config*", "Windsurf", as, false},
		{"mcp_config.{json,local.json,json.local}", "Windsurf, Antigravity", as, false},
		{".agents/mcp_config.json", "Antigravity", as, false},
		{".rovodev/mcp.json", "Rovo Dev", as, false},
		{".kimi-code/{mcp.json,config.toml}", "Kimi Code", as, false},
		{".amp/settings.{json,jsonc}", "Amp", "settings and " + as, false},
		{".zed/settings.json", "Zed", "settings and " + as, false},
		{".agents/plugins/*/.mcp.json", "Goose", as + " of a plugin", false},
		{"mcp-config.json", "GitHub Copilot", as, false},
		{"~/.copilot/mcp-config.json", "GitHub Copilot", as, false},
		{"~/.claude.json", "Claude Code", "state and " + as, false},
		{"~/.config/amp/settings.{json,jsonc}", "Amp", "settings and " + as, false},
		{"~/.config/zed/settings.json", "Zed", "settings and " + as, false},
		{"~/.config/goose/config.yaml", "Goose", "settings and " + as, false},
		{"~/.cline/data/settings/cline_mcp_settings.json", "Cline", as, false},
		{"cline_mcp_settings.json", "Cline", as, false},
		{"claude_desktop_config.json", "Claude Desktop", as, false},
	}
}
