package clients_test

import (
	"path/filepath"
	"regexp"
	"testing"

	"waymark/test/testenv"
)

const sameName = "of two subagents with one name in one directory it takes the one that the file system lists last"

// claudeRunner lists commands beside skills, in the order of its own directory reads.
var claudeRunner = runner{
	id: "claude", pkg: "@anthropic-ai/claude-code-linux-x64", pinned: "npm", seeds: 10,
	command: func(_ *testing.T, modules string, _ user) []string {
		return []string{filepath.Join(modules, "@anthropic-ai/claude-code-linux-x64/claude"), "-p", "hello"}
	},
	env: []string{
		"ANTHROPIC_BASE_URL=http://" + modelAt, "ANTHROPIC_API_KEY=sk-ant-none", "DISABLE_AUTOUPDATER=1", "DISABLE_TELEMETRY=1", "DISABLE_ERROR_REPORTING=1",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
	},
	read:     func(file string) toolCall { return toolCall{"Read", map[string]string{"file_path": file}} },
	together: regexp.MustCompile(`^.*\.claude/rules/`), // in the order of the file system
	differs: map[string]string{
		"comments":             "sizes count comments and front matter, which Claude Code takes out",
		"odd skills of Claude": "the list has a skill's own name beside that of its directory",
		"claude: subagents":    sameName,
		"random 4/10":          sameName, "random 8/2": sameName, "random 8/20": sameName,
	},
	trees:  ofClaude(),
	random: func(seed uint64) *tree { return withMarks(randomClaudeTree(testenv.RandOf(seed, 38))) },
}

var codexRunner = runner{
	id: "codex", pkg: "@openai/codex", pinned: "npm", seeds: 10, prints: true,
	command: func(_ *testing.T, modules string, _ user) []string {
		return []string{filepath.Join(modules, "@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex"), "debug", "prompt-input"}
	},
	random: func(seed uint64) *tree {
		if seed%2 == 0 {
			return randomMarked(seed)
		}
		return withMarks(randomTree(testenv.RandOf(seed, 24)))
	},
}
