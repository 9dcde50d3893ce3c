package launch

import (
	"slices"
	"strings"
)

// agentVariables are secrets of the agent, and what its service manager tells the
// agent alone. A name that ends in "*" stands for all that begin so.
var agentVariables = []string{
	"WAYMARK_*", "CODER_AGENT_TOKEN", "CODER_AGENT_TOKEN_FILE", "CODER_AGENT_AUTH", "CODER_SESSION_TOKEN", "CODER_CHAT_ID",
	"NOTIFY_SOCKET", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES", "WATCHDOG_PID", "WATCHDOG_USEC", "INVOCATION_ID", "JOURNAL_STREAM",
	"MAINPID", "MANAGERPID", "CREDENTIALS_DIRECTORY", "OLDPWD", "GODEBUG", "GOMAXPROCS", "GOMEMLIMIT", "GOGC", "GOTRACEBACK", "GOCOVERDIR",
}

// AgentVariable reports whether a variable of the agent's environment is nobody
// else's: what the agent starts doesn't get it, under whatever name.
func AgentVariable(name string) bool { return matches(agentVariables, name) }

// matches reports whether a name is one of a list, or begins like one of those that
// end in "*".
func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		prefix, open := strings.CutSuffix(pattern, "*")
		return name == pattern || open && strings.HasPrefix(name, prefix)
	})
}
