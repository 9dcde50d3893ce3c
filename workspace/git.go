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

// ContextConfig answers GET /api/v0/context-config: where context is looked for,
// resolved from CODER_AGENT_EXP_*.
type ContextConfig struct {
	InstructionsDirs []string `json:"instructions_dirs"`
	InstructionsFile string   `json:"instructions_file"`
	SkillsDirs       []string `json:"skills_dirs"`
	SkillMetaFile    string   `json:"skill_meta_file"`
	MCPConfigFiles   []string `json:"mcp_config_files"`
}
