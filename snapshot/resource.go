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

// Resource is one find, as it is shown, pinned and pushed. It is immutable once it is part of
// a Snapshot. Its JSON form is documented at MarshalJSON.
type Resource struct {
	Kind abi.Kind
	// Source is the link-resolved absolute path of the resource's subject; for a skill, its
	// directory.
	Source string
	// Key distinguishes several resources of one source; usually empty.
	Key string
	// SourcePath is the user's source that led here; empty for other resources.
	SourcePath  string
	Name        string
	Description string
	Status      Status
	// Error says for a person why the status isn't ok.
	Error string
	// Stale says that the resolver failed and this is its last good row.
	Stale bool
	// ContentHash is the SHA-256 of the whole file up to 16 MiB, and of "large:size:mtime-ns"
	// for larger files. It is nil if nothing could be read.
	ContentHash Hash
	// SizeBytes is the size of the whole content, however much of it was kept.
	SizeBytes int64
	// Resolver is "module/resolver@version".
	Resolver   string
	Attributes Attributes
	// Convention is the id of the convention by which it was found, empty if there is none.
	// Like the next three it is no part of what a chat pins, because a new release of the
	// table must not make every pin drift.
	Convention string
	// Readers are the ids of the agents that read it, in byte order.
	Readers []string
	// Scope says whose it is.
	Scope Scope
	// Findings are remarks on it, most severe first.
	Findings []Finding
	// Order is the resource's rank in its snapshot by precedence; 0 comes first. It decides
	// what a Projection keeps. It is part neither of the JSON form nor of Equal: another find
	// before it is no news about it.
	Order int
	// Payload is what is pushed; nil if the status isn't ok, if the kind (mcp_config) never
	// has one, or if the find has no content. An empty file has a non-nil empty payload. It
	// isn't part of the JSON form.
	Payload []byte
}

// Scope says whose a resource is.
type Scope string

// The scopes.
const (
	ScopeProject Scope = "project"
	ScopeUser    Scope = "user"
)

// Finding is a remark on a resource that is nevertheless listed.
type Finding abi.Finding

// Texts returns the fields that are texts, all but those of facts. What is the same for every
// text, such as a check, a hash or a sum, goes over them.
func (r *Resource) Texts() [9]*string {
	return [...]*string{
		(*string)(&r.Kind), &r.Source, &r.Key, &r.SourcePath, &r.Name, &r.Description,
		(*string)(&r.Status), &r.Error, &r.Resolver,
	}
}

// HasFacts reports whether the resource has information that no chat pins: a convention,
// readers, a scope or findings.
func (r *Resource) HasFacts() bool {
	return r.Convention != "" || r.Scope != "" || len(r.Readers) > 0 || len(r.Findings) > 0
}

// ClearFacts removes what HasFacts is about.
func (r *Resource) ClearFacts() { r.Convention, r.Scope, r.Readers, r.Findings = "", "", nil, nil }

// ID returns the resource's identity: kind:source, and #key if there is one.
//
// A source that itself contains a "#" can give the same ID as another source with a key. Such
// resources count as one, and precedence decides.
func (r *Resource) ID() string {
	id := string(r.Kind) + ":" + r.Source
	if r.Key != "" {
		id += "#" + r.Key
	}
	return id
}

// Equal reports whether a peer that holds r would learn nothing from other: all fields but
// Order are the same, payloads included.
func (r *Resource) Equal(other *Resource) bool {
	texts, others := r.Texts(), other.Texts()
	for i := range texts {
		if *texts[i] != *others[i] {
			return false
		}
	}
	return r.Stale == other.Stale &&
		bytes.Equal(r.ContentHash, other.ContentHash) &&
		r.SizeBytes == other.SizeBytes &&
		maps.EqualFunc(r.Attributes, other.Attributes, Attribute.Equal) &&
		r.Convention == other.Convention && r.Scope == other.Scope &&
		slices.Equal(r.Readers, other.Readers) &&
		slices.Equal(r.Findings, other.Findings) &&
		(r.Payload == nil) == (other.Payload == nil) &&
		bytes.Equal(r.Payload, other.Payload)
}

// Hash is a content hash or an aggregate hash: SHA-256, in JSON as lower-case hexadecimal.
// Nil means that there is none.
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

// Attributes are the attributes that a resolver gave a resource.
type Attributes map[string]Attribute

// Attribute is the value of one attribute: a string, or a list of strings if List isn't nil.
// Its JSON form is the same.
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
