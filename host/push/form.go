package push

import (
	"google.golang.org/protobuf/proto"

	"waymark/abi"
	"waymark/snapshot"
	"waymark/wire"
	"waymark/wire/convert"
)

// form is what differs between the two protocols when a push is prepared.
type form interface {
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

func formOf(protocol wire.Protocol) form {
	if protocol == wire.ProtocolCoder {
		return coderForm{}
	}
	return waymarkForm{}
}

// waymarkForm carries everything that a snapshot has.
type waymarkForm struct{}

func (waymarkForm) adapt(w *row) Reason {
	switch w.r.Kind {
	case abi.KindInstructionFile, abi.KindSkill, abi.KindMCPConfig, abi.KindMCPServer,
		abi.KindPlugin, abi.KindHook, abi.KindSubagent, abi.KindCommand:
		return ""
	default: // a hub refuses the whole push for a kind that the ABI hasn't
		return ReasonKind
	}
}

func (waymarkForm) identity(r *snapshot.Resource) string { return r.ID() }

func (waymarkForm) message(r *snapshot.Resource) (proto.Message, error) {
	return convert.ResourceToWaymark(r), nil
}

func (waymarkForm) encode(prefix []byte, s *snapshot.Snapshot) ([]byte, error) {
	return marshal(prefix, convert.ToWaymark(s))
}

// coderForm carries four kinds, and nothing that depends on what a chat is
// about: its server would put it into every chat.
type coderForm struct{}

func (coderForm) adapt(w *row) Reason {
	r := &w.r
	if !convert.KnownToCoder(r.Kind) {
		return ReasonKind
	}
	if mode := r.Attributes["mode"]; mode.List != nil || mode.Text != "" && mode.Text != "always" {
		return ReasonMode
	}
	r.Key, r.Resolver, r.Attributes, r.Stale = "", "", nil, false
	if r.Kind == abi.KindMCPServer {
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
