// Package status has the types that both ends of the API share in what an agent says of
// itself: how it is doing, its sources, its plugins that wait for approval. Package
// agent/server serves them, agentapi/client asks for them.
//
// # Concurrency
//
// Values are plain data. Whoever shares one doesn't change it.
package status

import (
	"time"

	"waymark/agentapi"
	"waymark/host/push"
	"waymark/host/sources"
	"waymark/snapshot"
)

// Status answers GET /api/v0/status.
type Status struct {
	// PID is the number of the agent's process.
	PID int `json:"pid" minimum:"0"`
	// AgentVersion is the version of the program.
	AgentVersion string `json:"agent_version"`
	// StartedAt is when the agent was started.
	StartedAt time.Time `json:"started_at"`
	// UptimeSeconds is for how long the agent has been running.
	UptimeSeconds float64 `json:"uptime_seconds" minimum:"0"`
	// Roots are what is looked into, in order of precedence.
	Roots []string `json:"roots"`
	// Refused are the configured roots that aren't looked at although they may be there:
	// for where a link in the working directory leads, or since this user may not read
	// them; absent when there are none.
	Refused []RefusedRoot `json:"refused,omitempty"`
	// Children are the repositories in directories at the top of roots, which are looked
	// into like these; absent when there are none.
	Children []Children `json:"children,omitempty"`
	// Version is that of the newest snapshot; 0 when there is none yet.
	Version uint64 `json:"version" minimum:"0"`
	// Resources is how many resources the newest snapshot has.
	Resources int `json:"resources" minimum:"0"`
	// Discovery is that of the newest snapshot.
	Discovery snapshot.Discovery `json:"discovery"`
	// SnapshotError says what is wrong with the newest snapshot as a whole, as when there
	// is more than is listed; empty when nothing is.
	SnapshotError string `json:"snapshot_error"`
	// Push is null when nothing is pushed.
	Push *push.Status `json:"push"`
	// Workspace is the id of the agent's workspace: 12 hexadecimal digits of the SHA-256 of
	// the root that it was started for, or `default`. The agent keeps it when it is given
	// another root.
	Workspace string `json:"workspace"`
	// Hub is the base URL of the hub that the user's agents run themselves; empty
	// when this one pushes elsewhere.
	Hub string `json:"hub"`
	// HubHolder says that this agent is the one that runs that hub.
	HubHolder bool `json:"hub_holder"`
	// Watch is how changes are noticed.
	Watch Watch `json:"watch"`
	// Plugins are the resolver modules.
	Plugins []snapshot.Plugin `json:"plugins"`
	// Held says that the first snapshot is held back, until it is released
	// with POST /api/v0/context/ready.
	Held bool `json:"held"`
	// Services is what the agent does for chats; absent in an agent that does nothing.
	Services *Services `json:"services,omitempty"`
	// MCP says how the MCP servers are doing; absent where there can be none.
	MCP *MCP `json:"mcp,omitempty"`
	// ConfigError says why the configuration on disk isn't in force; empty
	// when it is.
	ConfigError string `json:"config_error"`
}

// Services is what the agent does for chats, as its configuration has it.
type Services struct {
	// Processes says that processes can be started.
	Processes bool `json:"processes"`
	// Files says that files can be written and edited.
	Files bool `json:"files"`
	// Git says that repositories can be watched.
	Git bool `json:"git"`
	// TCP says that these are served over TCP, too.
	TCP bool `json:"tcp"`
	// Hub says that tools are called for chats at the hub that show a capability.
	Hub bool `json:"hub"`
	// State is the workspace's state directory: the control token is in it, and what
	// the supervisor keeps in its directory `processes`.
	State string `json:"state"`
	// Own are the agent's own places: all but the cache are kept from processes, MCP
	// servers, the files API, git and resolvers.
	Own []OwnPlace `json:"own"`
	// Landlock is the version of the kernel's ABI for it; 0: the kernel has none.
	Landlock int `json:"landlock" minimum:"0"`
	// Secrets is how the secret list holds for processes whose token has no grant: its
	// places are `hidden` by the kernel, where it has Landlock; it is `advisory` and holds for
	// files alone, where it hasn't; or it is switched `off`.
	Secrets SecretsState `json:"secrets"`
	// Supervisor is how what holds the processes is doing; `none`: nothing was started.
	Supervisor SupervisorState `json:"supervisor"`
	// Error says why the supervisor failed.
	Error string `json:"error,omitempty"`
	// Held is how many processes the supervisor knows of.
	Held int `json:"held" minimum:"0"`
	// Running is how many of those processes run.
	Running int `json:"running" minimum:"0"`
}

// OwnPlace is a file or a directory that the agent trusts or keeps secret.
type OwnPlace struct {
	// Kind says what it is for.
	Kind string `json:"kind" enum:"state,cache,sockets,configuration,plugins,token"`
	// Path is absolute.
	Path string `json:"path"`
}

// MCP says how the MCP servers of the workspace are doing.
type MCP struct {
	// Phase is pending while some have not said what they offer.
	Phase snapshot.Phase `json:"phase"`
	// Outcomes counts the servers by what became of them.
	Outcomes map[snapshot.Outcome]int `json:"outcomes"`
	// Tools is how many tools can be called.
	Tools int `json:"tools" minimum:"0"`
	// HeldTools is how many tools wait for an approval.
	HeldTools int `json:"held_tools" minimum:"0"`
	// Waiting are the names of the servers that wait for an approval, for themselves or
	// for tools.
	Waiting []string `json:"waiting"`
	// SignIn are the servers that ask for a sign-in.
	SignIn []string `json:"sign_in"`
	// Failed are the servers that don't answer.
	Failed []string `json:"failed"`
	// Unconfined are the servers that run without a profile.
	Unconfined []string `json:"unconfined"`
	// Invalid is what of the files can't be used: an entry, or, without a name, a file.
	Invalid []agentapi.MCPInvalid `json:"invalid"`
}

// SecretsState is how the secret list holds for processes.
type SecretsState string

// The states of the secret list.
const (
	SecretsHidden   SecretsState = "hidden"   // Landlock hides its places
	SecretsAdvisory SecretsState = "advisory" // there is no Landlock: it holds for files alone
	SecretsOff      SecretsState = "off"      // so says services.hide_secrets
)

// SupervisorState is how what holds the processes is doing.
type SupervisorState string

// The states of a supervisor.
const (
	SupervisorNone    SupervisorState = "none" // nothing was started
	SupervisorRunning SupervisorState = "running"
	SupervisorFailed  SupervisorState = "failed"
)

// RefusedRoot is a root that isn't looked at.
type RefusedRoot struct {
	// Path is the root as it was configured, absolute.
	Path string `json:"path"`
	// Error says why, and what to do.
	Error string `json:"error"`
}

// Children are the repositories in directories at the top of a root.
type Children struct {
	// Root is the path of that root.
	Root string `json:"root"`
	// Names are the directories that are looked into, in byte order.
	Names []string `json:"names"`
	// More is how many more repositories there are.
	More int `json:"more" minimum:"0"`
	// Unasked is how many directories weren't asked whether they are a repository: the first
	// 256 are.
	Unasked int `json:"unasked" minimum:"0"`
}

// Watch is how the agent notices changes.
type Watch struct {
	// Mode is `notify`; `degraded` where notifications don't work, or not for all
	// directories, so that everything is polled; or `off`.
	Mode string `json:"mode" enum:"off,notify,degraded"`
	// Directories is how many directories are watched.
	Directories int `json:"directories" minimum:"0"`
	// Silent says that some are on a file system that doesn't report all
	// changes, so that they are polled more often.
	Silent bool `json:"silent"`
	// Error says why the mode is degraded, and what to do about it.
	Error string `json:"error"`
}

// SkillFiles are the files of a skill.
type SkillFiles struct {
	// ID is that of the skill.
	ID string `json:"id"`
	// Files are those of the skill's directory, in byte order of their paths.
	Files []SkillFile `json:"files"`
	// Omitted is how many more there are that aren't shown: links that lead out of the
	// directory, what is no regular file, what is too large, and what is too much.
	Omitted int `json:"omitted" minimum:"0"`
}

// SkillFile is a file in the directory of a skill.
type SkillFile struct {
	// Path is relative to that directory, with slashes.
	Path string `json:"path"`
	// SizeBytes is its length.
	SizeBytes int64 `json:"size_bytes" minimum:"0"`
	// Digest is of its content: "sha256:" and 64 hexadecimal digits.
	Digest string `json:"digest" pattern:"^sha256:[0-9a-f]{64}$"`
}

// NewSource is the body of POST /api/v0/context/sources.
type NewSource struct {
	// An absolute path. `~` is the agent's home.
	Path string `json:"path" minLength:"1" maxLength:"1024"`
	// Persist says that the source is to be there again after a restart of the agent.
	Persist bool `json:"persist,omitempty" default:"false"`
}

// AddedSource is a source, and whether it is new.
type AddedSource struct {
	sources.Source
	// Added is false when it was on the list already.
	Added bool `json:"added"`
}

// Approval is the body of POST /api/v0/plugins/approve.
type Approval struct {
	// Name is the module's own name.
	Name string `json:"name" minLength:"1"`
	// Digest is the SHA-256 of its file, so that nothing is approved but what
	// was looked at.
	Digest string `json:"digest" minLength:"1"`
}

// Root is the body of PUT /api/v0/context/root.
type Root struct {
	// The absolute path of a directory that exists.
	Path string `json:"path" minLength:"1"`
}

// MaxWhyPaths bounds the paths of one GET /api/v0/context/why: each is looked up
// in all traces.
const MaxWhyPaths = 64
