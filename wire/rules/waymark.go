package rules

import (
	"crypto/sha256"
	"errors"
	"fmt"

	"waymark/internal/text"
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

// Bounds of what an agent says of itself to people, in bytes: a DNS name, a path, a version.
const (
	maxHostname = 255
	maxRoot     = 1024
	maxVersion  = 64
)

// Description returns what an agent says of itself, each a line that can be shown.
func Description(request *waymark.OpenRequest) (hostname, root, version string) {
	return text.Line(request.GetHostname(), maxHostname), text.Line(request.GetRoot(), maxRoot), text.Line(request.GetAgentVersion(), maxVersion)
}

// Push is a push of our own protocol that follows the rules.
type Push struct {
	// Snapshot has the new and changed resources, without payloads. Its head is valid if Head
	// is set.
	Snapshot *snapshot.Snapshot
	Head     bool
	// Base and Name are the fingerprints of what the agent had and has; a zero Base is
	// nothing.
	Base, Name wire.Name
	// Removed are the ids of removed resources.
	Removed []string
	// Bodies name the payloads by the index of the resource. Payloads holds those that were
	// included, by their digest.
	Bodies   map[int]convert.Body
	Payloads map[[sha256.Size]byte][]byte
}

// Waymark translates a push of our own protocol, cleans its texts and applies the rules that
// need only the push itself. The result of applying a change isn't known here.
func Waymark(request *waymark.PushRequest) (*Push, error) {
	if err := checkVersion(request.GetVersion()); err != nil {
		return nil, err
	}
	if err := checkCount(len(request.GetResources()), wire.MaxHubResources); err != nil {
		return nil, err
	}
	if n := len(request.GetHead().GetDiscovery().GetSources()); n > MaxSources {
		return nil, fmt.Errorf("%d sources, at most %d are allowed", n, MaxSources)
	}
	p := &Push{Head: request.GetHead() != nil}
	if err := p.names(request); err != nil {
		return nil, err
	}
	var err error
	if p.Snapshot, p.Bodies, err = convert.FromWaymark(request); err != nil {
		return nil, err
	}
	cleanSnapshot(p.Snapshot)
	if err := checkSnapshot(p.Snapshot, p.Bodies); err != nil {
		return nil, err
	}
	if p.Removed, err = checkRemoved(request.GetRemoved(), p.Snapshot); err != nil {
		return nil, err
	}
	return p, p.payloads(request.GetPayloads())
}

// names reads the fingerprints of the base and of the result.
func (p *Push) names(request *waymark.PushRequest) error {
	base, name := request.GetBase(), request.GetName()
	for what, n := range map[string][]byte{"base": base, "name": name} {
		if len(n) != 0 && len(n) != len(p.Name) {
			return fmt.Errorf("the %s has %d bytes, SHA-256 has %d", what, len(n), len(p.Name))
		}
	}
	switch {
	case len(base) == 0 && (len(name) == 0 || !p.Head || len(request.GetRemoved()) > 0):
		return errors.New("a push without a base has a head and a name, and removes nothing")
	case len(name) == 0 && (p.Head || len(request.GetResources())+len(request.GetRemoved())+len(request.GetPayloads()) > 0):
		return errors.New("a change has no name")
	case len(name) == 0:
		name = base
	}
	copy(p.Base[:], base)
	copy(p.Name[:], name)
	return nil
}

// payloads reads the payloads that are included in the push.
func (p *Push) payloads(list [][]byte) error {
	if err := Payloads(list, wire.MaxInline); err != nil || len(list) == 0 {
		return err
	}
	named := make(map[[sha256.Size]byte]bool, len(p.Bodies))
	for _, body := range p.Bodies {
		named[body.SHA256] = true
	}
	p.Payloads = make(map[[sha256.Size]byte][]byte, len(list))
	for i, payload := range list {
		name := sha256.Sum256(payload)
		if !named[name] {
			return fmt.Errorf("payload %d: no resource has it", i)
		}
		p.Payloads[name] = payload
	}
	return nil
}

// Payloads applies the rules to payloads without their resources, with at most the given
// bytes in total.
func Payloads(list [][]byte, most int) error {
	total := 0
	for i, payload := range list {
		if err := checkLen("payload", len(payload), wire.MaxPayload); err != nil {
			return fmt.Errorf("payload %d: %w", i, err)
		}
		total += len(payload)
	}
	if total > most {
		return fmt.Errorf("payloads have %d bytes together, at most %d are allowed in this message", total, most)
	}
	return checkCount(len(list), wire.MaxHubResources)
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
	for i := range s.Resources {
		r := &s.Resources[i]
		if body, isNamed := named[i]; isNamed {
			if err := checkNamed(r, body); err != nil {
				return fmt.Errorf("resource %d: %w", i, err)
			}
		}
		if err := checkOne(r, ids); err != nil {
			return fmt.Errorf("resource %d: %w", i, err)
		}
	}
	return checkPlugins(s.Plugins)
}

// checkNamed applies the rules for a payload to a resource that names one.
func checkNamed(r *snapshot.Resource, body convert.Body) error {
	if !mayHavePayload(r) {
		return errNoPayload(r)
	}
	// A size beyond int is larger than any payload, too.
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

// checkRemoved cleans the ids that are removed and applies the rules.
func checkRemoved(removed []string, snap *snapshot.Snapshot) ([]string, error) {
	if n := len(removed); n > wire.MaxHubResources {
		return nil, fmt.Errorf("%d removed, at most %d are allowed", n, wire.MaxHubResources)
	}
	ids := make(map[string]struct{}, len(removed)+len(snap.Resources))
	for i := range snap.Resources {
		ids[snap.Resources[i].ID()] = struct{}{}
	}
	for i := range removed {
		Clean(&removed[i])
		if err := checkLen("an id", len(removed[i]), maxID); err != nil {
			return nil, fmt.Errorf("removed %d: %w", i, err)
		}
		if _, twice := ids[removed[i]]; twice {
			return nil, fmt.Errorf("removed %d: the id appears twice", i)
		}
		ids[removed[i]] = struct{}{}
	}
	return removed, nil
}
