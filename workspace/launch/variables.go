package launch

import (
	"slices"
	"strings"
)

// agentVariables are the agent's secrets, and what its service manager tells only the
// agent. A trailing "*" matches any suffix.
var agentVariables = []string{
	"WAYMARK_*", "CODER_AGENT_TOKEN", "CODER_AGENT_TOKEN_FILE", "CODER_AGENT_AUTH", "CODER_SESSION_TOKEN", "CODER_CHAT_ID",
	"NOTIFY_SOCKET", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES", "WATCHDOG_PID", "WATCHDOG_USEC", "INVOCATION_ID", "JOURNAL_STREAM",
	"MAINPID", "MANAGERPID", "CREDENTIALS_DIRECTORY", "OLDPWD", "GODEBUG", "GOMAXPROCS", "GOMEMLIMIT", "GOGC", "GOTRACEBACK", "GOCOVERDIR",
}

// AgentVariable reports whether a variable belongs to the agent alone. Programs that the
// agent starts never get it.
func AgentVariable(name string) bool { return matches(agentVariables, name) }

// matches reports whether a name is in a list, where a trailing "*" matches any suffix.
func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		prefix, open := strings.CutSuffix(pattern, "*")
		return name == pattern || open && strings.HasPrefix(name, prefix)
	})
}
