package rules

import (
	"errors"
	"fmt"

	"waymark/snapshot"
	"waymark/wire"
	"waymark/wire/convert"
	"waymark/wire/waymark"
)

// maxRunID bounds the id of an agent's run, in bytes.
const maxRunID = 64

// Open applies the rules for how an agent begins.
func Open(request *waymark.OpenRequest) error {
	return checkLen("the id of the run", len(request.GetRunId()), maxRunID)
}

// Waymark translates a push of our own protocol, cleans its texts and applies
// the rules that need nothing but the push itself. removed are the ids that a
// delta removes. What a delta comes to isn't known here.
func Waymark(request *waymark.PushRequest) (_ *snapshot.Snapshot, removed []string, err error) {
	if err := checkVersion(request.GetVersion()); err != nil {
		return nil, nil, err
	}
	if err := checkCount(len(request.GetResources())); err != nil {
		return nil, nil, err
	}
	s, err := convert.FromWaymark(request)
	if err != nil {
		return nil, nil, err
	}
	cleanSnapshot(s)
	if err := checkSnapshot(s); err != nil {
		return nil, nil, err
	}
	removed, err = checkRemoved(request, s)
	return s, removed, err
}

func cleanSnapshot(s *snapshot.Snapshot) {
	Clean(&s.SnapshotError)
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

func checkSnapshot(s *snapshot.Snapshot) error {
	if err := checkHead(s.AggregateHash, s.SnapshotError); err != nil {
		return err
	}
	ids := make(map[string]struct{}, len(s.Resources))
	var sum bodies
	for i := range s.Resources {
		if err := checkOne(&s.Resources[i], ids, &sum); err != nil {
			return fmt.Errorf("resource %d: %w", i, err)
		}
	}
	return checkPlugins(s.Plugins)
}

func checkOne(r *snapshot.Resource, ids map[string]struct{}, sum *bodies) error {
	if err := Check(r); err != nil {
		return err
	}
	if err := sum.add(convert.BodyJSON(r)); err != nil {
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
	if request.GetInitial() {
		return nil, errors.New("the first push of a connection can't be a delta")
	}
	if n := len(delta.GetRemoved()); n > wire.MaxResources {
		return nil, fmt.Errorf("%d removed, at most %d are allowed", n, wire.MaxResources)
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
