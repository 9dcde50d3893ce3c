// Package status has the types in which an agent reports its own status: its health, its
// sources, the plugins that wait for approval. Both ends of the API share them. Package
// agent/server serves them, agentapi/client requests them.
//
// # Concurrency
//
// Values are plain data. Don't modify values that are shared.
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
	// PID is the process id of the agent.
	PID int `json:"pid" minimum:"0"`
	// AgentVersion is the version of the program.
	AgentVersion string `json:"agent_version"`
	// StartedAt is when the agent was started.
	StartedAt time.Time `json:"started_at"`
	// UptimeSeconds is how long the agent has been running.
	UptimeSeconds float64 `json:"uptime_seconds" minimum:"0"`
	// Roots are the directories that the agent scans, in order of precedence.
	Roots []string `json:"roots"`
	// Refused are configured roots that exist but aren't scanned, because of where a link
	// in the working directory leads or because this user may not read them; absent if
	// there are none.
	Refused []RefusedRoot `json:"refused,omitempty"`
	// Children are the repositories in directories at the top of roots, which are scanned
	// as well; absent if there are none.
	Children []Children `json:"children,omitempty"`
	// Version is the version of the newest snapshot; 0 if there is none yet.
	Version uint64 `json:"version" minimum:"0"`
	// Resources is the number of resources in the newest snapshot.
	Resources int `json:"resources" minimum:"0"`
	// Discovery is the discovery of the newest snapshot.
	Discovery snapshot.Discovery `json:"discovery"`
	// SnapshotError describes a problem with the newest snapshot as a whole, for example
	// more resources than it can list; empty if there is none.
	SnapshotError string `json:"snapshot_error"`
	// Push is null if nothing is pushed.
	Push *push.Status `json:"push"`
	// Workspace is the id of the agent's workspace: 12 hexadecimal digits of the SHA-256 of
	// the root that it was started for, or `default`. It stays the same if the agent gets
	// another root.
	Workspace string `json:"workspace"`
	// Hub is the base URL of the hub that the user's agents share; empty if this agent
	// pushes elsewhere.
	Hub string `json:"hub"`
	// HubHolder says that this agent holds that hub.
	HubHolder bool `json:"hub_holder"`
	// Watch says how the agent notices changes.
	Watch Watch `json:"watch"`
	// Plugins are the resolver modules.
	Plugins []snapshot.Plugin `json:"plugins"`
	// Held says that the first snapshot is held back until POST /api/v0/context/ready.
	Held bool `json:"held"`
	// Services is what the agent does for chats; absent if it does nothing.
	Services *Services `json:"services,omitempty"`
	// MCP is the status of the MCP servers; absent if there can be none.
	MCP *MCP `json:"mcp,omitempty"`
	// ConfigError says why the configuration on disk isn't in force; empty if it is.
	ConfigError string `json:"config_error"`
}

// Services is what the agent does for chats, according to its configuration.
type Services struct {
	// Processes says that processes can be started.
	Processes bool `json:"processes"`
	// Files says that files can be written and edited.
	Files bool `json:"files"`
	// Git says that repositories can be watched.
	Git bool `json:"git"`
	// TCP says that these services are available over TCP, too.
	TCP bool `json:"tcp"`
	// Hub says that chats at the hub can call tools with a capability.
	Hub bool `json:"hub"`
	// State is the workspace's state directory. It has the control token, and the
	// supervisor's files in its directory `processes`.
	State string `json:"state"`
	// Own are the agent's own places. All except the cache are hidden from processes, MCP
	// servers, the files API, git and resolvers.
	Own []OwnPlace `json:"own"`
	// Landlock is the version of the kernel's ABI for it; 0 if it has none.
	Landlock int `json:"landlock" minimum:"0"`
	// Secrets is how the secret list is enforced for processes whose token doesn't grant
	// secrets: `hidden` if the kernel hides its places by Landlock; `advisory` if there is
	// no Landlock, so that the list applies only to the files API; `off` if it is switched
	// off.
	Secrets SecretsState `json:"secrets"`
	// Supervisor is the state of the supervisor that holds the processes; `none` if nothing
	// was started.
	Supervisor SupervisorState `json:"supervisor"`
	// Error says why the supervisor failed.
	Error string `json:"error,omitempty"`
	// Held is the number of processes that the supervisor knows.
	Held int `json:"held" minimum:"0"`
	// Running is the number of running processes.
	Running int `json:"running" minimum:"0"`
}

// OwnPlace is a file or a directory that the agent trusts or keeps secret.
type OwnPlace struct {
	// Kind says what the place is for.
	Kind string `json:"kind" enum:"state,cache,sockets,configuration,plugins,token"`
	// Path is the absolute path.
	Path string `json:"path"`
}

// MCP is the status of the workspace's MCP servers.
type MCP struct {
	// Phase is pending until every server has listed its tools or failed.
	Phase snapshot.Phase `json:"phase"`
	// Outcomes is the number of servers by outcome.
	Outcomes map[snapshot.Outcome]int `json:"outcomes"`
	// Tools is the number of tools that can be called.
	Tools int `json:"tools" minimum:"0"`
	// HeldTools is the number of tools that wait for approval.
	HeldTools int `json:"held_tools" minimum:"0"`
	// Waiting are the names of servers that wait for approval, of themselves or of tools.
	Waiting []string `json:"waiting"`
	// SignIn are the servers that require a sign-in.
	SignIn []string `json:"sign_in"`
	// Failed are the servers that have failed.
	Failed []string `json:"failed"`
	// Unconfined are the servers that run without a profile.
	Unconfined []string `json:"unconfined"`
	// Invalid lists what can't be used in the files: an entry, or, without a name, a file.
	Invalid []agentapi.MCPInvalid `json:"invalid"`
}

// SecretsState is how the secret list is enforced for processes.
type SecretsState string

// The states of the secret list.
const (
	SecretsHidden   SecretsState = "hidden"   // Landlock hides the places
	SecretsAdvisory SecretsState = "advisory" // without Landlock: it applies only to the files API
	SecretsOff      SecretsState = "off"      // switched off by services.hide_secrets
)

// SupervisorState is the state of the supervisor.
type SupervisorState string

// The states of a supervisor.
const (
	SupervisorNone    SupervisorState = "none" // nothing was started
	SupervisorRunning SupervisorState = "running"
	SupervisorFailed  SupervisorState = "failed"
)

// RefusedRoot is a root that isn't scanned.
type RefusedRoot struct {
	// Path is the absolute path of the root as configured.
	Path string `json:"path"`
	// Error says why, and what to do about it.
	Error string `json:"error"`
}

// Children are the repositories in directories at the top of a root.
type Children struct {
	// Root is the path of the root.
	Root string `json:"root"`
	// Names are the names of the scanned directories, in byte order.
	Names []string `json:"names"`
	// More is the number of further repositories.
	More int `json:"more" minimum:"0"`
	// Unasked is the number of directories that weren't checked: only the first 256 are.
	Unasked int `json:"unasked" minimum:"0"`
}

// Watch is how the agent notices changes.
type Watch struct {
	// Mode is `notify`; `degraded` if notifications don't work, or not for all directories,
	// so that everything is polled; or `off`.
	Mode string `json:"mode" enum:"off,notify,degraded"`
	// Directories is the number of watched directories.
	Directories int `json:"directories" minimum:"0"`
	// Silent says that some directories are on a file system that doesn't report all
	// changes, so that they are polled more often.
	Silent bool `json:"silent"`
	// Error says why Mode is `degraded`, and what to do about it.
	Error string `json:"error"`
}

// SkillFiles are the files of a skill.
type SkillFiles struct {
	// ID is the id of the skill.
	ID string `json:"id"`
	// Files are the files in the skill's directory, in byte order of their paths.
	Files []SkillFile `json:"files"`
	// Omitted is the number of files that aren't listed: links that lead out of the
	// directory, files that aren't regular, files that are too large, and those beyond the
	// limit.
	Omitted int `json:"omitted" minimum:"0"`
}

// SkillFile is a file in the directory of a skill.
type SkillFile struct {
	// Path is relative to that directory, with slashes.
	Path string `json:"path"`
	// SizeBytes is its length, in bytes.
	SizeBytes int64 `json:"size_bytes" minimum:"0"`
	// Digest is the digest of its content: "sha256:" and 64 hexadecimal digits.
	Digest string `json:"digest" pattern:"^sha256:[0-9a-f]{64}$"`
}

// NewSource is the body of POST /api/v0/context/sources.
type NewSource struct {
	// An absolute path. `~` is the home directory of the agent's user.
	Path string `json:"path" minLength:"1" maxLength:"1024"`
	// Persist keeps the source across restarts of the agent.
	Persist bool `json:"persist,omitempty" default:"false"`
}

// AddedSource is a source, and whether it is new.
type AddedSource struct {
	sources.Source
	// Added is false if the source was on the list already.
	Added bool `json:"added"`
}

// Approval is the body of POST /api/v0/plugins/approve.
type Approval struct {
	// Name is the module's own name.
	Name string `json:"name" minLength:"1"`
	// Digest is the SHA-256 of its file, so that only the reviewed file is approved.
	Digest string `json:"digest" minLength:"1"`
}

// Root is the body of PUT /api/v0/context/root.
type Root struct {
	// The absolute path of an existing directory.
	Path string `json:"path" minLength:"1"`
}

// MaxWhyPaths limits the paths of one GET /api/v0/context/why, because each is looked up in
// all traces.
const MaxWhyPaths = 64
