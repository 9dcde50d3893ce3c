package workspace

import "time"

// Types of the messages of GET /api/v0/git/watch.
const (
	GitRefresh = "refresh" // from the client
	GitChanges = "changes"
	GitError   = "error"
)

// GitMessage is a message of the git watch.
type GitMessage struct {
	Type         string          `json:"type"`
	ScannedAt    *time.Time      `json:"scanned_at,omitempty"`
	Repositories []GitRepository `json:"repositories,omitempty"`
	Message      string          `json:"message,omitempty"`
	// Pending, Waymark's, are repositories that are being looked at: another
	// message follows. The answer to a subscription or a refresh is complete when
	// there are none.
	Pending []string `json:"pending,omitempty"`
}

// GitRepository is a repository with everything in it that isn't committed.
type GitRepository struct {
	RepoRoot     string `json:"repo_root"`
	Branch       string `json:"branch"`
	RemoteOrigin string `json:"remote_origin"`
	UnifiedDiff  string `json:"unified_diff"`
	Removed      bool   `json:"removed,omitempty"`
}

// GitQuestion asks what isn't committed, by POST /api/v0/git/diff.
type GitQuestion struct {
	// Paths are files and directories, absolute; none means everything.
	Paths []string `json:"paths,omitempty"`
}

// GitDiffs is what isn't committed in some repositories.
type GitDiffs struct {
	Repositories []GitDiff `json:"repositories"`
	// Message has a line for each repository that can't be compared.
	Message string `json:"message,omitempty"`
}

// GitDiff is what isn't committed in a repository: the files, and as many of their diffs as
// there is room for.
type GitDiff struct {
	RepoRoot     string    `json:"repo_root"`
	Branch       string    `json:"branch"`
	RemoteOrigin string    `json:"remote_origin,omitempty"`
	Files        []GitFile `json:"files"`
	// Omitted is how many more files have changed than Files names.
	Omitted int    `json:"omitted_files,omitempty"`
	Diff    string `json:"diff"`
}

// GitFile is a file that isn't as it was committed.
type GitFile struct {
	Path        string `json:"path"` // relative to the repository's RepoRoot
	RenamedFrom string `json:"renamed_from,omitempty"`
	Added       int    `json:"added"`
	Removed     int    `json:"removed"`
	// Note says why there is no diff of it, or not all: it is secret, binary or too large.
	Note string `json:"note,omitempty"`
}

// ContextConfig answers GET /api/v0/context-config: where context is looked for,
// resolved from CODER_AGENT_EXP_*.
type ContextConfig struct {
	InstructionsDirs []string `json:"instructions_dirs"`
	InstructionsFile string   `json:"instructions_file"`
	SkillsDirs       []string `json:"skills_dirs"`
	SkillMetaFile    string   `json:"skill_meta_file"`
	MCPConfigFiles   []string `json:"mcp_config_files"`
}
