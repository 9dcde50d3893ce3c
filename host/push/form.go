package push

import (
	"cmp"
	"strings"

	"google.golang.org/protobuf/proto"

	"waymark/abi"
	"waymark/snapshot"
	"waymark/wire"
	"waymark/wire/convert"
	"waymark/wire/rules"
)

// form is what differs between the two protocols when a push is prepared.
type form interface {
	// projection is what the peer gets of a snapshot.
	projection() *snapshot.Projection
	// adapt removes what the wire doesn't carry anyway, or says why the
	// resource can't be sent at all.
	adapt(w *row) Reason
	// identity is what no two resources of a push may share.
	identity(r *snapshot.Resource) string
	// message translates one resource.
	message(r *snapshot.Resource) (proto.Message, error)
	// encode encodes a whole push behind prefix, without version and initial.
	encode(prefix []byte, s *snapshot.Snapshot) ([]byte, error)
}

func formOf(protocol wire.Protocol, peer takes) form {
	if protocol == wire.ProtocolCoder {
		return coderForm{}
	}
	return waymarkForm{peer}
}

// waymarkForm carries everything that a snapshot has.
type waymarkForm struct {
	// takes says also whether the size of a resource is that in a manifest.
	takes
}

func (f waymarkForm) projection() *snapshot.Projection {
	caps := snapshot.Caps{
		MaxResourceBytes: wire.MaxBodyJSON, MaxBytes: wire.MaxBodies, // fitBodies looks more closely
		MaxResources: wire.MaxResources, MaxListed: wire.MaxResources,
	}
	if f.byHash {
		caps.MaxBytes, caps.MaxResources, caps.MaxListed = int64(f.bytes), f.resources, f.resources
		if f.payload > 0 {
			caps.MaxResourceBytes = int64(f.payload)
		}
	}
	return &snapshot.Projection{Caps: caps}
}

// adapt takes facts from a hub that doesn't keep those: it would have other names for
// what it holds, and take what it doesn't see for news.
func (f waymarkForm) adapt(w *row) Reason {
	if !f.facts {
		w.r.ClearFacts()
	}
	if !rules.KnownKind(w.r.Kind) { // a hub refuses the whole push for a kind that the ABI hasn't
		return ReasonKind
	}
	return ""
}

func (waymarkForm) identity(r *snapshot.Resource) string { return r.ID() }

func (f waymarkForm) message(r *snapshot.Resource) (proto.Message, error) {
	if f.byHash && named(r) {
		return convert.ResourceByHash(r, convert.Body{Size: int64(len(r.Payload))}), nil // any hash is as long
	}
	return convert.ResourceToWaymark(r), nil
}

func (waymarkForm) encode(prefix []byte, s *snapshot.Snapshot) ([]byte, error) {
	return marshal(prefix, convert.ToWaymark(s))
}

// coderForm carries four kinds, and nothing that depends on what a chat is
// about: its server would put it into every chat.
type coderForm struct{}

func (coderForm) projection() *snapshot.Projection {
	return &snapshot.Projection{Caps: snapshot.CoderCaps(), Hold: notForCoder, Invalid: invalidForCoder, UniqueSkills: true}
}

func notForCoder(r *snapshot.Resource) string {
	if !convert.KnownToCoder(r.Kind) {
		return string(ReasonKind)
	}
	if mode := r.Attributes["mode"]; mode.List != nil || mode.Text != "" && mode.Text != "always" {
		return string(ReasonMode)
	}
	return ""
}

// invalidForCoder says what Coder's own package calls invalid about a skill, where
// others load it all the same: its name or its front matter isn't as it should be.
func invalidForCoder(r *snapshot.Resource) string {
	if r.Kind != abi.KindSkill {
		return ""
	}
	for i := range r.Findings {
		if f := &r.Findings[i]; strings.HasPrefix(f.Code, "name-") || strings.HasPrefix(f.Code, "frontmatter-") {
			return cmp.Or(f.Message, f.Code)
		}
	}
	return ""
}

func (coderForm) adapt(w *row) Reason {
	r := &w.r
	trimmed := r.Attributes[snapshot.AttributeTrimmed].Text
	r.Key, r.Resolver, r.Attributes, r.Stale = "", "", nil, false
	r.ClearFacts()
	if r.Kind == abi.KindMCPServer {
		if r.Name != "" {
			r.Source = r.Name // as Coder's agent has it; the file is the configuration's
		}
		if r.Status == snapshot.StatusOK && r.Error == "" {
			r.Error = trimmed // which it shows as a warning
		}
		if _, err := convert.ResourceToCoder(r); err != nil {
			r.Payload, r.Status, r.Error = nil, snapshot.StatusInvalid, err.Error()
			w.changed = true
		}
	}
	return ""
}

func (coderForm) identity(r *snapshot.Resource) string { return r.Source }

func (coderForm) message(r *snapshot.Resource) (proto.Message, error) {
	return convert.ResourceToCoder(r)
}

func (coderForm) encode(prefix []byte, s *snapshot.Snapshot) ([]byte, error) {
	m, err := convert.ToCoder(s)
	if err != nil {
		return nil, err
	}
	return marshal(prefix, m)
}
