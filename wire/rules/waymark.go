package rules

import (
	"errors"
	"fmt"
	"slices"

	"waymark/internal/text"
	"waymark/snapshot"
	"waymark/wire"
	"waymark/wire/claim"
	"waymark/wire/convert"
	"waymark/wire/waymark"
)

// maxRunID bounds the id of an agent's run, in bytes.
const maxRunID = 64

// Open applies the rules for how an agent begins.
func Open(request *waymark.OpenRequest) error {
	return checkLen("the id of the run", len(request.GetRunId()), maxRunID)
}

// What an agent says of itself to people, in bytes: a name in the DNS, a path, a version.
const (
	maxHostname = 255
	maxRoot     = 1024
	maxVersion  = 64
)

// Description returns what an agent says of itself, each a line that can be shown.
func Description(request *waymark.OpenRequest) (hostname, root, version string) {
	return text.Line(request.GetHostname(), maxHostname), text.Line(request.GetRoot(), maxRoot), text.Line(request.GetAgentVersion(), maxVersion)
}

// Push is a push of our own protocol that keeps the rules.
type Push struct {
	Snapshot *snapshot.Snapshot
	// Bodies name payloads that aren't in the snapshot, by the index of the resource;
	// nil when all are.
	Bodies map[int]convert.Body
	// Removed are the ids that a delta removes.
	Removed []string
}

// Claim applies the rules for a push that only says what it would bring.
func Claim(request *waymark.PushRequest) (name claim.Name, err error) {
	switch n := len(request.GetClaim()); {
	case n != len(name):
		return name, fmt.Errorf("a claim has %d bytes, SHA-256 has %d", n, len(name))
	case !request.GetInitial():
		return name, errors.New("a claim isn't the first push of a connection")
	case len(request.GetResources())+len(request.GetPlugins())+len(request.GetAggregateHash())+len(request.GetSnapshotError()) > 0,
		request.GetDelta() != nil, request.GetDiscovery() != nil, request.GetMore():
		return name, errors.New("a claim has something beside it")
	}
	copy(name[:], request.GetClaim())
	return name, checkVersion(request.GetVersion())
}

// Waymark translates a push of our own protocol, cleans its texts and applies
// the rules that need nothing but the push itself. What a delta comes to isn't
// known here, nor what is in payloads that have only been named: Body is for those.
func Waymark(request *waymark.PushRequest) (*Push, error) {
	if err := checkVersion(request.GetVersion()); err != nil {
		return nil, err
	}
	if err := Count(len(request.GetResources())); err != nil {
		return nil, err
	}
	if n := len(request.GetDiscovery().GetSources()); n > MaxSources {
		return nil, fmt.Errorf("%d sources, at most %d are allowed", n, MaxSources)
	}
	bodies, err := convert.BodiesFromWaymark(request.GetResources())
	if err != nil {
		return nil, err
	}
	s, err := convert.FromWaymark(request)
	if err != nil {
		return nil, err
	}
	cleanSnapshot(s)
	if err := checkSnapshot(s, bodies); err != nil {
		return nil, err
	}
	removed, err := checkRemoved(request, s)
	return &Push{Snapshot: s, Bodies: bodies, Removed: removed}, err
}

// Count applies the rule for how many resources a push of our own protocol has.
func Count(resources int) error { return checkCount(resources, wire.MaxHubResources) }

// Body applies the rules to a payload that is there now, for a resource of a push
// that had only named it.
func Body(r *snapshot.Resource, body convert.Body) error {
	if n := int64(len(r.Payload)); n != body.Size {
		return fmt.Errorf("the body has %d bytes and should have %d", n, body.Size)
	}
	return Check(r)
}

func cleanSnapshot(s *snapshot.Snapshot) {
	Clean(&s.SnapshotError)
	for i := range s.Discovery.Sources {
		source := &s.Discovery.Sources[i]
		for _, text := range []*string{&source.ID, &source.Name, (*string)(&source.Outcome), &source.Error} {
			Clean(text)
		}
	}
	for i := range s.Resources {
		cleanResource(&s.Resources[i])
	}
	for i := range s.Plugins {
		p := &s.Plugins[i]
		for _, text := range []*string{&p.Name, &p.Version, &p.Digest, &p.Path, (*string)(&p.State), &p.Error} {
			Clean(text)
		}
		for j := range p.Resolvers {
			Clean(&p.Resolvers[j])
		}
	}
}

func checkSnapshot(s *snapshot.Snapshot, named map[int]convert.Body) error {
	if err := checkHead(s.AggregateHash, s.SnapshotError); err != nil {
		return err
	}
	if err := checkDiscovery(s.Discovery); err != nil {
		return err
	}
	ids := make(map[string]struct{}, len(s.Resources))
	var sum int64
	for i := range s.Resources {
		r := &s.Resources[i]
		payload := int64(len(r.Payload))
		if body, isNamed := named[i]; isNamed {
			if err := checkNamed(r, body); err != nil {
				return fmt.Errorf("resource %d: %w", i, err)
			}
			payload = body.Size
		}
		if err := checkOne(r, ids); err != nil {
			return fmt.Errorf("resource %d: %w", i, err)
		}
		if sum += payload; sum > wire.MaxHubBytes {
			return fmt.Errorf("resource %d: payloads are longer than %d bytes together", i, wire.MaxHubBytes)
		}
	}
	return checkPlugins(s.Plugins)
}

// checkNamed applies the rules for a payload to what names one.
func checkNamed(r *snapshot.Resource, body convert.Body) error {
	if !mayHavePayload(r) {
		return errNoPayload(r)
	}
	// A size that is no int's is larger than any payload, too.
	return checkLen("payload", int(min(body.Size, wire.MaxHubBytes)), wire.MaxPayload)
}

func checkOne(r *snapshot.Resource, ids map[string]struct{}) error {
	if err := Check(r); err != nil {
		return err
	}
	if _, duplicate := ids[r.ID()]; duplicate {
		return errors.New("id appears twice")
	}
	ids[r.ID()] = struct{}{}
	return nil
}

func checkPlugins(plugins []snapshot.Plugin) error {
	if n := len(plugins); n > MaxPlugins {
		return fmt.Errorf("%d plugins, at most %d are allowed", n, MaxPlugins)
	}
	for i := range plugins {
		p := &plugins[i]
		if n := len(p.Resolvers); n > MaxPluginResolvers {
			return fmt.Errorf("plugin %d: %d resolvers, at most %d are allowed", i, n, MaxPluginResolvers)
		}
		for _, text := range append([]string{p.Name, p.Version, p.Digest, p.Path, string(p.State), p.Error}, p.Resolvers...) {
			if err := checkLen("a text", len(text), MaxPluginText); err != nil {
				return fmt.Errorf("plugin %d: %w", i, err)
			}
		}
	}
	return nil
}

// checkRemoved cleans the ids that a delta removes and applies the rules.
func checkRemoved(request *waymark.PushRequest, snap *snapshot.Snapshot) ([]string, error) {
	delta := request.GetDelta()
	if delta == nil {
		return nil, nil
	}
	switch n := len(delta.GetRemoved()); {
	case request.GetInitial():
		return nil, errors.New("the first push of a connection can't be a delta")
	case request.GetMore() || slices.ContainsFunc(request.GetResources(), func(r *waymark.Resource) bool { return r.GetBody() != nil }):
		return nil, errors.New("a delta can't be a push by hash")
	case n > wire.MaxHubResources:
		return nil, fmt.Errorf("%d removed, at most %d are allowed", n, wire.MaxHubResources)
	}
	ids := make(map[string]struct{}, len(delta.GetRemoved())+len(snap.Resources))
	for i := range snap.Resources {
		ids[snap.Resources[i].ID()] = struct{}{}
	}
	for i := range delta.GetRemoved() {
		id := &delta.GetRemoved()[i]
		Clean(id)
		if err := checkLen("an id", len(*id), maxID); err != nil {
			return nil, fmt.Errorf("removed %d: %w", i, err)
		}
		if _, twice := ids[*id]; twice {
			return nil, fmt.Errorf("removed %d: the id appears twice", i)
		}
		ids[*id] = struct{}{}
	}
	return delta.GetRemoved(), nil
}
