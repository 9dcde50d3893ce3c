package why

func subagentPlaces() []convention {
	const as = "subagents"
	return []convention{
		{".claude/agents/**/*.md", "Claude Code", as, true},
		{".github/agents/*.{agent,chatmode}.md", "GitHub Copilot, VS Code", as, false},
		{".github/chatmodes/*.chatmode.md", "GitHub Copilot, VS Code", as, false},
		{".cursor/agents/*.md", "Cursor", as, false},
		{".gemini/agents/*.md", "Gemini CLI", as, false},
		{".opencode/{agent,agents}/**/*.md", "opencode", as, false},
		{".codex/agents/*.toml", "Codex", as, false},
		{".kiro/agents/*.{md,json}", "Kiro", as, false},
		{".factory/droids/*.md", "Factory", as, false},
		{".goose/agents/*.md", "Goose", as, false},
		{".junie/agents/**/*", "Junie", as, false},
		{".augment/agents/**/*", "Augment", as, false},
		{".qwen/agents/**/*", "Qwen Code", as, false},
		{".devin/agents/**/*", "Windsurf", as, false},
		{".grok/agents/**/*", "Grok CLI", as, false},
		{".cline/agents/**/*", "Cline", as, false},
		{".kilo/agents/**/*", "Kilo", as, false},
		{".kimi-code/agents/**/*", "Kimi Code", as, false},
		{".rovodev/subagents/**/*", "Rovo Dev", as, false},
		{".agents/agents/**/*", "Antigravity, Kimi Code", as, false},
		{".roomodes", "Roo Code", "modes", false},
		{"./agents/*.md", "Claude Code, Gemini CLI", "subagents of a plugin", false},
	}
}

func commandPlaces() []convention {
	const as = "commands"
	return []convention{
		{".claude/commands/**/*.md", "Claude Code", as, true},
		{".gemini/commands/**/*.toml", "Gemini CLI", as, false},
		{".cursor/commands/*.md", "Cursor", as, false},
		{".opencode/{command,commands}/**/*.md", "opencode", as, false},
		{".github/prompts/*.prompt.md", "GitHub Copilot, VS Code", "prompts", false},
		{".windsurf/workflows/*.md", "Windsurf", "workflows", false},
		{".clinerules/workflows/*.md", "Cline", "workflows", false},
		{".roo/commands/*.md", "Roo Code", as, false},
		{".augment/commands/**/*", "Augment", as, false},
		{".factory/commands/**/*", "Factory", as, false},
		{".qwen/commands/**/*", "Qwen Code", as, false},
		{".kilo/commands/**/*", "Kilo", as, false},
		{".junie/commands/**/*", "Junie", as, false},
		{".kiro/prompts/**/*", "Kiro", "prompts", false},
		{".pi/prompts/**/*", "Pi", "prompts", false},
		{".rovodev/prompts/**/*", "Rovo Dev", "prompts", false},
		{"{.rovodev/,}prompts.yml", "Rovo Dev", "the list of its prompts", false},
		{".agents/commands/**/*", "Augment", as, false},
		{".agents/workflows/**/*", "Antigravity", "workflows", false},
		{".goose/recipes/*.yaml", "Goose", "recipes", false},
		{"~/.codex/prompts/*.md", "Codex", "prompts", false},
		{"./commands/**/*.md", "Claude Code", "commands of a plugin", false},
		{"./commands/**/*.toml", "Gemini CLI", "commands of an extension", false},
	}
}

func hookPlaces() []convention {
	const as = "hooks"
	return []convention{
		{".claude/{settings,settings.local}.json", "Claude Code", "settings with hooks", false},
		{".codex/hooks.json", "Codex", as, false},
		{".cursor/hooks.json", "Cursor", as, false},
		{".github/hooks/*.json", "GitHub Copilot", as, false},
		{"~/.copilot/hooks/*.json", "GitHub Copilot", "the user's hooks", false},
		{".devin/hooks.v1.json", "Windsurf", as, false},
		{".clinerules/hooks/*", "Cline", as, false},
		{".kiro/hooks/*.json", "Kiro", as, false},
		{".factory/hooks.json", "Factory", as, false},
		{".factory/settings.json", "Factory", "settings with hooks", false},
		{".augment/{settings,settings.local}.json", "Augment", "settings with hooks", false},
		{".grok/hooks/*.json", "Grok CLI", as, false},
		{".agents/hooks.json", "Antigravity", as, false},
		{".agents/plugins/*/hooks/hooks.json", "Goose", "hooks of a plugin", false},
		{"hooks/hooks.json", "Claude Code, Gemini CLI, Goose", "hooks of a plugin", false},
	}
}

func pluginPlaces() []convention {
	return []convention{
		{"plugin.json", "Agent Plugins", "a plugin's manifest", false},
		{".claude-plugin/plugin.json", "Claude Code", "a plugin's manifest", false},
		{".claude-plugin/marketplace.json", "Claude Code", "a list of plugins", false},
		{".codex-plugin/plugin.json", "Codex", "a plugin's manifest", false},
		{".agents/plugins/marketplace.json", "Codex", "a list of plugins", false},
		{".cursor-plugin/plugin.json", "Cursor", "a plugin's manifest", false},
		{".kimi-plugin/**/*", "Kimi Code", "a plugin", false},
		{"gemini-extension.json", "Gemini CLI", "an extension's manifest, with MCP configuration", false},
		{"./policies/*.toml", "Gemini CLI", "policies of an extension", false},
		{"POWER.md", "Kiro", "a power", false},
		{"./steering/*.md", "Kiro", "rules of a power", false},
		{".opencode/{plugin,plugins}/**/*", "opencode", "plugins", false},
		{".kilo/{plugin,plugins}/**/*", "Kilo", "plugins", false},
		{".amp/plugins/**/*", "Amp", "plugins", false},
		{".pi/extensions/**/*", "Pi", "extensions", false},
		{".agents/plugins/*/**/*", "Goose", "plugins", false},
		{".lsp.json", "Claude Code", "language servers of a plugin", false},
		{"./output-styles/*", "Claude Code", "output styles of a plugin", false},
		{"./monitors/monitors.json", "Claude Code", "monitors of a plugin", false},
		{"~/.claude/plugins/cache/**", "Claude Code", "plugins, also old and disabled ones", false},
		{"~/.claude/plugins/installed_plugins.json", "Claude Code", "the list of its plugins", false},
		{"~/.gemini/extensions/*/**", "Gemini CLI", "an extension", false},
	}
}

// settingPlaces: what tunes a tool and is nothing for a model to read.
func settingPlaces() []convention {
	const as, ignored = "settings", "a list of files to leave alone"
	return []convention{
		{".aider.conf.yml", "Aider", "settings, which name the files it reads", false},
		{".cursor/cli.json", "Cursor", as, false},
		{".devin/config.json", "Windsurf", as, false},
		{".pi/settings.json", "Pi", as, false},
		{".reasonix/**/*", "Reasonix", as, false},
		{".deepagents/**/*", "deepagents", as, false},
		{".takt/**/*", "Takt", as, false},
		{".cursorignore", "Cursor", ignored, true},
		{".clineignore", "Cline", ignored, false},
		{".rooignore", "Roo Code", ignored, false},
		{".aiignore", "Junie", ignored, false},
	}
}
