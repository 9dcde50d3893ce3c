package config

import (
	"encoding/json"
	"time"

	"waymark/internal/defaults"
	"waymark/snapshot"
)

// Config is the whole configuration. The tags of its fields are all that is known of a
// key, and schema.go says what they mean: reading, joining, Annotated and JSONSchema go
// by them. The fields are in the order of plugin.toml, which is made from them.
type Config struct {
	Exclude []string `toml:"exclude" join:"union" check:"exclude" help:"Patterns of files that no resolver sees, relative to each root. * stays within one directory, ** doesn't: vendor/**, **/*.bak.md."`
	Plugins Plugins  `toml:"plugins" help:"Where dropped-in modules are looked for."`
	Builtin Builtin  `toml:"builtin" help:"The resolvers that are built in."`
	// Conventions are about those that are known, Own are of the operator's, in order of
	// first appearance; see OwnConventions.
	Conventions Conventions  `toml:"conventions" help:"The places where agents look for files are known: which of them are used."`
	Own         []Convention `toml:"convention" help:"A place that isn't known yet, without code."`
	Context     Context      `toml:"context" help:"What 'agent context' compares."`
	Limits      Limits       `toml:"limits" help:"What one run of one resolver may use. A run above a limit ends, and the resolver's last good finds stay, marked as stale. Where a limit is the default, the built-in resolvers have more: enough for what all agents read."`
	Snapshot    Snapshot     `toml:"snapshot" help:"What a snapshot holds at most. What doesn't fit stays listed without its text: 'oversize' for one that is too large, 'excluded' for the rest. The defaults are what a hub takes. A peer that takes less, such as a Coder server, is sent less, what has the lowest precedence left out first, and 'agent status' counts it: see docs/abi-compat.md."`
	Watch       Watch        `toml:"watch" help:"When a change is looked at."`
	Push        Push         `toml:"push" help:"Where snapshots go."`
	Services    Services     `toml:"services" help:"What the agent does for chats, over its local API: see docs/services.md. All but the spools is taken over while the agent runs."`
	Desktop     Desktop      `toml:"desktop" help:"The screen for chats, where services.desktop is true: see docs/chats.md. What is said here holds for the next one that is started."`
	MCP         MCP          `toml:"mcp" help:"The MCP servers that workspaces configure: see docs/mcp.md."`
	// Entries are the [[plugin]] entries, in order of first appearance.
	Entries []Plugin `toml:"plugin" help:"A dropped-in plugin needs no entry. With one, it can be pinned, narrowed, given rights and configured. A changed file waits for 'agent plugins approve' when it reads more than the one before, isn't the pinned one, or would get secrets that were granted to that one."`

	// Files are the files that were read, in order; empty means the defaults.
	Files []string
	// Ignored are the values of users' files that don't hold.
	Ignored []Ignored

	origins map[string][]string // the files that a key's value is of, by its full name
	machine map[string]any      // what MachineFile has
}

// Plugins says where dropped-in modules are looked for; see Expand.
type Plugins struct {
	Dirs []string `toml:"dirs" join:"intersection" check:"dir" help:"Directories whose *.wasm files are loaded as resolvers. They are named only here and by --plugins, never by anything in a workspace. Each begins with / or ~/; one that doesn't exist is waited for. Files that appear, change or vanish there take effect at once. A file or directory that others can write to is refused."`
}

// Builtin configures the resolvers that are built in. Config holds one canonical JSON
// object per resolver.
type Builtin struct {
	Disable []string                   `toml:"disable" join:"union" check:"name" help:"Built-in resolvers to leave out: context, hooks, mcp-config."`
	Config  map[string]json.RawMessage `toml:"config" example:"context file_names = ['AGENTS.md', '.cursorrules']" help:"What a built-in resolver gets as its configuration, as it is; what that may hold, the resolver says itself. Of context these are file_names (instruction files at the top of a root, in exact case, in the place of those that agents read), more_file_names (beside those) and meta_file (what makes a directory a skill, if not SKILL.md)."`
}

// Context is about comparing what coding agents see.
type Context struct {
	Clients []string `toml:"clients" check:"word" help:"The coding agents that 'agent context' compares if --client names none, such as claude and codex. [] means those that are installed."`
}

// Limits bounds every run of a resolver. In a Plugin, zero means the value of the
// [limits] table. The hard maxima keep one resolver from starving the agent, whatever the
// operator wrote.
type Limits struct {
	Time      time.Duration `toml:"time" join:"least" least:"1ms" most:"1m" help:"wall-clock time"`
	Fuel      int           `toml:"fuel" join:"least" least:"1000000" most:"100000000000000" help:"work, counted without a clock, see 'agent resolve --explain'"`
	Memory    Bytes         `toml:"memory" join:"least" least:"1MiB" most:"1GiB" help:"memory of the sandbox"`
	Response  Bytes         `toml:"response" join:"least" least:"1KiB" most:"16MiB" help:"length of the answer"`
	Logs      Bytes         `toml:"logs" join:"least" least:"1KiB" most:"1MiB" help:"log lines kept"`
	Opens     int           `toml:"opens" join:"least" least:"1" most:"65536" help:"files opened"`
	ReadBytes Bytes         `toml:"read_bytes" join:"least" least:"1KiB" most:"1GiB" help:"bytes read from files"`
	Entries   int           `toml:"entries" join:"least" least:"1" most:"1000000" help:"directory entries listed"`
}

// Snapshot holds the caps of a snapshot. The most is what a hub takes; what another peer
// doesn't take isn't sent to that one.
type Snapshot struct {
	MaxResourceBytes Bytes `toml:"max_resource_bytes" join:"least" least:"1B" most:"default" help:"one text"`
	MaxBytes         Bytes `toml:"max_bytes" join:"least" least:"1B" most:"default" holds:"max_resource_bytes" why:"all resources together need room for at least one" help:"all texts"`
	MaxResources     int   `toml:"max_resources" join:"least" least:"1" most:"default" help:"resources"`
}

// Watch says how file events are batched, and how often all is checked again.
type Watch struct {
	Quiet   time.Duration `toml:"quiet" least:"1ms" most:"10s" help:"while a file may be half written: nothing has happened for so long"`
	MaxWait time.Duration `toml:"max_wait" least:"1ms" most:"1m" holds:"quiet" why:"a batch of events waits at least for one quiet time" help:"but not longer than this"`
	Recheck time.Duration `toml:"recheck" least:"1s" most:"1h" help:"check everything again, events or not"`
}

// Push says where snapshots go. URL is empty when there is no hub to push to but the
// embedded one.
type Push struct {
	URL       string `toml:"url" check:"url" help:"The hub, or another server that speaks the protocol. Empty: 'agent run' starts a hub of its own, on this machine only."`
	TokenFile string `toml:"token_file" check:"file" help:"The file that holds the token, and nothing else; /… or ~/…. The token itself has no place in this file."`
	Agent     string `toml:"agent" check:"agent" help:"The id of the agent that the token belongs to. Signed approvals of MCP servers that are for some agents only count where they name this one; what the hub says of whom they are for isn't believed. Empty: only those for all agents count."`
	Clients   bool   `toml:"clients" join:"least" help:"Answer the hub when somebody asks there what a coding agent would see here. A hub on another machine is told only of what is pushed to it."`
}

// Services says what the agent does for chats. A spool has room for a log that somebody
// looks at; the maxima keep a slip of the pen from filling a disk. Of the audit log a user
// can keep more, and not less.
type Services struct {
	Processes   bool   `toml:"processes" join:"least" help:"start programs, read their output, signal them"`
	Files       bool   `toml:"files" join:"least" help:"read, write and edit files"`
	Git         bool   `toml:"git" join:"least" help:"tell what isn't committed"`
	Desktop     bool   `toml:"desktop" join:"least" help:"start a screen for chats that have the scope desktop, which drive what is shown there"`
	TCP         bool   `toml:"tcp" join:"least" help:"serve these where the agent listens on TCP, too"`
	Hub         bool   `toml:"hub" join:"least" help:"true: chats at the hub that is pushed to have tools called here, each as far as the capability goes that it shows (agent token create --for-hub) and no further. The hub itself can start nothing."`
	HideSecrets bool   `toml:"hide_secrets" join:"most" help:"Processes whose token has no grant for secrets can't read what is on the secret list, where the kernel has Landlock. Without it the list holds for files alone. What hides them keeps processes from making anything new directly in the home directory, too."`
	FilesWithin string `toml:"files_within" join:"least" words:"workspace anywhere" help:"where files can be read and written"`
	Spool       Bytes  `toml:"spool" join:"least" least:"64KiB" most:"16GiB" help:"output kept of one process"`
	SpoolTotal  Bytes  `toml:"spool_total" join:"least" least:"1MiB" most:"1024GiB" holds:"spool" why:"all processes together need room for at least one" help:"and of all of them"`
	Audit       Bytes  `toml:"audit" join:"most" least:"64KiB" most:"1GiB" help:"how large the audit log becomes"`
}

// Desktop says what the screen for chats consists of.
type Desktop struct {
	Server        string        `toml:"server" check:"file" help:"An X server that takes the options of TigerVNC's. Empty: Xvnc in PATH."`
	WindowManager string        `toml:"window_manager" check:"file" help:"A window manager that takes --startup. Empty: openbox in PATH."`
	Recorder      string        `toml:"recorder" check:"file" help:"What records. Empty: ffmpeg in PATH."`
	Width         int           `toml:"width" least:"320" most:"7680" help:"pixels; models see at most 1280 of them, scaled down"`
	Height        int           `toml:"height" least:"200" most:"4320" help:"pixels"`
	Idle          time.Duration `toml:"idle" least:"1m" most:"168h" help:"end it when nobody acts, watches or records for so long"`
}

// Where files can be read and written.
const (
	FilesAnywhere  = "anywhere"
	FilesWorkspace = "workspace"
)

// Plugin is one [[plugin]] entry. Config holds one canonical JSON object per resolver.
type Plugin struct {
	Name         string                     `toml:"name" check:"name" example:"'acme-rules'" help:"the plugin's own name, as 'agent status' shows it"`
	SHA256       string                     `toml:"sha256" join:"machine" check:"sha256" help:"pins the file, as 'sha256sum' prints it: another one waits for an approval"`
	Reads        []string                   `toml:"reads" join:"choice" check:"narrow" help:"patterns: it sees only what matches one of them too; [] doesn't narrow"`
	GrantSecrets []string                   `toml:"grant_secrets" join:"intersection" check:"name" help:"entries of the secret list that it may see, by name"`
	Rank         int                        `toml:"rank" least:"1" most:"10000" help:"lower wins where two plugins find the same, in order of the entries where they are equal; built-in resolvers come first"`
	Config       map[string]json.RawMessage `toml:"config" example:"cursor-rules max_files = 10" help:"Goes to the resolver of that name."`
	Limits       Limits                     `toml:"limits" example:"time = '5s'" help:"The keys of [limits]; those that are missing are taken from there."`
}

// Default returns what holds when there is no configuration file. A number that a
// component has by itself, too, stands in package defaults.
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
		Desktop: Desktop{Width: defaults.DesktopWidth, Height: defaults.DesktopHeight, Idle: defaults.DesktopIdle},
		MCP: MCP{
			Enabled: true, Trust: TrustAsk, Confine: ConfineServer, NewTools: NewToolsTake,
			ConnectTimeout: defaults.MCPConnectTimeout, CallTimeout: defaults.MCPCallTimeout, Idle: defaults.MCPIdle,
			ServerTools: defaults.MCPServerTools, Tools: defaults.MCPTools, ServerBytes: defaults.MCPServerBytes, Bytes: defaults.MCPBytes,
			ResultBytes: defaults.MCPResultBytes, ResultSpool: defaults.MCPResultSpool, Disk: defaults.MCPDisk,
		},
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
	return defaults.Or(c.Entry(name).Limits, c.Limits)
}
