package config

import (
	"cmp"
	"encoding/json"
	"time"

	"waymark/internal/defaults"
	"waymark/plugins/conventions"
	"waymark/snapshot"
)

// Config is the whole configuration. plugin.toml at the root of the
// repository says what each field means; the names are the same.
type Config struct {
	// Exclude holds patterns, relative to each root.
	Exclude []string
	Plugins Plugins
	Builtin Builtin
	// Conventions are about those that are known, Own are the [[convention]] tables,
	// in order of first appearance; see OwnConventions.
	Conventions Conventions
	Own         []conventions.Convention
	Limits      Limits
	Snapshot    Snapshot
	Watch       Watch
	Push        Push
	Services    Services
	MCP         MCP
	// Entries are the [[plugin]] entries, in order of first appearance.
	Entries []Plugin
	// Files are the files that were read, in order; empty means the defaults.
	Files []string
	// Ignored are the values of users' files that don't hold.
	Ignored []Ignored

	origins map[string][]string // the files that a key's value is of, by its full name
	machine map[string]any      // what MachineFile has
}

// Plugins says where dropped-in modules are looked for.
type Plugins struct {
	// Dirs are absolute, or begin with "~/"; see Expand.
	Dirs []string
}

// Builtin configures the resolvers that are built in.
type Builtin struct {
	// Disable names resolvers.
	Disable []string
	// Config holds one canonical JSON object per resolver.
	Config map[string]json.RawMessage
}

// Limits bounds every run of a resolver. In a Plugin, zero means the value of
// the [limits] table.
type Limits struct {
	Time      time.Duration
	Fuel      int
	Memory    Bytes
	Response  Bytes
	Logs      Bytes
	Opens     int
	ReadBytes Bytes
	Entries   int
}

// Snapshot holds the caps of a snapshot.
type Snapshot struct {
	MaxResourceBytes Bytes
	MaxBytes         Bytes
	MaxResources     int
}

// Watch says how file events are batched, and how often all is checked again.
type Watch struct {
	Quiet   time.Duration
	MaxWait time.Duration
	Recheck time.Duration
}

// Push says where snapshots go.
type Push struct {
	// URL is empty when there is no hub to push to but the embedded one.
	URL string
	// TokenFile is the path of the file that holds the token.
	TokenFile string
	// Agent is the id of the agent whose token that is: what is signed for some
	// agents counts here where it names this one. Empty: it counts where it is for
	// all.
	Agent string
	// Clients answers a hub that asks what a coding agent would see here.
	Clients bool
}

// Services says what the agent does for chats.
type Services struct {
	// Processes, Files and Git are whether each is served.
	Processes, Files, Git bool
	// TCP serves them over TCP, too.
	TCP bool
	// Hub has the hub that is pushed to call tools for chats that show a capability.
	Hub bool
	// HideSecrets confines what a process without a grant for secrets can read.
	HideSecrets bool
	// FilesWithin is FilesAnywhere or FilesWorkspace.
	FilesWithin string
	// Spool is how much of one process's output is kept, SpoolTotal of all.
	Spool, SpoolTotal Bytes
	// Audit is how large the audit log becomes.
	Audit Bytes
}

// Where files can be read and written.
const (
	FilesAnywhere  = "anywhere"
	FilesWorkspace = "workspace"
)

// Plugin is one [[plugin]] entry.
type Plugin struct {
	// Name is the module's own, from its Description.
	Name string
	// SHA256 pins the file, in lower-case hexadecimal; empty means no pin.
	SHA256 string
	// Reads narrows what the resolvers may see; empty means not narrowed.
	Reads []string
	// GrantSecrets names entries of the secret list.
	GrantSecrets []string
	// Rank orders plugins: lower wins, equal ranks in order of the entries.
	Rank int
	// Config holds one canonical JSON object per resolver.
	Config map[string]json.RawMessage
	Limits Limits
}

// Default returns what holds when there is no configuration file.
func Default() *Config {
	return &Config{
		Plugins:     Plugins{Dirs: []string{"/etc/waymark/plugins", "~/.config/waymark/plugins"}},
		Conventions: Conventions{User: UserLocal, Children: ChildrenListed},
		Limits: Limits{
			Time: defaults.RunTime, Fuel: defaults.RunFuel, Memory: defaults.RunMemory, Response: defaults.RunResponse, Logs: defaults.RunLogs,
			Opens: defaults.RunOpens, ReadBytes: defaults.RunReadBytes, Entries: defaults.RunEntries,
		},
		Snapshot: Snapshot{
			MaxResourceBytes: snapshot.DefaultMaxResourceBytes, MaxBytes: snapshot.DefaultMaxBytes, MaxResources: snapshot.DefaultMaxResources,
		},
		Watch: Watch{Quiet: defaults.Quiet, MaxWait: defaults.MaxWait, Recheck: defaults.Recheck},
		Push:  Push{Clients: true},
		Services: Services{
			Processes: true, Files: true, Git: true, HideSecrets: true, FilesWithin: FilesAnywhere,
			Spool: defaults.Spool, SpoolTotal: defaults.SpoolTotal, Audit: defaults.AuditBytes,
		},
		MCP: defaultMCP(),
	}
}

// MachinePluginDirs returns the directories in which the machine's file lets plugins be, as
// they are written there; bound is false where it says nothing of that.
func (c *Config) MachinePluginDirs() (dirs []string, bound bool) {
	dirs, bound = c.machine["plugins.dirs"].([]string)
	return dirs, bound
}

// Entry returns the [[plugin]] entry of that name; without one, an entry that
// changes nothing.
func (c *Config) Entry(name string) Plugin {
	for _, p := range c.Entries {
		if p.Name == name {
			return p
		}
	}
	return Plugin{Name: name, Rank: defaults.Rank}
}

// LimitsOf returns the limits that hold for the plugin of that name: those of
// its entry, the others from the [limits] table.
func (c *Config) LimitsOf(name string) Limits {
	return c.Entry(name).Limits.Or(c.Limits)
}

// Or returns the limits with those of other where a field is zero.
func (l Limits) Or(other Limits) Limits {
	return Limits{
		Time:      cmp.Or(l.Time, other.Time),
		Fuel:      cmp.Or(l.Fuel, other.Fuel),
		Memory:    cmp.Or(l.Memory, other.Memory),
		Response:  cmp.Or(l.Response, other.Response),
		Logs:      cmp.Or(l.Logs, other.Logs),
		Opens:     cmp.Or(l.Opens, other.Opens),
		ReadBytes: cmp.Or(l.ReadBytes, other.ReadBytes),
		Entries:   cmp.Or(l.Entries, other.Entries),
	}
}
