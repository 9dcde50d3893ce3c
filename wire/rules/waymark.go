package hub

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"waymark/abi"
	"waymark/snapshot"
	"waymark/wire"
	"waymark/wire/convert"
	"waymark/wire/waymark"
)

// What waymark.v1 carries beyond Coder's protocol, in bytes where nothing
// else is said. The rest is bounded by the constants of packages wire and abi.
const (
	// maxKey bounds Resource.key, which is part of the row's identity.
	maxKey = 1024
	// maxResolver bounds "module/resolver@version".
	maxResolver = 1024
	// maxPlugins is far above what a person installs.
	maxPlugins = 1000
	// maxPluginText bounds each text of a plugin but its error; one of them
	// is a path.
	maxPluginText = 4096
	// maxPluginResolvers bounds the resolvers of one module.
	maxPluginResolvers = 1000
)

// fromWaymark translates a push, mends its text and applies the rules that
// need nothing but the push itself. removed are the ids that a delta removes.
func fromWaymark(request *waymark.PushRequest) (_ *snapshot.Snapshot, removed []string, err error) {
	if request.GetVersion() > math.MaxInt64 {
		return nil, nil, errors.New("version is out of range")
	}
	if n := len(request.GetResources()); n > wire.MaxResources {
		return nil, nil, fmt.Errorf("%d resources, at most %d are allowed", n, wire.MaxResources)
	}
	s, err := convert.FromWaymark(request)
	if err != nil {
		return nil, nil, err
	}
	mendSnapshot(s)
	if err := checkWaymark(s); err != nil {
		return nil, nil, err
	}
	removed, err = checkRemoved(request, s)
	return s, removed, err
}

// mendSnapshot takes U+0000 out of all text.
func mendSnapshot(s *snapshot.Snapshot) {
	mend(&s.SnapshotError)
	for i := range s.Resources {
		r := &s.Resources[i]
		for _, text := range []*string{
			(*string)(&r.Kind), &r.Source, &r.Key, &r.SourcePath, &r.Name, &r.Description, &r.Error, &r.Resolver,
		} {
			mend(text)
		}
		r.Attributes = mendAttributes(r.Attributes)
	}
	for i := range s.Plugins {
		p := &s.Plugins[i]
		for _, text := range []*string{&p.Name, &p.Version, &p.Digest, &p.Path, (*string)(&p.State), &p.Error} {
			mend(text)
		}
		for j := range p.Resolvers {
			mend(&p.Resolvers[j])
		}
	}
}

// mendAttributes mends keys and values. Of two keys that become one the first
// in order stays, so that the result doesn't depend on the map's order.
func mendAttributes(attributes snapshot.Attributes) snapshot.Attributes {
	if attributes == nil {
		return nil
	}
	out := make(snapshot.Attributes, len(attributes))
	for _, key := range slices.Sorted(maps.Keys(attributes)) {
		a := attributes[key]
		mend(&a.Text)
		for i := range a.List {
			mend(&a.List[i])
		}
		mend(&key)
		if _, taken := out[key]; !taken {
			out[key] = a
		}
	}
	return out
}

func checkWaymark(s *snapshot.Snapshot) error {
	if err := tooLong("aggregate_hash", len(s.AggregateHash), wire.MaxHash); err != nil {
		return err
	}
	if err := tooLong("snapshot_error", len(s.SnapshotError), wire.MaxError); err != nil {
		return err
	}
	ids := make(map[string]struct{}, len(s.Resources))
	bodies := 0
	for i := range s.Resources {
		if err := checkResource(&s.Resources[i], ids, &bodies); err != nil {
			return fmt.Errorf("resource %d: %w", i, err)
		}
	}
	return checkPlugins(s.Plugins)
}

func checkResource(r *snapshot.Resource, ids map[string]struct{}, bodies *int) error {
	if !known(r.Kind) {
		return errors.New("kind is unknown")
	}
	if r.Source == "" {
		return errors.New("source is empty")
	}
	body := convert.BodyJSON(r)
	for _, field := range []struct {
		name     string
		len, max int
	}{
		{"source", len(r.Source), wire.MaxSource},
		{"key", len(r.Key), maxKey},
		{"source_path", len(r.SourcePath), wire.MaxSource},
		{"name", len(r.Name), abi.MaxName},
		{"description", len(r.Description), abi.MaxDescription},
		{"error", len(r.Error), wire.MaxError},
		{"content_hash", len(r.ContentHash), wire.MaxHash},
		{"resolver", len(r.Resolver), maxResolver},
		{"attributes", attributesSize(r.Attributes), abi.MaxAttributes},
		{"body", body, wire.MaxBodyJSON},
	} {
		if err := tooLong(field.name, field.len, field.max); err != nil {
			return err
		}
	}
	if *bodies += body; *bodies > wire.MaxBodies {
		return fmt.Errorf("bodies are longer than %d bytes together", wire.MaxBodies)
	}
	if _, duplicate := ids[r.ID()]; duplicate {
		return errors.New("id appears twice")
	}
	ids[r.ID()] = struct{}{}
	return checkPayload(r)
}

// checkPayload is the rule that only what may be shown has a payload: MCP
// configurations hold tokens.
func checkPayload(r *snapshot.Resource) error {
	switch {
	case r.Payload == nil:
		return nil
	case r.Kind == abi.KindMCPConfig:
		return errors.New("an mcp_config has no payload")
	case r.Status != snapshot.StatusOK && r.Status != snapshot.StatusInvalid:
		return fmt.Errorf("a resource that is %s has no payload", r.Status)
	}
	return nil
}

func known(kind abi.Kind) bool {
	switch kind {
	case abi.KindInstructionFile, abi.KindSkill, abi.KindMCPConfig, abi.KindMCPServer,
		abi.KindPlugin, abi.KindHook, abi.KindSubagent, abi.KindCommand:
		return true
	}
	return false
}

func attributesSize(attributes snapshot.Attributes) int {
	n := 0
	for key, a := range attributes {
		n += len(key) + abi.Value(a).Size()
	}
	return n
}

func checkPlugins(plugins []snapshot.Plugin) error {
	if n := len(plugins); n > maxPlugins {
		return fmt.Errorf("%d plugins, at most %d are allowed", n, maxPlugins)
	}
	for i := range plugins {
		p := &plugins[i]
		if n := len(p.Resolvers); n > maxPluginResolvers {
			return fmt.Errorf("plugin %d: %d resolvers, at most %d are allowed", i, n, maxPluginResolvers)
		}
		for _, text := range append([]string{p.Name, p.Version, p.Digest, p.Path, string(p.State), p.Error}, p.Resolvers...) {
			if err := tooLong("a text", len(text), maxPluginText); err != nil {
				return fmt.Errorf("plugin %d: %w", i, err)
			}
		}
	}
	return nil
}
