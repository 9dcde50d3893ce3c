package convert

import (
	"errors"
	"fmt"

	"waymark/abi"
	"waymark/snapshot"
	"waymark/wire/waymark"
)

// ToWaymark makes a push of s. Initial is left false: only the connection
// knows.
func ToWaymark(s *snapshot.Snapshot) *waymark.PushRequest {
	request := &waymark.PushRequest{
		Version:       s.Version,
		AggregateHash: s.AggregateHash,
		SnapshotError: s.SnapshotError,
		Resources:     make([]*waymark.Resource, 0, len(s.Resources)),
		Plugins:       make([]*waymark.Plugin, 0, len(s.Plugins)),
	}
	for i := range s.Resources {
		request.Resources = append(request.Resources, ResourceToWaymark(&s.Resources[i]))
	}
	for i := range s.Plugins {
		request.Plugins = append(request.Plugins, pluginToWaymark(&s.Plugins[i]))
	}
	return request
}

// FromWaymark is the inverse of ToWaymark. It fails when a status is unset or
// unknown, a size is out of range or an attribute has no value.
func FromWaymark(request *waymark.PushRequest) (*snapshot.Snapshot, error) {
	s := &snapshot.Snapshot{
		Version:       request.GetVersion(),
		AggregateHash: orNil(request.GetAggregateHash()),
		SnapshotError: request.GetSnapshotError(),
		Resources:     make([]snapshot.Resource, 0, len(request.GetResources())),
		Plugins:       make([]snapshot.Plugin, 0, len(request.GetPlugins())),
	}
	for i, m := range request.GetResources() {
		r, err := resourceFromWaymark(m)
		if err != nil {
			return nil, inRow(i, err)
		}
		s.Resources = append(s.Resources, r)
	}
	for _, m := range request.GetPlugins() {
		s.Plugins = append(s.Plugins, pluginFromWaymark(m))
	}
	countPayload(s)
	return s, nil
}

// ResourceToWaymark translates one resource.
func ResourceToWaymark(r *snapshot.Resource) *waymark.Resource {
	return &waymark.Resource{
		Kind: string(r.Kind), Source: r.Source, Key: r.Key, SourcePath: r.SourcePath,
		Name: r.Name, Description: r.Description,
		Status: statusToWaymark(r.Status), Error: r.Error, Stale: r.Stale,
		ContentHash: r.ContentHash, SizeBytes: unsigned(r.SizeBytes), Resolver: r.Resolver,
		Attributes: attributesToWaymark(r.Attributes),
		Payload:    r.Payload,
	}
}

func resourceFromWaymark(m *waymark.Resource) (snapshot.Resource, error) {
	if m == nil {
		return snapshot.Resource{}, errMissing
	}
	status, err := statusFromWaymark(m.Status)
	if err != nil {
		return snapshot.Resource{}, err
	}
	bytes, err := size(m.SizeBytes)
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
		ContentHash: orNil(m.ContentHash), SizeBytes: bytes, Resolver: m.Resolver,
		Attributes: attributes,
		Payload:    m.Payload,
	}, nil
}

// statusToWaymark returns STATUS_UNSPECIFIED for what isn't a status.
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
