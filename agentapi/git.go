package agentapi

import "time"

// Types of the messages of GET /api/v0/git/watch.
const (
	GitRefresh = "refresh" // from the client
	GitChanges = "changes"
	GitError   = "error"
)

// GitMessage is a message of the git watch.
type GitMessage struct {
	// Type is "changes" or "error" from the server, and "refresh" from a client, which sends
	// nothing else with it.
	Type string `json:"type" enum:"changes,error,refresh"`
	// ScannedAt is when the repositories were looked at; without it in an error.
	ScannedAt *time.Time `json:"scanned_at,omitempty"`
	// Repositories are those that have changed; absent when none has.
	Repositories []GitRepository `json:"repositories,omitempty"`
	// Message has warnings, a line each: what a repository is that can't be compared now.
	// What was told of it before stays as it is. In an error it says what is wrong.
	Message string `json:"message,omitempty"`
	// Pending, Waymark's, are repositories that are being looked at: another
	// message follows. The answer to a subscription or a refresh is complete when
	// there are none.
	Pending []string `json:"pending,omitempty"`
}

// GitRepository is a repository with everything in it that isn't committed.
type GitRepository struct {
	// RepoRoot is its directory, absolute and without links.
	RepoRoot string `json:"repo_root"`
	// Branch is empty while HEAD names none.
	Branch string `json:"branch"`
	// RemoteOrigin is the URL, without credentials; it may be empty.
	RemoteOrigin string `json:"remote_origin"`
	// UnifiedDiff has what is staged, modified and untracked, as one diff from HEAD. Lines
	// that begin with "#" may stand before it, such as how many files of the secret list are
	// left out. Beyond 3 MiB in a message a sentence takes its place that begins with
	// "Total diff too large to show".
	UnifiedDiff string `json:"unified_diff"`
	// Removed says that the repository is gone. It is told once.
	Removed bool `json:"removed,omitempty"`
}

// GitQuestion asks what isn't committed, by POST /api/v0/git/diff.
type GitQuestion struct {
	// Paths are files and directories, absolute, of the workspace or of the chat's
	// repositories; none means everything.
	Paths []string `json:"paths,omitempty"`
}

// GitDiffs is what isn't committed in some repositories.
type GitDiffs struct {
	// Repositories are those of the watch; with paths, those that the paths lie in.
	Repositories []GitDiff `json:"repositories"`
	// Message has a line for each repository that can't be compared.
	Message string `json:"message,omitempty"`
}

// GitDiff is what isn't committed in a repository: the files, and as many of their diffs as
// there is room for.
type GitDiff struct {
	// RepoRoot is its directory, absolute and without links.
	RepoRoot string `json:"repo_root"`
	// Branch is empty while HEAD names none.
	Branch string `json:"branch"`
	// RemoteOrigin is the URL, without credentials.
	RemoteOrigin string `json:"remote_origin,omitempty"`
	// Files are those that have changed, up to 4,000.
	Files []GitFile `json:"files"`
	// Omitted is how many more files have changed than Files names.
	Omitted int `json:"omitted_files,omitempty"`
	// Diff has the diffs of as many files as 32 KiB hold, from HEAD.
	Diff string `json:"diff"`
}

// GitFile is a file that isn't as it was committed.
type GitFile struct {
	// Path is relative to the repository's directory.
	Path string `json:"path"`
	// RenamedFrom is what it was called before, likewise.
	RenamedFrom string `json:"renamed_from,omitempty"`
	// Added is how many lines are new.
	Added int `json:"added"`
	// Removed is how many lines are gone.
	Removed int `json:"removed"`
	// Note says why there is no diff of it, or not all: it is secret, binary or too large.
	Note string `json:"note,omitempty"`
}

// ContextConfig answers GET /api/v0/context-config: where context is looked for,
// resolved from CODER_AGENT_EXP_*.
type ContextConfig struct {
	// InstructionsDirs are the directories of instruction files, absolute.
	InstructionsDirs []string `json:"instructions_dirs"`
	// InstructionsFile is what such a file is called there.
	InstructionsFile string `json:"instructions_file" example:"AGENTS.md"`
	// SkillsDirs are the directories of skills, absolute.
	SkillsDirs []string `json:"skills_dirs"`
	// SkillMetaFile is the file that makes a directory a skill.
	SkillMetaFile string `json:"skill_meta_file"`
	// MCPConfigFiles are the files that name MCP servers, absolute.
	MCPConfigFiles []string `json:"mcp_config_files"`
}
