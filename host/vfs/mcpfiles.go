package vfs

// MCPFile is a file in which an MCP client keeps its configuration.
type MCPFile struct {
	// Pattern matches at any depth and in any case, because a root may be a project, a home
	// directory, or a directory of either.
	Pattern string
	// Client is the program that reads it.
	Client string
}

// MCPFiles returns the MCP configuration files of every known client. They hold tokens and
// are settings files: only a view with MCPOnly sees them, and they are never the content of
// another kind, whatever link leads there.
//
// A row whose Pattern is one name covers that name in every directory: "mcp.json" also covers
// .cursor/mcp.json. Rows that this makes redundant are kept for the reader.
func MCPFiles() []MCPFile {
	return []MCPFile{
		{".mcp.json", "Claude Code, project and plugin; Goose plugins"},
		{".claude.json", "Claude Code, user and local scope"},
		{"claude_desktop_config.json", "Claude Desktop"},
		{"mcp.json", "Agent Plugins; Kiro powers; any client's directory"},
		{".vscode/mcp.json", "VS Code"},
		{".github/mcp.json", "Copilot CLI, project"},
		{".copilot/mcp-config.json", "Copilot CLI, user"},
		{"mcp-config.json", "Copilot CLI"},
		{".cursor/mcp.json", "Cursor"},
		{".codex/config.toml", "Codex"},
		{".grok/config.toml", "Grok CLI"},
		{".gemini/settings.json", "Gemini CLI"},
		{"gemini-extension.json", "Gemini CLI extensions"},
		{".qwen/settings.json", "Qwen Code"},
		{"opencode.json", "opencode"},
		{"opencode.jsonc", "opencode"},
		{"kilo.json", "Kilo"},
		{"kilo.jsonc", "Kilo"},
		{".kiro/settings/mcp.json", "Kiro"},
		{".roo/mcp.json", "Roo"},
		{".junie/mcp/mcp.json", "Junie"},
		{".factory/mcp.json", "Factory"},
		{".warp/.mcp.json", "Warp"},
		{".ai/mcp/mcp.json", "JetBrains AI Assistant"},
		{"mcp_config.json", "Windsurf, Devin, Antigravity"},
		{"mcp_config.local.json", "Devin, uncommitted"},
		{"mcp_config.json.local", "Devin, uncommitted"},
		{".devin/mcp_config*", "Devin"},
		{".agents/mcp_config.json", "Antigravity"},
		{".rovodev/mcp.json", "Rovo Dev"},
		{".kimi-code/mcp.json", "Kimi Code"},
		{".amp/settings.json", "Amp, project"},
		{".amp/settings.jsonc", "Amp, project"},
		{".config/amp/settings.json", "Amp, user"},
		{".config/amp/settings.jsonc", "Amp, user"},
		{".config/goose/config.yaml", "Goose"},
		{".cline/data/settings/cline_mcp_settings.json", "Cline"},
		{"cline_mcp_settings.json", "Cline"},
		{".zed/settings.json", "Zed, project"},
		{".config/zed/settings.json", "Zed, user"},
	}
}
