package servers

import (
	"strconv"
	"strings"

	"waymark/sdk-guest/jsonlite"
)

// The format of Agent Plugins 1.0.0, section 7.2.1 of its specification: closed, so
// that what isn't in it is an error of the entry.

const (
	agentPlugins     = "https://agent-plugins.org/schemas/"
	agentPluginsFile = agentPlugins + "1.0.0/mcp.schema.json"
)

// isAgentPlugin reports whether a file says that it is of this format.
func isAgentPlugin(doc jsonlite.Value) bool {
	v, _ := doc.Get("$schema")
	schema, ok := v.Text()
	return ok && strings.HasPrefix(schema, agentPlugins)
}

// agentPluginFile says what is wrong with the top level of a file.
func agentPluginFile(doc jsonlite.Value) (problem string) {
	servers, said := false, false
	for key, v := range doc.Members() {
		switch key {
		case "$schema":
			said = true
			if schema, _ := v.Text(); schema != agentPluginsFile {
				return "its $schema is none of version 1.0.0 of Agent Plugins"
			}
		case "mcpServers":
			if servers = v.Kind() == jsonlite.Object; !servers {
				return "mcpServers is " + string(v.Kind()) + ", not an object"
			}
		default:
			return "it has " + quote(key) + " beside $schema and mcpServers"
		}
	}
	if !said {
		return "it has no $schema, as the mcp.json of an Agent Plugin must"
	}
	if !servers {
		return "it has no mcpServers"
	}
	return ""
}

// agentPluginEntry reads an entry.
func agentPluginEntry(name string, v jsonlite.Value) Server {
	r := reader{shape: Claude, server: Server{Name: name, Syntax: AgentPlugin.syntax()}}
	var allowed string
	given, _ := v.Get("type")
	switch typ, _ := given.Text(); typ {
	case "stdio":
		allowed = "type command args env cwd"
	case "streamable-http", "sse":
		allowed = "type url headers"
	default:
		return Server{Name: name, Problem: "its type is none of stdio, streamable-http and sse"}
	}
	for key := range v.Members() {
		if !contains(strings.Fields(allowed), key) {
			return Server{Name: name, Problem: "it has " + quote(key) + ", which Agent Plugins don't know in a server of its type"}
		}
	}
	r.members(v)
	problems := append(r.problems[:], r.complete(), r.agentPluginRules())
	for _, problem := range problems {
		if problem != "" {
			return Server{Name: name, Problem: problem}
		}
	}
	r.server.Needs = "it belongs to an Agent Plugin, which isn't enabled here"
	return r.server
}

// agentPluginRules says what the specification forbids.
func (r *reader) agentPluginRules() (problem string) {
	s := &r.server
	switch {
	case s.Transport != Stdio:
		return agentPluginURL(s.URL)
	case strings.ContainsAny(s.Command, " \t\r\n") && !strings.HasPrefix(s.Command, "./"):
		return "its command is more than one word"
	case strings.Contains(s.Command, "/") && !strings.HasPrefix(s.Command, "./"), leadsOut(s.Command):
		return "its command is neither a bare name nor a path below the plugin that begins with ./"
	case !agentPluginDirectory(s.Cwd):
		return "its cwd is none below the plugin or its data"
	}
	for _, name := range sorted(s.Env) {
		if name == "PLUGIN_ROOT" || name == "PLUGIN_DATA" {
			return "env " + quote(name) + " is the client's to set"
		}
	}
	return ""
}

func agentPluginDirectory(dir string) bool {
	if dir == "" {
		return true
	}
	for _, start := range []string{"${PLUGIN_ROOT}", "${PLUGIN_DATA}", "."} {
		if rest, ok := strings.CutPrefix(dir, start); ok && (rest == "" && start != "." || strings.HasPrefix(rest, "/")) {
			return !leadsOut(rest)
		}
	}
	return false
}

func leadsOut(path string) bool {
	return contains(strings.Split(path, "/"), "..") || strings.ContainsRune(path, '\\')
}

// agentPluginURL checks by itself: net/url brings fmt and os into every guest.
func agentPluginURL(text string) (problem string) {
	const wrong = "its url isn't an absolute one of http or https without a user and a fragment"
	scheme, rest, ok := strings.Cut(text, "://")
	host := rest
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		host = rest[:i]
	}
	if !ok || host == "" || strings.ContainsAny(host, "@ \\") || strings.ContainsAny(text, "#\r\n\t ") {
		return wrong
	}
	switch strings.ToLower(scheme) {
	case "https":
		return ""
	case "http":
		if !isLoopback(host) {
			return "its url is one of http, and leads to another machine"
		}
		return ""
	}
	return wrong
}

// isLoopback reports whether a host, with or without a port, is this machine by its
// name or its number.
func isLoopback(host string) bool {
	if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.HasSuffix(host, "]") {
		host = host[:i]
	}
	if host == "localhost" || host == "[::1]" {
		return true
	}
	parts := strings.Split(host, ".")
	if len(parts) != 4 || parts[0] != "127" {
		return false
	}
	for _, part := range parts {
		if n, err := strconv.Atoi(part); err != nil || n < 0 || n > 255 || strconv.Itoa(n) != part {
			return false
		}
	}
	return true
}
