package process

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"waymark/agentapi"
	"waymark/internal/httpapi"
	"waymark/workspace/launch"
)

// variableChat tells a process its chat, as in Coder's agent.
const variableChat = "CODER_CHAT_ID"

// environ returns the environment of a process: the agent's without its own variables, then
// the desktop's and the request's, which take precedence, then the chat's.
func (s *Service) environ(who agentapi.Caller, dir string, body *agentapi.StartProcess, display []string) []string {
	var env []string
	for _, have := range s.opts.Environ() {
		if name, value, ok := strings.Cut(have, "="); ok && name != "" && !launch.AgentVariable(name) {
			env = set(env, name, value)
		}
	}
	for _, variable := range display {
		name, value, _ := strings.Cut(variable, "=")
		env = set(env, name, value)
	}
	env = set(env, "PWD", dir)
	if _, named := body.Env["TERM"]; body.PTY != nil && !named {
		env = set(env, "TERM", "xterm-256color")
	}
	for name, value := range body.Env {
		env = set(env, name, value)
	}
	if who.Scoped() {
		env = set(env, variableChat, who.Chat.String())
	}
	slices.Sort(env)
	return env
}

// set sets a variable, replacing an existing value.
func set(env []string, name, value string) []string {
	env = slices.DeleteFunc(env, func(have string) bool { return strings.HasPrefix(have, name+"=") })
	return append(env, name+"="+value)
}

// workDir returns where a process runs: the requested directory, which must exist, or the
// workspace's if it exists, or the home directory.
func (s *Service) workDir(c *httpapi.Call, asked string) (string, error) {
	base := s.opts.Root()
	if info, err := os.Stat(base); base == "" || err != nil || !info.IsDir() {
		base = s.opts.Places().Home
	}
	dir := base
	switch rest, below := strings.CutPrefix(asked, "~/"); {
	case asked == "":
		return dir, nil
	case below || asked == "~":
		dir = filepath.Join(s.opts.Places().Home, strings.TrimPrefix(rest, "~"))
	case filepath.IsAbs(asked):
		dir = filepath.Clean(asked)
	default:
		dir = filepath.Join(base, asked)
	}
	switch info, err := os.Stat(dir); {
	case err != nil:
		return "", refused(c, fmt.Sprintf("there is no working directory %s", dir))
	case !info.IsDir():
		return "", refused(c, fmt.Sprintf("the working directory %s is not a directory", dir))
	}
	return dir, nil
}

// outOfMemoryScore returns a score that makes the kernel prefer processes to the agent when
// it runs out of memory, but not to all others.
func outOfMemoryScore() int {
	const before, last = 998, 1000
	var own int
	data, err := os.ReadFile("/proc/self/oom_score_adj")
	if _, scanErr := fmt.Sscan(string(data), &own); err != nil || scanErr != nil {
		return before
	}
	switch {
	case own < 0: // the agent is protected, its processes aren't
		return 0
	case own >= before:
		return last
	}
	return before
}
