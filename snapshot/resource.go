package snapshot

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"waymark/abi"
)

// Status is the host's verdict on a resource.
type Status string

// The statuses. Only StatusOK resources have a payload.
const (
	StatusOK         Status = "ok"
	StatusOversize   Status = "oversize"
	StatusUnreadable Status = "unreadable"
	StatusInvalid    Status = "invalid"
	StatusExcluded   Status = "excluded"
)

// Resource is one find, as it is shown, pinned and pushed. It is immutable
// once it is part of a Snapshot. Its JSON form is documented at MarshalJSON.
type Resource struct {
	Kind abi.Kind
	// Source is the link-resolved absolute path of what the resource is
	// about; for a skill, its directory.
	Source string
	// Key distinguishes several resources of one source; usually empty.
	Key string
	// SourcePath is the user's source that led here; empty for the others.
	SourcePath  string
	Name        string
	Description string
	Status      Status
	// Error says for a person why the status isn't ok.
	Error string
	// Stale says that the resolver failed and this is its last good row.
	Stale bool
	// ContentHash is SHA-256 over the whole file up to 16 MiB; beyond that
	// over "large:size:mtime-ns". Nil where nothing could be read.
	ContentHash Hash
	// SizeBytes is the size of the whole content, whatever was kept of it.
	SizeBytes int64
	// Resolver is "module/resolver@version".
	Resolver   string
	Attributes Attributes
	// Convention is the id of the convention by which it was found, empty where
	// there is none. Like the next three it is no part of what a chat pins, since
	// another release of the table must not make every pin drift.
	Convention string
	// Readers are the ids of the agents that read it, in byte order.
	Readers []string
	// Scope says whose it is.
	Scope Scope
	// Findings are what there is to know about it, most severe first.
	Findings []Finding
	// Order is the resource's place in the precedence of all that are in its snapshot,
	// from 0, which comes first. It decides what a Projection keeps, and is part
	// neither of the JSON form nor of Equal: another find before it is no news of it.
	Order int
	// Payload is what is pushed; nil when the status isn't ok, when the kind
	// (mcp_config) never has one, or when the find has no content. An empty
	// file has an empty payload that isn't nil. It isn't part of the JSON form.
	Payload []byte
}

// Scope says whose a resource is.
type Scope string

// The scopes.
const (
	ScopeProject Scope = "project"
	ScopeUser    Scope = "user"
)

// Finding is something to know about a resource that is there all the same.
type Finding abi.Finding

// HasFacts reports whether anything is known of the resource that no chat pins: its
// convention, readers, scope or findings.
func (r *Resource) HasFacts() bool {
	return r.Convention != "" || r.Scope != "" || len(r.Readers) > 0 || len(r.Findings) > 0
}

// ClearFacts removes what HasFacts is about.
func (r *Resource) ClearFacts() { r.Convention, r.Scope, r.Readers, r.Findings = "", "", nil, nil }

// ID returns the resource's identity: kind:source, and #key if there is one.
//
// A source that itself holds a "#" can give the same ID as another source
// with a key. Such resources count as one, and precedence decides.
func (r *Resource) ID() string {
	id := string(r.Kind) + ":" + r.Source
	if r.Key != "" {
		id += "#" + r.Key
	}
	return id
}

// Equal reports whether a peer that holds r would learn nothing from other:
// all fields but Order are the same, payloads included.
func (r *Resource) Equal(other *Resource) bool {
	return r.Kind == other.Kind &&
		r.Source == other.Source &&
		r.Key == other.Key &&
		r.SourcePath == other.SourcePath &&
		r.Name == other.Name &&
		r.Description == other.Description &&
		r.Status == other.Status &&
		r.Error == other.Error &&
		r.Stale == other.Stale &&
		bytes.Equal(r.ContentHash, other.ContentHash) &&
		r.SizeBytes == other.SizeBytes &&
		r.Resolver == other.Resolver &&
		maps.EqualFunc(r.Attributes, other.Attributes, Attribute.Equal) &&
		r.Convention == other.Convention && r.Scope == other.Scope &&
		slices.Equal(r.Readers, other.Readers) &&
		slices.Equal(r.Findings, other.Findings) &&
		(r.Payload == nil) == (other.Payload == nil) &&
		bytes.Equal(r.Payload, other.Payload)
}

// Hash is a content hash or an aggregate hash: SHA-256, in JSON as
// lower-case hexadecimal. Nil means that there is none.
type Hash []byte

// String returns the hash in hexadecimal.
func (h Hash) String() string { return hex.EncodeToString(h) }

// MarshalText implements encoding.TextMarshaler.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (h *Hash) UnmarshalText(text []byte) error {
	b, err := hex.DecodeString(string(text))
	if err != nil {
		return fmt.Errorf("hash %.80q: %w", text, err)
	}
	if len(b) == 0 {
		b = nil
	}
	*h = b
	return nil
}

// Attributes are the attributes a resolver gave a resource.
type Attributes map[string]Attribute

// Attribute is the value of one attribute: a string, or a list of strings
// when List isn't nil. In JSON it is exactly that.
type Attribute abi.Value

// Equal reports whether both are the same string, or the same list.
func (a Attribute) Equal(other Attribute) bool {
	return a.Text == other.Text &&
		(a.List == nil) == (other.List == nil) &&
		slices.Equal(a.List, other.List)
}

// MarshalJSON implements json.Marshaler.
func (a Attribute) MarshalJSON() ([]byte, error) {
	if a.List != nil {
		return json.Marshal(a.List)
	}
	return json.Marshal(a.Text)
}

// UnmarshalJSON implements json.Unmarshaler.
func (a *Attribute) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '[' {
		*a = Attribute{List: []string{}}
		return json.Unmarshal(data, &a.List)
	}
	*a = Attribute{}
	return json.Unmarshal(data, &a.Text)
}
