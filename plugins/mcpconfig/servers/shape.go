package servers

import "strings"

// Shape is how a client writes its servers down: in which format, below which key, and
// what the keys of an entry mean.
type Shape string

// The shapes, as the makers' pages had them on 2026-11-23.
const (
	// Claude, which the zero value is, is {"mcpServers": {…}} in JSON, or in a plugin
	// the map of servers itself.
	Claude Shape = ""
	// ClaudeUser is ~/.claude.json: the same, and again for each project.
	ClaudeUser Shape = "claude-user"
	// ClaudeDesktop is Claude's, without references.
	ClaudeDesktop Shape = "claude-desktop"
	// Client is {"mcpServers": {…}} of any other client: Kiro, Junie, Factory, JetBrains
	// AI Assistant, Rovo Dev, Kimi Code. A mcp.json that says so by its $schema is an
	// Agent Plugin's.
	Client Shape = "client"
	// AgentPlugin is the mcp.json of Agent Plugins 1.0.0, a closed format.
	AgentPlugin Shape = "agent-plugin"
	// Editor is Client with the references of editors: Cursor, Roo Code, Windsurf.
	Editor Shape = "editor"
	// Cline is Client without references, as Cline CLI reads it.
	Cline Shape = "cline"
	// VSCode is {"servers": {…}, "inputs": […]}.
	VSCode Shape = "vscode"
	// Copilot is GitHub Copilot CLI's: Client, with the tools that may be used, and $VAR
	// where that is set.
	Copilot Shape = "copilot"
	// Codex is [mcp_servers.NAME] in TOML, of Codex and Grok CLI.
	Codex Shape = "codex"
	// Gemini is the settings and extensions of Gemini CLI, and the settings of Qwen
	// Code: a url is one of SSE.
	Gemini Shape = "gemini"
	// OpenCode is {"mcp": {…}}, of opencode and Kilo.
	OpenCode Shape = "opencode"
	// Amp is {"amp.mcpServers": {…}}.
	Amp Shape = "amp"
	// Zed is {"context_servers": {…}}.
	Zed Shape = "zed"
	// Goose is extensions in YAML.
	Goose Shape = "goose"
)

// Shapes returns all shapes that a place can say.
func Shapes() []Shape {
	return []Shape{Claude, ClaudeUser, ClaudeDesktop, Client, Editor, Cline, VSCode, Copilot, Codex, Gemini, OpenCode, Amp, Zed, Goose}
}

// format is how a file is written.
type format int

const (
	plainJSON     format = iota
	commentedJSON        // with comments and trailing commas
	tomlText
	yamlText
)

func (s Shape) format() format {
	switch s {
	case Claude, ClaudeUser, ClaudeDesktop, AgentPlugin:
		return plainJSON
	case Codex:
		return tomlText
	case Goose:
		return yamlText
	}
	return commentedJSON
}

// root is the key that the servers are below.
func (s Shape) root() string {
	switch s {
	case VSCode:
		return "servers"
	case Codex:
		return "mcp_servers"
	case OpenCode:
		return "mcp"
	case Amp:
		return "amp.mcpServers"
	case Zed:
		return "context_servers"
	case Goose:
		return "extensions"
	}
	return "mcpServers"
}

// syntax is how references are written.
func (s Shape) syntax() Syntax {
	switch s {
	case Editor, VSCode:
		return EditorSyntax
	case OpenCode:
		return BraceSyntax
	case Gemini, Copilot:
		return BareSyntax
	case AgentPlugin, ClaudeDesktop, Cline, Codex, Zed, Goose:
		return NoSyntax
	}
	return ShellSyntax
}

// ShapeOf says by the place of a file what shape it has. A place is a path, with
// slashes, of which the last two names matter. A file of an unknown name is Claude's in
// JSON, Codex's in TOML and Goose's in YAML.
func ShapeOf(place string) Shape {
	dir, name := "", place
	if i := strings.LastIndexByte(place, '/'); i >= 0 {
		dir, name = place[:i], place[i+1:]
		dir = dir[strings.LastIndexByte(dir, '/')+1:]
	}
	switch name {
	case ".claude.json":
		return ClaudeUser
	case "claude_desktop_config.json":
		return ClaudeDesktop
	case "mcp-config.json":
		return Copilot
	case "gemini-extension.json":
		return Gemini
	case "opencode.json", "opencode.jsonc", "kilo.json", "kilo.jsonc":
		return OpenCode
	case "cline_mcp_settings.json":
		return Cline
	case "mcp_settings.json":
		return Editor
	case "mcp.json":
		return ofMCPJSON(dir)
	case "settings.json", "settings.jsonc":
		return ofSettings(dir)
	}
	switch {
	case strings.HasPrefix(name, "mcp_config."):
		return Editor
	case strings.HasSuffix(name, ".toml"):
		return Codex
	case strings.HasSuffix(name, ".yaml"), strings.HasSuffix(name, ".yml"):
		return Goose
	}
	return Claude
}

func ofMCPJSON(dir string) Shape {
	switch dir {
	case ".vscode":
		return VSCode
	case ".github":
		return Copilot
	case ".cursor", ".roo", ".kilocode":
		return Editor
	}
	return Client
}

func ofSettings(dir string) Shape {
	switch dir {
	case ".gemini", ".qwen":
		return Gemini
	case ".amp", "amp":
		return Amp
	case ".zed", "zed":
		return Zed
	}
	return Claude
}
