package convert

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"

	"waymark/abi"
	"waymark/snapshot"
	"waymark/wire/waymark"
)

// HeadToWaymark translates what a snapshot has besides its resources and its version.
func HeadToWaymark(s *snapshot.Snapshot) *waymark.Head {
	head := &waymark.Head{
		AggregateHash: s.AggregateHash,
		SnapshotError: s.SnapshotError,
		Plugins:       make([]*waymark.Plugin, 0, len(s.Plugins)),
		Discovery:     discoveryToWaymark(s.Discovery),
	}
	for i := range s.Plugins {
		head.Plugins = append(head.Plugins, pluginToWaymark(&s.Plugins[i]))
	}
	return head
}

// HeadFromWaymark is the inverse of HeadToWaymark.
func HeadFromWaymark(head *waymark.Head) *snapshot.Snapshot {
	s := &snapshot.Snapshot{
		AggregateHash: orNil(head.GetAggregateHash()),
		SnapshotError: head.GetSnapshotError(),
		Plugins:       make([]snapshot.Plugin, 0, len(head.GetPlugins())),
		Discovery:     discoveryFromWaymark(head.GetDiscovery()),
	}
	for _, m := range head.GetPlugins() {
		s.Plugins = append(s.Plugins, pluginFromWaymark(m))
	}
	return s
}

// FromWaymark translates the snapshot of a push, without payloads. It also returns the names
// of the payloads, by the index of the resource.
func FromWaymark(request *waymark.PushRequest) (*snapshot.Snapshot, map[int]Body, error) {
	s := HeadFromWaymark(request.GetHead())
	s.Version = request.GetVersion()
	s.Resources = make([]snapshot.Resource, 0, len(request.GetResources()))
	bodies := make(map[int]Body)
	for i, m := range request.GetResources() {
		r, err := resourceFromWaymark(m)
		if err != nil {
			return nil, nil, inRow(i, err)
		}
		if m.GetBody() != nil {
			if bodies[i], err = bodyFromWaymark(m); err != nil {
				return nil, nil, inRow(i, err)
			}
		}
		s.Resources = append(s.Resources, r)
	}
	return s, bodies, nil
}

// Body names a payload.
type Body struct {
	SHA256 [sha256.Size]byte
	Size   int64 // in bytes
}

// BodyOf returns the name of a resource's payload; nil if it has none.
func BodyOf(r *snapshot.Resource) *Body {
	if r.Payload == nil {
		return nil
	}
	return &Body{SHA256: sha256.Sum256(r.Payload), Size: int64(len(r.Payload))}
}

// ResourceToWaymark translates a resource with the name of its payload. A name that equals
// the content hash isn't repeated.
func ResourceToWaymark(r *snapshot.Resource, body *Body) *waymark.Resource {
	m := &waymark.Resource{
		Kind: string(r.Kind), Source: r.Source, Key: r.Key, SourcePath: r.SourcePath,
		Name: r.Name, Description: r.Description,
		Status: statusToWaymark(r.Status), Error: r.Error, Stale: r.Stale,
		ContentHash: r.ContentHash, SizeBytes: unsigned(r.SizeBytes), Resolver: r.Resolver,
		Attributes: attributesToWaymark(r.Attributes),
		Convention: r.Convention, Readers: r.Readers, Scope: string(r.Scope), Findings: findingsToWaymark(r.Findings),
	}
	if body != nil {
		m.Body = &waymark.Body{SizeBytes: unsigned(body.Size)}
		if !bytes.Equal(r.ContentHash, body.SHA256[:]) {
			m.Body.Sha256 = body.SHA256[:]
		}
	}
	return m
}

func bodyFromWaymark(m *waymark.Resource) (body Body, err error) {
	hash := m.GetBody().GetSha256()
	if len(hash) == 0 {
		hash = m.GetContentHash()
	}
	if len(hash) != len(body.SHA256) {
		return Body{}, fmt.Errorf("the hash of the body has %d bytes, SHA-256 has %d", len(hash), len(body.SHA256))
	}
	copy(body.SHA256[:], hash)
	body.Size, err = size(m.GetBody().GetSizeBytes())
	return body, err
}

func resourceFromWaymark(m *waymark.Resource) (snapshot.Resource, error) {
	if m == nil {
		return snapshot.Resource{}, errMissing
	}
	status, err := statusFromWaymark(m.Status)
	if err != nil {
		return snapshot.Resource{}, err
	}
	length, err := size(m.SizeBytes)
	if err != nil {
		return snapshot.Resource{}, err
	}
	attributes, err := attributesFromWaymark(m.Attributes)
	if err != nil {
		return snapshot.Resource{}, err
	}
	return snapshot.Resource{
		Kind: abi.Kind(m.Kind), Source: m.Source, Key: m.Key, SourcePath: m.SourcePath,
		Name: m.Name, Description: m.Description,
		Status: status, Error: m.Error, Stale: m.Stale,
		ContentHash: orNil(m.ContentHash), SizeBytes: length, Resolver: m.Resolver,
		Attributes: attributes,
		Convention: m.Convention, Readers: m.Readers, Scope: snapshot.Scope(m.Scope), Findings: findingsFromWaymark(m.Findings),
	}, nil
}

func findingsToWaymark(findings []snapshot.Finding) []*waymark.Finding {
	if len(findings) == 0 {
		return nil
	}
	list := make([]*waymark.Finding, len(findings))
	for i, f := range findings {
		list[i] = &waymark.Finding{Code: f.Code, Severity: string(f.Severity), Message: f.Message}
	}
	return list
}

func findingsFromWaymark(list []*waymark.Finding) []snapshot.Finding {
	if len(list) == 0 {
		return nil
	}
	findings := make([]snapshot.Finding, len(list))
	for i, m := range list {
		findings[i] = snapshot.Finding{Code: m.GetCode(), Severity: abi.Severity(m.GetSeverity()), Message: m.GetMessage()}
	}
	return findings
}

// statusToWaymark returns STATUS_UNSPECIFIED for an unknown status.
func statusToWaymark(s snapshot.Status) waymark.Status {
	switch s {
	case snapshot.StatusOK:
		return waymark.Status_STATUS_OK
	case snapshot.StatusOversize:
		return waymark.Status_STATUS_OVERSIZE
	case snapshot.StatusUnreadable:
		return waymark.Status_STATUS_UNREADABLE
	case snapshot.StatusInvalid:
		return waymark.Status_STATUS_INVALID
	case snapshot.StatusExcluded:
		return waymark.Status_STATUS_EXCLUDED
	default:
		return waymark.Status_STATUS_UNSPECIFIED
	}
}

func statusFromWaymark(s waymark.Status) (snapshot.Status, error) {
	switch s {
	case waymark.Status_STATUS_OK:
		return snapshot.StatusOK, nil
	case waymark.Status_STATUS_OVERSIZE:
		return snapshot.StatusOversize, nil
	case waymark.Status_STATUS_UNREADABLE:
		return snapshot.StatusUnreadable, nil
	case waymark.Status_STATUS_INVALID:
		return snapshot.StatusInvalid, nil
	case waymark.Status_STATUS_EXCLUDED:
		return snapshot.StatusExcluded, nil
	default:
		return "", fmt.Errorf("status %d is unset or unknown", s)
	}
}

func attributesToWaymark(attributes snapshot.Attributes) map[string]*waymark.Attribute {
	if len(attributes) == 0 {
		return nil
	}
	m := make(map[string]*waymark.Attribute, len(attributes))
	for key, a := range attributes {
		if a.List != nil {
			m[key] = &waymark.Attribute{Value: &waymark.Attribute_List{List: &waymark.TextList{Items: a.List}}}
			continue
		}
		m[key] = &waymark.Attribute{Value: &waymark.Attribute_Text{Text: a.Text}}
	}
	return m
}

func attributesFromWaymark(m map[string]*waymark.Attribute) (snapshot.Attributes, error) {
	if len(m) == 0 {
		return nil, nil
	}
	attributes := make(snapshot.Attributes, len(m))
	for key, a := range m {
		switch v := a.GetValue().(type) {
		case *waymark.Attribute_Text:
			attributes[key] = snapshot.Attribute{Text: v.Text}
		case *waymark.Attribute_List:
			// Not nil: that is what makes it a list.
			attributes[key] = snapshot.Attribute{List: append([]string{}, v.List.GetItems()...)}
		default:
			return nil, errors.New("an attribute has no value")
		}
	}
	return attributes, nil
}

func discoveryToWaymark(d snapshot.Discovery) *waymark.Discovery {
	m := &waymark.Discovery{Phase: string(d.Phase)}
	for _, s := range d.Sources {
		m.Sources = append(m.Sources, &waymark.SourceOutcome{Id: s.ID, Name: s.Name, Outcome: string(s.Outcome), Error: s.Error})
	}
	return m
}

// discoveryFromWaymark treats nil, from an agent without discovery, as complete.
func discoveryFromWaymark(m *waymark.Discovery) snapshot.Discovery {
	d := snapshot.Discovery{Phase: snapshot.PhaseComplete, Sources: make(snapshot.SourceOutcomes, 0, len(m.GetSources()))}
	if snapshot.Phase(m.GetPhase()) == snapshot.PhasePending {
		d.Phase = snapshot.PhasePending
	}
	for _, s := range m.GetSources() {
		d.Sources = append(d.Sources, snapshot.SourceOutcome{
			ID: s.GetId(), Name: s.GetName(), Outcome: snapshot.Outcome(s.GetOutcome()), Error: s.GetError(),
		})
	}
	return d
}

func pluginToWaymark(p *snapshot.Plugin) *waymark.Plugin {
	return &waymark.Plugin{
		Name: p.Name, Version: p.Version, Digest: p.Digest, Path: p.Path,
		State: string(p.State), Error: p.Error, Resolvers: p.Resolvers,
	}
}

func pluginFromWaymark(m *waymark.Plugin) snapshot.Plugin {
	return snapshot.Plugin{
		Name: m.GetName(), Version: m.GetVersion(), Digest: m.GetDigest(), Path: m.GetPath(),
		State: snapshot.PluginState(m.GetState()), Error: m.GetError(),
		Resolvers: append([]string{}, m.GetResolvers()...),
	}
}
