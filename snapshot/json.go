package snapshot

import (
	"encoding/json"
	"fmt"
	"strings"

	"waymark/abi"
)

// ResourceJSON is one find of an agent, without its payload.
type ResourceJSON struct { // MarshalJSON writes it, and descriptions are made of it
	// ID is `kind:source`, with `#key` if one source holds several.
	ID string `json:"id"`
	// Kind is the kind of the resource.
	Kind abi.Kind `json:"kind"`
	// Source is the link-free absolute path of the resource's subject; for a skill, its
	// directory.
	Source string `json:"source"`
	// SourcePath is the user's source that led here; empty for other resources.
	SourcePath string `json:"source_path"`
	// Name is the resource's name; empty if it has none.
	Name string `json:"name"`
	// Description is what the resource says it is for.
	Description string `json:"description"`
	// Status is the agent's verdict on it. Only `ok` resources have a payload.
	Status Status `json:"status"`
	// Error says for a person why the status isn't `ok`; empty if it is.
	Error string `json:"error"`
	// Stale says that the resolver failed, and that this is its last good find.
	Stale bool `json:"stale"`
	// ContentHash is the SHA-256 of the whole file up to 16 MiB, and of `large:size:mtime-ns`
	// for larger files; empty if nothing could be read.
	ContentHash Hash `json:"content_hash"`
	// SizeBytes is the length of the whole content, however much of it was kept.
	SizeBytes int64 `json:"size_bytes" minimum:"0"`
	// Resolver is `module/resolver@version`; empty for agents other than Waymark's.
	Resolver string `json:"resolver"`
	// Attributes are what the resolver adds.
	Attributes Attributes `json:"attributes"`
	// Convention is the id of the convention by which it was found; empty if there is none.
	// Neither this nor Readers, Scope and Findings is part of the aggregate hash.
	Convention string `json:"convention"`
	// Readers are the ids of the agents that read it.
	Readers Names `json:"readers"`
	// Scope says whose it is; empty if unknown.
	Scope Scope `json:"scope"`
	// Findings are remarks on a resource that is nevertheless listed.
	Findings Findings `json:"findings"`
}

// MarshalJSON returns the form that the APIs document: id first, every field always present,
// content_hash in hexadecimal or "", attributes {} when there are none. The key is part of
// the id; the payload is left out.
func (r Resource) MarshalJSON() ([]byte, error) {
	j := ResourceJSON{
		ID: r.ID(), Kind: r.Kind, Source: r.Source, SourcePath: r.SourcePath,
		Name: r.Name, Description: r.Description,
		Status: r.Status, Error: r.Error, Stale: r.Stale,
		ContentHash: r.ContentHash, SizeBytes: r.SizeBytes,
		Resolver: r.Resolver, Attributes: r.Attributes,
		Convention: r.Convention, Readers: r.Readers, Scope: r.Scope, Findings: r.Findings,
	}
	if j.Attributes == nil {
		j.Attributes = Attributes{}
	}
	return json.Marshal(j)
}

// UnmarshalJSON reads the output of MarshalJSON. Unknown fields are ignored.
//
// # Errors
//
// An id that doesn't match the kind and the source as ID combines them.
func (r *Resource) UnmarshalJSON(data []byte) error {
	var j ResourceJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return err
	}
	key, err := keyOf(&j)
	if err != nil {
		return err
	}
	if len(j.Attributes) == 0 {
		j.Attributes = nil
	}
	*r = Resource{
		Kind: j.Kind, Source: j.Source, Key: key, SourcePath: j.SourcePath,
		Name: j.Name, Description: j.Description,
		Status: j.Status, Error: j.Error, Stale: j.Stale,
		ContentHash: j.ContentHash, SizeBytes: j.SizeBytes,
		Resolver: j.Resolver, Attributes: j.Attributes,
		Convention: j.Convention, Scope: j.Scope,
	}
	if len(j.Readers) > 0 {
		r.Readers = j.Readers
	}
	if len(j.Findings) > 0 {
		r.Findings = j.Findings
	}
	return nil
}

// keyOf takes the key from the id, the only place where the JSON form has it.
func keyOf(j *ResourceJSON) (string, error) {
	rest, ok := strings.CutPrefix(j.ID, string(j.Kind)+":"+j.Source)
	if !ok {
		return "", fmt.Errorf("resource id %.200q doesn't belong to kind %.40q and source %.200q", j.ID, j.Kind, j.Source)
	}
	if rest == "" {
		return "", nil
	}
	if key, ok := strings.CutPrefix(rest, "#"); ok && key != "" {
		return key, nil
	}
	return "", fmt.Errorf("resource id %.200q has %.80q after its source, which is no #key", j.ID, rest)
}

// MarshalJSON writes nil as [], not as null.
//
// The list types have this method instead of Snapshot, so that a struct that embeds a
// Snapshot keeps its own fields in JSON.
func (rs Resources) MarshalJSON() ([]byte, error) { return marshalList(rs) }

// MarshalJSON writes nil as [], not as null.
func (ps Plugins) MarshalJSON() ([]byte, error) { return marshalList(ps) }

// MarshalJSON writes nil as [], not as null.
func (so SourceOutcomes) MarshalJSON() ([]byte, error) { return marshalList(so) }

// MarshalJSON writes nil as {}, not as null.
func (c OutcomeCounts) MarshalJSON() ([]byte, error) {
	if c == nil {
		return []byte("{}"), nil
	}
	return json.Marshal(map[Outcome]int(c))
}

// Findings is a list of findings, [] in JSON when it is nil.
type Findings []Finding

// MarshalJSON writes nil as [], not as null.
func (fs Findings) MarshalJSON() ([]byte, error) { return marshalList(fs) }

// MarshalJSON writes nil as [], not as null.
func (ns Names) MarshalJSON() ([]byte, error) { return marshalList(ns) }

func marshalList[E any, L ~[]E](list L) ([]byte, error) {
	if list == nil {
		return []byte("[]"), nil
	}
	return json.Marshal([]E(list))
}
