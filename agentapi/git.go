package agentapi

import "time"

// Types of the messages of GET /api/v0/git/watch.
const (
	GitRefresh = "refresh" // sent by the client
	GitChanges = "changes"
	GitError   = "error"
)

// GitMessage is a message of the git watch.
type GitMessage struct {
	// Type is "changes" or "error" from the server. A client sends only "refresh", without
	// other fields.
	Type string `json:"type" enum:"changes,error,refresh"`
	// ScannedAt is when the repositories were scanned; absent in an error.
	ScannedAt *time.Time `json:"scanned_at,omitempty"`
	// Repositories are the repositories that have changed; absent when none has.
	Repositories []GitRepository `json:"repositories,omitempty"`
	// Message has warnings, one per line: which repositories can't be compared now. What
	// was reported about them before stays valid. In an error, Message says what is wrong.
	Message string `json:"message,omitempty"`
	// Pending, only in Waymark, are repositories that are still being scanned; another
	// message will follow. The answer to a subscription or a refresh is complete when there
	// are none.
	Pending []string `json:"pending,omitempty"`
}

// GitRepository is a repository with its uncommitted changes.
type GitRepository struct {
	// RepoRoot is its directory, absolute and without links.
	RepoRoot string `json:"repo_root"`
	// Branch is the current branch; empty when HEAD names none.
	Branch string `json:"branch"`
	// RemoteOrigin is the URL of the remote `origin`, without credentials; it may be empty.
	RemoteOrigin string `json:"remote_origin"`
	// UnifiedDiff is one diff from HEAD with everything staged, modified and untracked.
	// Lines that begin with "#" may precede it, for example to say how many files of the
	// secret list are left out. If the diffs of a message exceed 3 MiB, a sentence that
	// begins with "Total diff too large to show" replaces them.
	UnifiedDiff string `json:"unified_diff"`
	// Removed says that the repository no longer exists. It is reported once.
	Removed bool `json:"removed,omitempty"`
}

// GitQuestion is the body of POST /api/v0/git/diff.
type GitQuestion struct {
	// Paths are absolute paths of files and directories in the workspace or in the chat's
	// repositories. Without paths, the answer has everything.
	Paths []string `json:"paths,omitempty"`
	// MaxBytes limits all diffs of the answer; 0 means 32 KiB.
	MaxBytes int `json:"max_bytes,omitempty" minimum:"0" maximum:"3145728" default:"32768"`
}

// GitDiffs has the uncommitted changes of repositories.
type GitDiffs struct {
	// Repositories are those of the watch, or with paths, those that contain the paths; if the
	// workspace's directory lies in none, up to 50 below it. Submodules with changes, and
	// repositories with changes that another one doesn't track, follow.
	Repositories []GitDiff `json:"repositories"`
	// Message has a line for each repository that can't be compared.
	Message string `json:"message,omitempty"`
}

// GitDiff has the uncommitted changes of a repository: the changed files, and as many of
// their diffs as fit.
type GitDiff struct {
	// RepoRoot is its directory, absolute and without links.
	RepoRoot string `json:"repo_root"`
	// Branch is the current branch; empty when HEAD names none.
	Branch string `json:"branch"`
	// RemoteOrigin is the URL of the remote `origin`, without credentials.
	RemoteOrigin string `json:"remote_origin,omitempty"`
	// Files are the changed files, at most 4,000.
	Files []GitFile `json:"files"`
	// Omitted is the number of changed files that Files leaves out.
	Omitted int `json:"omitted_files,omitempty"`
	// Diff has the diffs from HEAD of as many files as fit.
	Diff string `json:"diff"`
}

// GitFile is a file with uncommitted changes.
type GitFile struct {
	// Path is relative to the repository's directory.
	Path string `json:"path"`
	// RenamedFrom is its previous path, relative to the same directory.
	RenamedFrom string `json:"renamed_from,omitempty"`
	// Added is the number of added lines.
	Added int `json:"added"`
	// Removed is the number of removed lines.
	Removed int `json:"removed"`
	// Note says why the file has no diff or an incomplete one: it is secret, binary or too
	// large.
	Note string `json:"note,omitempty"`
}

// ContextConfig answers GET /api/v0/context-config: where the agent looks for context,
// according to CODER_AGENT_EXP_* and the defaults.
type ContextConfig struct {
	// InstructionsDirs are the absolute paths of directories with instruction files.
	InstructionsDirs []string `json:"instructions_dirs"`
	// InstructionsFile is the name of instruction files there.
	InstructionsFile string `json:"instructions_file" example:"AGENTS.md"`
	// SkillsDirs are the absolute paths of directories with skills.
	SkillsDirs []string `json:"skills_dirs"`
	// SkillMetaFile is the name of the file that makes a directory a skill.
	SkillMetaFile string `json:"skill_meta_file"`
	// MCPConfigFiles are the absolute paths of files that configure MCP servers.
	MCPConfigFiles []string `json:"mcp_config_files"`
}
