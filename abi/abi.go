// Package abi holds the Go types of the Waymark resolver ABI, version 1: what a host and a
// resolver module send each other as JSON. ABI.md next to this file is normative; the JSON
// Schemas and the vectors under testdata are its machine-readable form.
//
// The package imports next to nothing, so that a guest that uses it stays small. It has only
// the behavior that the types need to be correct with any JSON library. The guest's encoder
// and decoder live in sdk-guest, the host's in host/sandbox; the same vectors test both.
//
// The types are plain data without locks: share them as you would share a struct.
package abi

// Version is the ABI version that these types describe. A module declares its version in its
// Description; a host refuses one that it doesn't know.
const Version = 1

// Names of the two functions that a resolver module exports.
const (
	// ExportDescribe takes no input and outputs a Description.
	ExportDescribe = "describe"
	// ExportResolve takes a Request and outputs a Response.
	ExportResolve = "resolve"
)

// Kind says what a resource is.
type Kind string

// The kinds of version 1. A resolver emits only kinds that it declared.
const (
	KindInstructionFile Kind = "instruction_file"
	KindSkill           Kind = "skill"
	KindMCPConfig       Kind = "mcp_config"
	// KindMCPServer comes only from the host: a module that declares it is rejected.
	KindMCPServer Kind = "mcp_server"

	// The reserved kinds: accepted from resolvers and shown in the local API and in the hub,
	// but never sent to a peer whose wire reserves them.
	KindPlugin   Kind = "plugin"
	KindHook     Kind = "hook"
	KindSubagent Kind = "subagent"
	KindCommand  Kind = "command"
)

// The statuses a resolver may give a resource. An empty status means StatusOK. The host's own
// findings (unreadable, oversize, an escape) override both.
const (
	StatusOK      = "ok"
	StatusInvalid = "invalid"
)

// Role says what the host expects in a root. Resolvers that don't care ignore it.
type Role string

// The roles of version 1. In a root with a role, the directory (or the one file) itself is
// what to read, whatever its name.
const (
	RoleNone         Role = ""
	RoleInstructions Role = "instructions"
	RoleSkills       Role = "skills"
	RoleMCP          Role = "mcp"
)

// Sizes that version 1 fixes, in bytes of UTF-8. A host drops a row that exceeds one of them
// and reports that in a warning. MaxName bounds keys, too.
const (
	MaxName        = 256
	MaxDescription = 4 << 10
	MaxError       = 4 << 10
	// MaxAttributes bounds the total length of all keys and values of one resource.
	MaxAttributes = 16 << 10
	// MaxReaders and MaxFindings bound the lists of one resource, MaxWord the ids in them,
	// MaxMessage the message of a finding.
	MaxReaders  = 32
	MaxFindings = 16
	MaxWord     = 64
	MaxMessage  = 512
)

// IsWord reports whether s is lower-case words joined by hyphens, which may contain digits:
// the form of names of modules and resolvers, and of the ids of conventions, readers and
// findings. It has at most MaxWord bytes.
func IsWord(s string) bool {
	before := byte('-')
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && (c != '-' || before == '-') {
			return false
		}
		before = c
	}
	return before != '-' && len(s) <= MaxWord
}

// Description is the answer to describe: who a module is and which resolvers it holds.
type Description struct {
	ABI       int        `json:"abi"`
	Name      string     `json:"name"`
	Version   string     `json:"version"`
	Resolvers []Resolver `json:"resolvers"`
}

// Resolver describes one resolver of a module.
type Resolver struct {
	// Name is unique within the module.
	Name string `json:"name"`
	// Kinds lists what the resolver may emit.
	Kinds []Kind `json:"kinds"`
	// Summary is one line for a person.
	Summary string `json:"summary,omitempty"`
	// Reads holds doublestar patterns, relative to the root. What matches none of them
	// doesn't exist for this resolver, except the directories on the way.
	Reads []string `json:"reads"`
	// ReadsFromConfig names keys of the resolver's config that hold a literal relative path,
	// or a list of them, which count as Reads.
	ReadsFromConfig []string `json:"reads_from_config,omitempty"`
	// Ignores names fields of the request that make no difference to the answer, such as
	// IgnoreRootName. A host may use an answer for several roots that differ only in these.
	Ignores []string `json:"ignores,omitempty"`
}

// IgnoreRootName is the value of Resolver.Ignores for Root.Name, in roots without a role. The
// host then sends an empty name.
const IgnoreRootName = "root.name"

// Request is the input of resolve.
type Request struct {
	ABI int `json:"abi"`
	// Resolver names the resolver that should run.
	Resolver string `json:"resolver"`
	Root     Root   `json:"root"`
	// Config is the operator's table for this resolver, a JSON object. Empty means {}.
	Config RawJSON `json:"config"`
	Limits Limits  `json:"limits"`
}

// Root describes the root that a resolver looks at; it is mounted at "/".
type Root struct {
	// Name is the base name of the root directory.
	Name string `json:"name"`
	// File is set if the root is one file: its base name. Nothing else of the directory is
	// then visible.
	File string `json:"file"`
	Role Role   `json:"role"`
}

// Limits is what the host will keep. A resolver need not do more.
type Limits struct {
	// MaxResourceBytes is the largest content that is kept, in bytes.
	MaxResourceBytes int64 `json:"max_resource_bytes"`
	MaxResources     int   `json:"max_resources"`
}

// Response is the output of resolve.
type Response struct {
	Resources []Resource `json:"resources"`
	// Warnings are lines for a person; they don't change any status.
	Warnings []string `json:"warnings,omitempty"`
}

// Resource is one find.
type Resource struct {
	Kind Kind `json:"kind"`
	// Path is the subject of the resource: a file or a directory, relative to the root,
	// slash-separated, "." for the root itself.
	Path string `json:"path"`
	// Key distinguishes several resources of one Path.
	Key string `json:"key,omitempty"`
	// Content says where the payload is; nil means that there is none.
	Content     *Content `json:"content,omitempty"`
	Name        string   `json:"name,omitempty"`
	Description string   `json:"description,omitempty"`
	// Status is StatusOK (or empty) or StatusInvalid.
	Status string `json:"status,omitempty"`
	// Error says for a person what is invalid.
	Error      string           `json:"error,omitempty"`
	Attributes map[string]Value `json:"attributes,omitempty"`
	// Convention is the id of the convention by which the resource was found. The host knows
	// which agents read files there, and adds that.
	Convention string `json:"convention,omitempty"`
	// Readers are the ids of the agents that read the resource, in any order, if there is no
	// Convention.
	Readers []string `json:"readers,omitempty"`
	// Findings are remarks on the resource, which is nevertheless listed.
	Findings []Finding `json:"findings,omitempty"`
}

// Finding is a remark on a resource that is nevertheless listed.
type Finding struct {
	// Code is a word for machines: lower-case words joined by hyphens.
	Code string `json:"code"`
	// Severity says how much it matters.
	Severity Severity `json:"severity"`
	// Message says it for a person, on one line, without a period.
	Message string `json:"message"`
}

// Severity says how much a finding matters.
type Severity string

// The severities.
const (
	// SeverityInfo: nothing is wrong.
	SeverityInfo Severity = "info"
	// SeverityWarning: agents load it, but some of them not as intended.
	SeverityWarning Severity = "warning"
	// SeverityError: some agents don't load it.
	SeverityError Severity = "error"
)

// Content is a payload, by reference or by value. Exactly one of File and Inline is set.
type Content struct {
	// File is a path relative to the root: the host opens, checks, caps, reads and hashes it.
	File string `json:"file,omitempty"`
	// Inline is the payload itself; nil if File is set.
	Inline *string `json:"inline,omitempty"`
	// Withheld makes the host hash the file and keep nothing of its text, because that isn't
	// for a chat to see. Only with File.
	Withheld bool `json:"withheld,omitempty"`
}

// RawJSON is one JSON value as text. It replaces encoding/json's RawMessage, which a small
// guest shouldn't have to link.
type RawJSON []byte

// MarshalJSON returns the value unchanged; an empty one is {}.
func (r RawJSON) MarshalJSON() ([]byte, error) {
	if len(r) == 0 {
		return []byte("{}"), nil
	}
	return r, nil
}

// UnmarshalJSON keeps a copy of data.
func (r *RawJSON) UnmarshalJSON(data []byte) error {
	*r = append((*r)[:0:0], data...)
	return nil
}

// Value is the value of an attribute: a string, or a list of strings if List is not nil. Its
// JSON form is the same.
type Value struct {
	Text string
	List []string
}

// String makes a Value that is one string.
func String(s string) Value { return Value{Text: s} }

// Strings makes a Value that is a list, even without elements.
func Strings(list ...string) Value {
	if list == nil {
		list = []string{}
	}
	return Value{List: list}
}

// IsList reports whether the value is a list.
func (v Value) IsList() bool { return v.List != nil }

// Size returns the number of bytes that the value counts toward MaxAttributes.
func (v Value) Size() int {
	n := len(v.Text)
	for _, s := range v.List {
		n += len(s)
	}
	return n
}
