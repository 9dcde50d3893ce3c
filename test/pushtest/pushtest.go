// Package pushtest builds pushes in tests, and sends them as an agent does: with the names
// of everything, and with payloads as far as they fit.
//
// Its own tests check what each kind of peer gets from the real agent, with trees as large as
// real ones: a hub gets everything, a Coder server ([NewCoderServer]) a part.
//
// Others measure a hub with many agents: how many pushes it takes per second, how long a push
// takes, how much memory an agent costs, and how long and how much work it takes until all agents
// are current again after a restart of the hub, or have joined several hubs at once, whose health
// is probed meanwhile. The hub runs in the test's process and the agents in another (the test
// binary again), so that their memory can be told apart. They speak waymark.v1 over WebSockets, as
// with a remote hub, but with a client that lets the test say what to push and when. Both share
// one machine, so the figures are those of hub and agents together. make bench-hub runs a
// thousand agents, make bench-fleet a storm of more at several hubs. Without flags these tests
// are small and only show that everything works.
//
// It has no state.
package pushtest

import (
	"context"
	"crypto/sha256"
	"fmt"

	"waymark/wire"
	"waymark/wire/rules"
	"waymark/wire/waymark"
)

// Push is everything that an agent has, or with a Base what has changed.
type Push struct {
	Version       uint64
	AggregateHash []byte
	SnapshotError string
	Resources     []*Resource
	Plugins       []*waymark.Plugin
	Discovery     *waymark.Discovery
	// Base is the name of what it is against, of which Removed are gone; nil for nothing.
	Base    []byte
	Removed []string
}

// Resource is one of them, with its payload; see waymark.Resource.
type Resource struct {
	Kind, Source, Key, SourcePath, Name, Description string
	Status                                           waymark.Status
	Error                                            string
	Stale                                            bool
	ContentHash                                      []byte
	SizeBytes                                        uint64
	Resolver                                         string
	Attributes                                       map[string]*waymark.Attribute
	Payload                                          []byte
	// Body says of a payload that isn't there what it is.
	Body              *waymark.Body
	Convention, Scope string
	Readers           []string
	Findings          []*waymark.Finding
}

// Wire is the resource as it travels.
func (r *Resource) Wire() *waymark.Resource {
	m := &waymark.Resource{
		Kind: r.Kind, Source: r.Source, Key: r.Key, SourcePath: r.SourcePath, Name: r.Name, Description: r.Description,
		Status: r.Status, Error: r.Error, Stale: r.Stale, ContentHash: r.ContentHash, SizeBytes: r.SizeBytes, Resolver: r.Resolver,
		Attributes: r.Attributes, Body: r.Body, Convention: r.Convention, Scope: r.Scope, Readers: r.Readers, Findings: r.Findings,
	}
	if m.Body == nil && r.Payload != nil {
		hash := sha256.Sum256(r.Payload)
		m.Body = &waymark.Body{Sha256: hash[:], SizeBytes: uint64(len(r.Payload))}
	}
	return m
}

// Named is r without its payload, of which it says what it is.
func (r Resource) Named() *Resource {
	r.Body, r.Payload = r.Wire().GetBody(), nil
	return &r
}

// GetVersion is p's.
func (p *Push) GetVersion() uint64 { return p.Version }

// Name is what the agent calls what it has then.
func (p *Push) Name() []byte { return p.request().GetName() }

// Request is the push as it travels, with as many payloads as there may be. The others
// have to be uploaded before.
func (p *Push) Request() (request *waymark.PushRequest, others [][]byte) {
	request = p.request()
	room, seen := wire.MaxInline, map[string]bool{}
	for _, r := range p.Resources {
		switch {
		case r == nil || r.Payload == nil || seen[string(r.Payload)]:
			continue
		case len(r.Payload) <= room:
			room -= len(r.Payload)
			request.Payloads = append(request.Payloads, r.Payload)
		default:
			others = append(others, r.Payload)
		}
		seen[string(r.Payload)] = true
	}
	return request, others
}

func (p *Push) request() *waymark.PushRequest {
	request := &waymark.PushRequest{Version: p.Version, Base: p.Base, Removed: p.Removed}
	for _, r := range p.Resources {
		if r == nil {
			request.Resources = append(request.Resources, nil)
			continue
		}
		request.Resources = append(request.Resources, r.Wire())
	}
	head := &waymark.Head{AggregateHash: p.AggregateHash, SnapshotError: p.SnapshotError, Plugins: p.Plugins, Discovery: p.Discovery}
	name := sha256.Sum256(fmt.Append(nil, "version ", p.Version))
	if request.Name = name[:]; p.Base == nil || len(p.AggregateHash)+len(p.SnapshotError)+len(p.Plugins) > 0 || p.Discovery != nil {
		request.Head = head
	}
	if p.Base == nil {
		if name, err := NameOf(request); err == nil { // else it is refused whatever its name is
			request.Name = name[:]
		}
	}
	return request
}

// NameOf is the name of what a push brings that is everything. It isn't one where it breaks
// a rule.
func NameOf(request *waymark.PushRequest) (wire.Name, error) {
	p, err := rules.Waymark(request)
	if err != nil {
		return wire.Name{}, err
	}
	head, err := wire.HeadOf(p.Snapshot)
	if err != nil {
		return wire.Name{}, err
	}
	rows := make([][sha256.Size]byte, len(p.Snapshot.Resources))
	for i := range p.Snapshot.Resources {
		body, has := p.Bodies[i]
		if !has {
			body.SHA256 = sha256.Sum256(nil)
		}
		rows[i] = wire.RowName(&p.Snapshot.Resources[i], has, body.SHA256)
	}
	return wire.NameOf(&head, rows), nil
}

// Client is who sends it: a waymark.DRPCContextClient, for one.
type Client interface {
	Push(context.Context, *waymark.PushRequest) (*waymark.PushResponse, error)
	Upload(context.Context, *waymark.UploadRequest) (*waymark.UploadResponse, error)
}

// Send uploads what has no room in the push, and pushes.
func Send(ctx context.Context, c Client, p *Push) (*waymark.PushResponse, error) {
	request, others := p.Request()
	for len(others) > 0 {
		n, size := 0, 0
		for n < len(others) && (n == 0 || size+len(others[n]) <= wire.MaxUpload) {
			size += len(others[n])
			n++
		}
		if _, err := c.Upload(ctx, &waymark.UploadRequest{Payloads: others[:n]}); err != nil {
			return nil, err
		}
		others = others[n:]
	}
	return c.Push(ctx, request)
}
