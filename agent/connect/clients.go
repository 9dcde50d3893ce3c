package connect

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Client is a coding agent whose configuration is known.
type Client struct {
	// ID is its name in commands, Name the one for people.
	ID, Name string
	// Aliases are other names for it in commands.
	Aliases []string
	// Reader is its id in the table of conventions, which says what it reads by itself.
	Reader string
	// Approves says that the client asks before it calls tools that don't only read,
	// refuses them if nobody can answer, and has a setting to skip that.
	Approves bool
	// Without says why it can't be connected: it has no MCP. Empty for all others.
	Without string
	// Hook says that the output of a command at the start of a session becomes part of the
	// session.
	Hook bool

	// paths returns the files that may hold the entry. A new entry goes into the first.
	paths func(e *environment) []string
	// entry returns the edit that writes the entry.
	entry func(c command, s Settings) edit
	// hookPath returns the file for the hook.
	hookPath func(e *environment) string
}

// Settings are the user's choices.
type Settings struct {
	// All offers the client also what it reads by itself.
	All bool
	// Only are the parts and tools that it is offered, as --only of 'agent mcp serve' takes
	// them; nil means everything.
	Only []string
	// Hook adds a hook for the start of a session.
	Hook bool
	// ApproveTools lets the client call tools without asking.
	ApproveTools bool
	// NoStart leaves it to the user to start an agent. Otherwise the entry starts one in a
	// repository where none runs.
	NoStart bool
}

// Name is the name of the entry in every client.
const Name = "waymark"

// SessionStart are the arguments of the command that a hook runs.
const SessionStart = "connect session-start"

// environment determines where files are.
type environment struct {
	home   string
	getenv func(string) string
}

// dir returns the directory that a variable names if its value is an absolute path, and
// otherwise one below the home directory.
func (e *environment) dir(variable string, below ...string) string {
	if path := e.getenv(variable); filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(append([]string{e.home}, below...)...)
}

// command is the command line that starts the agent as a server.
type command struct {
	program string
	args    []string
}

// stdioEntry is a server's entry in three of the clients.
type stdioEntry struct {
	Type    string   `json:"type"`
	Command string   `json:"command"`
	Args    []string `json:"args"`
	Tools   []string `json:"tools,omitempty"`
}

// localEntry is a server's entry in opencode.
type localEntry struct {
	Type    string   `json:"type"`
	Command []string `json:"command"`
	Enabled bool     `json:"enabled"`
}

// clients are the known clients. The places of user configuration and the form of entries
// were looked up in 2026-11 by the behavior of the programs, and Cursor's in its
// documentation.
var clients = []*Client{
	{
		ID: "claude", Name: "Claude Code", Reader: "claude-code", Hook: true,
		paths: func(e *environment) []string {
			if dir := e.getenv("CLAUDE_CONFIG_DIR"); filepath.IsAbs(dir) {
				return []string{filepath.Join(dir, ".claude.json")}
			}
			return []string{filepath.Join(e.home, ".claude.json")}
		},
		entry: func(c command, _ Settings) edit {
			return &jsonEdit{path: []string{"mcpServers", Name}, value: stdioEntry{Type: "stdio", Command: c.program, Args: c.args}}
		},
		hookPath: func(e *environment) string {
			return filepath.Join(e.dir("CLAUDE_CONFIG_DIR", ".claude"), "settings.json")
		},
	},
	{
		ID: "cline", Name: "Cline CLI", Reader: "cline",
		paths: func(e *environment) []string {
			return []string{filepath.Join(e.dir("CLINE_DIR", ".cline"), "data", "settings", "cline_mcp_settings.json")}
		},
		entry: func(c command, _ Settings) edit {
			return &jsonEdit{path: []string{"mcpServers", Name}, value: stdioEntry{Type: "stdio", Command: c.program, Args: c.args}}
		},
	},
	{
		ID: "codex", Name: "Codex", Reader: "codex", Approves: true,
		paths: func(e *environment) []string {
			return []string{filepath.Join(e.dir("CODEX_HOME", ".codex"), "config.toml")}
		},
		entry: func(c command, s Settings) edit {
			// Codex passes few variables to servers; these are needed to find the agent.
			env := []string{"XDG_STATE_HOME", "XDG_RUNTIME_DIR", "WAYMARK_SOCKET"}
			keys := []tomlKey{{"command", c.program}, {"args", c.args}, {"env_vars", env}}
			if s.ApproveTools {
				keys = append(keys, tomlKey{"default_tools_approval_mode", "approve"})
			}
			return &tomlEdit{path: []string{"mcp_servers", Name}, keys: keys}
		},
	},
	{
		ID: "continue", Name: "Continue CLI", Reader: "continue",
		paths: func(e *environment) []string {
			return []string{filepath.Join(e.dir("CONTINUE_GLOBAL_DIR", ".continue"), "config.yaml")}
		},
		entry: func(c command, _ Settings) edit { return &yamlEdit{c} },
	},
	{
		ID: "copilot-cli", Aliases: []string{"copilot"}, Name: "GitHub Copilot CLI", Reader: "copilot",
		paths: func(e *environment) []string {
			return []string{filepath.Join(e.dir("COPILOT_HOME", ".copilot"), "mcp-config.json")}
		},
		entry: func(c command, _ Settings) edit {
			return &jsonEdit{path: []string{"mcpServers", Name}, value: stdioEntry{Type: "local", Command: c.program, Args: c.args, Tools: []string{"*"}}}
		},
	},
	{
		ID: "cursor", Name: "Cursor", Reader: "cursor",
		paths: func(e *environment) []string { return []string{filepath.Join(e.home, ".cursor", "mcp.json")} },
		entry: func(c command, _ Settings) edit {
			// It starts the servers of the user's file in /.
			args := append(slices.Clone(c.args), "--dir", "${workspaceFolder}")
			return &jsonEdit{path: []string{"mcpServers", Name}, value: stdioEntry{Type: "stdio", Command: c.program, Args: args}}
		},
	},
	{
		ID: "gemini", Aliases: []string{"gemini-cli"}, Name: "Gemini CLI", Reader: "gemini",
		paths: func(e *environment) []string { return []string{filepath.Join(e.home, ".gemini", "settings.json")} },
		entry: serverEntry,
	},
	{ID: "kilo", Name: "Kilo CLI", Reader: "kilo", paths: openCodePaths("kilo"), entry: openCodeEntry},
	{ID: "opencode", Name: "opencode", Reader: "opencode", paths: openCodePaths("opencode"), entry: openCodeEntry},
	{
		ID: "pi", Name: "Pi", Reader: "pi",
		Without: "Pi 0.73.1 has no MCP: an extension of Pi could add it, and there is no file to write an entry to",
	},
	{
		ID: "qwen-code", Aliases: []string{"qwen"}, Name: "Qwen Code", Reader: "qwen-code",
		paths: func(e *environment) []string { return []string{filepath.Join(e.home, ".qwen", "settings.json")} },
		entry: serverEntry,
	},
}

// serverEntry is the entry in Gemini CLI and what has come from it: what doesn't say its type
// is started.
func serverEntry(c command, _ Settings) edit {
	return &jsonEdit{path: []string{"mcpServers", Name}, value: struct {
		Command string   `json:"command"`
		Args    []string `json:"args"`
	}{c.program, c.args}}
}

// openCodePaths are the files of opencode and what has come from it.
func openCodePaths(name string) func(e *environment) []string {
	return func(e *environment) []string {
		dir := filepath.Join(e.dir("XDG_CONFIG_HOME", ".config"), name)
		list := []string{filepath.Join(dir, name+".json"), filepath.Join(dir, name+".jsonc")}
		if _, err := os.Lstat(list[0]); err != nil {
			if _, err := os.Lstat(list[1]); err == nil {
				slices.Reverse(list)
			}
		}
		return list
	}
}

func openCodeEntry(c command, _ Settings) edit {
	return &jsonEdit{path: []string{"mcp", Name}, value: localEntry{Type: "local", Command: append([]string{c.program}, c.args...), Enabled: true}}
}

// Clients returns the clients that can be connected, by id.
func Clients() []*Client {
	return slices.DeleteFunc(slices.Clone(clients), func(c *Client) bool { return c.Without != "" })
}

// Lookup returns the client with an id or another name of it, or nil. It may be one that
// can't be connected; see Client.Without.
func Lookup(id string) *Client {
	for _, c := range clients {
		if c.ID == id || c.Reader == id || slices.Contains(c.Aliases, id) {
			return c
		}
	}
	return nil
}

// serve is what the client starts.
func (c *Client) serve(program string, s Settings) command {
	args := []string{"mcp", "serve"}
	if !s.All {
		args = append(args, "--client", c.Reader)
	}
	if len(s.Only) > 0 {
		args = append(args, "--only", strings.Join(s.Only, ","))
	}
	if !s.NoStart {
		args = append(args, "--start")
	}
	return command{program, args}
}

// hookEntry is an entry of the list that Claude Code's settings have for an event.
type hookEntry struct {
	Hooks []hookHandler `json:"hooks"`
}

type hookHandler struct {
	Type    string `json:"type"`
	Command string `json:"command"`
	Timeout int    `json:"timeout"` // in seconds
}

// hookTimeout is far more than it takes to look whether an agent runs.
const hookTimeout = 10

func hookEdit(program string) edit {
	quoted := "'" + strings.ReplaceAll(program, "'", `'\''`) + "'"
	return &jsonEdit{
		path:  []string{"hooks", "SessionStart"},
		value: hookEntry{[]hookHandler{{"command", quoted + " " + SessionStart, hookTimeout}}},
		ours: func(element any) bool {
			m, _ := element.(map[string]any)
			hooks, _ := m["hooks"].([]any)
			for _, h := range hooks {
				h, _ := h.(map[string]any)
				if text, _ := h["command"].(string); strings.HasSuffix(text, " "+SessionStart) && len(hooks) == 1 {
					return true
				}
			}
			return false
		},
	}
}

// program returns which program an entry starts and with which arguments, and whether that
// is an agent as this package writes it.
func program(entry any) (path string, args []string, ours bool) {
	m, _ := entry.(map[string]any)
	list := func(v any) (all []string) {
		items, _ := v.([]any)
		for _, item := range items {
			s, _ := item.(string)
			all = append(all, s)
		}
		return all
	}
	switch c := m["command"].(type) {
	case string:
		path, args = c, list(m["args"])
	case []any:
		if all := list(c); len(all) > 0 {
			path, args = all[0], all[1:]
		}
	}
	return path, args, len(args) >= 2 && args[0] == "mcp" && args[1] == "serve"
}

// starts reports whether an entry starts an agent as this package writes it.
func starts(entry any) bool {
	_, _, ours := program(entry)
	return ours
}
