package push

import (
	"cmp"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
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
	// adapt removes what the wire doesn't carry, or says why the resource can't be sent at
	// all.
	adapt(w *row) Reason
	// identity is a key that no two resources of a push may share.
	identity(r *snapshot.Resource) string
	// size is what one resource takes of a message, in bytes. room is the space for all
	// resources, if the rest of the push has length head.
	size(r *snapshot.Resource) (int, error)
	room(head int) int
	// head is the length of a push without resources.
	head(s *snapshot.Snapshot) (int, error)
}

func formOf(protocol wire.Protocol) form {
	if protocol == wire.ProtocolCoder {
		return coderForm{}
	}
	return waymarkForm{}
}

// slack is room in a message for version, names and what the framing adds.
const slack = 1024

// waymarkForm carries everything in a snapshot, with payloads separate from resources.
type waymarkForm struct{}

func (waymarkForm) projection() *snapshot.Projection {
	return &snapshot.Projection{Caps: snapshot.Caps{
		MaxResourceBytes: wire.MaxPayload, MaxBytes: wire.MaxHubBytes, // fitBodies checks more closely
		MaxResources: wire.MaxHubResources, MaxListed: wire.MaxHubResources,
	}}
}

func (waymarkForm) adapt(w *row) Reason {
	if !rules.KnownKind(w.r.Kind) { // a hub refuses the whole push for a kind unknown to the ABI
		return ReasonKind
	}
	return ""
}

func (waymarkForm) identity(r *snapshot.Resource) string { return r.ID() }

func (waymarkForm) size(r *snapshot.Resource) (int, error) { return wire.RowSize(r), nil }

func (waymarkForm) room(head int) int {
	return min(wire.MaxRows, wire.MaxMessage-slack-wire.MaxInline-head)
}

func (waymarkForm) head(s *snapshot.Snapshot) (int, error) {
	return proto.Size(convert.HeadToWaymark(s)), nil
}

// coderForm carries four kinds, and only resources that always apply: its server would put
// any other into every chat.
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

// invalidForCoder says what Coder's own package calls invalid about a skill that others load
// anyway: a fault in its name or its front matter.
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

func (coderForm) size(r *snapshot.Resource) (int, error) {
	m, err := convert.ResourceToCoder(r)
	if err != nil {
		return 0, err
	}
	return 1 + protowire.SizeBytes(proto.Size(m)), nil
}

func (coderForm) room(head int) int { return wire.MaxMessage - slack - head }

func (coderForm) head(s *snapshot.Snapshot) (int, error) {
	m, err := convert.ToCoder(s)
	return proto.Size(m), err
}
