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
	// Reader is its id in the table of conventions, which says what it reads by itself.
	Reader string
	// Approves says that the client asks before it calls tools that don't only read,
	// refuses them if nobody can answer, and has a setting to skip that.
	Approves bool
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
	// Hook adds a hook for the start of a session.
	Hook bool
	// ApproveTools lets the client call tools without asking.
	ApproveTools bool
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
// were looked up in 2026-11: for Codex and opencode by their behavior, for the others in
// their documentation.
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
		ID: "copilot", Name: "GitHub Copilot CLI", Reader: "copilot",
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
		ID: "opencode", Name: "opencode", Reader: "opencode",
		paths: func(e *environment) []string {
			dir := filepath.Join(e.dir("XDG_CONFIG_HOME", ".config"), "opencode")
			list := []string{filepath.Join(dir, "opencode.json"), filepath.Join(dir, "opencode.jsonc")}
			if _, err := os.Lstat(list[0]); err != nil {
				if _, err := os.Lstat(list[1]); err == nil {
					slices.Reverse(list)
				}
			}
			return list
		},
		entry: func(c command, _ Settings) edit {
			return &jsonEdit{path: []string{"mcp", Name}, value: localEntry{Type: "local", Command: append([]string{c.program}, c.args...), Enabled: true}}
		},
	},
}

// Clients returns all clients, by id.
func Clients() []*Client { return clients }

// Lookup returns the client with an id, or nil.
func Lookup(id string) *Client {
	for _, c := range clients {
		if c.ID == id || c.Reader == id {
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
	return command{program, args}
}

// hookEntry is a hook as Claude Code has it in its settings.
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
