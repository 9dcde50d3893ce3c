package convert

import (
	"errors"
	"fmt"

	"waymark/abi"
	"waymark/snapshot"
	"waymark/wire/coder"
)

// KnownToCoder reports whether Coder's wire has a body for kind.
func KnownToCoder(kind abi.Kind) bool {
	switch kind {
	case abi.KindInstructionFile, abi.KindSkill, abi.KindMCPConfig, abi.KindMCPServer:
		return true
	default:
		return false
	}
}

// ToCoder makes a push of s. It leaves Initial false, because only the connection knows it.
// It fails with ErrKind on a resource that the wire has no body for; senders hold those back.
func ToCoder(s *snapshot.Snapshot) (*coder.PushContextStateRequest, error) {
	request := &coder.PushContextStateRequest{
		Version:       s.Version,
		AggregateHash: s.AggregateHash,
		SnapshotError: s.SnapshotError,
		Resources:     make([]*coder.ContextResource, 0, len(s.Resources)),
	}
	for i := range s.Resources {
		m, err := ResourceToCoder(&s.Resources[i])
		if err != nil {
			return nil, inRow(i, err)
		}
		request.Resources = append(request.Resources, m)
	}
	return request, nil
}

// FromCoder makes a snapshot of a push. It fails if a body is unset, a status is unset or
// unknown, or a size is out of range. What the wire doesn't carry (key, resolver, attributes,
// plugins) is empty, and discovery complete.
func FromCoder(request *coder.PushContextStateRequest) (*snapshot.Snapshot, error) {
	s := &snapshot.Snapshot{
		Version:       request.GetVersion(),
		AggregateHash: orNil(request.GetAggregateHash()),
		SnapshotError: request.GetSnapshotError(),
		Resources:     make([]snapshot.Resource, 0, len(request.GetResources())),
		Plugins:       []snapshot.Plugin{},
		Discovery:     snapshot.Discovery{Phase: snapshot.PhaseComplete},
	}
	for i, m := range request.GetResources() {
		r, err := resourceFromCoder(m)
		if err != nil {
			return nil, inRow(i, err)
		}
		s.Resources = append(s.Resources, r)
	}
	countPayload(s)
	return s, nil
}

// ResourceToCoder translates one resource. It fails with ErrKind if the wire has no body for
// its kind, and if the payload of an mcp_server isn't a list of tools.
func ResourceToCoder(r *snapshot.Resource) (*coder.ContextResource, error) {
	m := &coder.ContextResource{
		Source: r.Source, ContentHash: r.ContentHash, SizeBytes: unsigned(r.SizeBytes),
		Status: statusToCoder(r.Status), Error: r.Error,
	}
	if r.SourcePath != "" {
		m.SourcePath = &r.SourcePath
	}
	switch r.Kind {
	case abi.KindInstructionFile:
		m.Body = &coder.ContextResource_InstructionFile{
			InstructionFile: &coder.InstructionFileBody{Content: r.Payload},
		}
	case abi.KindSkill:
		m.Body = &coder.ContextResource_Skill{
			Skill: &coder.SkillMetaBody{Meta: r.Payload, Name: r.Name, Description: r.Description},
		}
	case abi.KindMCPConfig: // never a payload: such files hold tokens
		m.Body = &coder.ContextResource_McpConfig{McpConfig: &coder.MCPConfigBody{}}
	case abi.KindMCPServer:
		tools, err := toolsFromPayload(r.Payload)
		if err != nil {
			return nil, err
		}
		m.Body = &coder.ContextResource_McpServer{
			McpServer: &coder.MCPServerBody{ServerName: r.Name, Description: r.Description, Tools: tools},
		}
	default:
		return nil, ErrKind
	}
	return m, nil
}

func resourceFromCoder(m *coder.ContextResource) (snapshot.Resource, error) {
	if m == nil {
		return snapshot.Resource{}, errMissing
	}
	r := snapshot.Resource{
		Source: m.Source, SourcePath: m.GetSourcePath(),
		Error: m.Error, ContentHash: orNil(m.ContentHash),
	}
	var err error
	if r.Status, err = statusFromCoder(m.Status); err != nil {
		return snapshot.Resource{}, err
	}
	if r.SizeBytes, err = size(m.SizeBytes); err != nil {
		return snapshot.Resource{}, err
	}
	if err = bodyFromCoder(&r, m); err != nil {
		return snapshot.Resource{}, err
	}
	return r, nil
}

// bodyFromCoder sets what depends on the kind.
func bodyFromCoder(r *snapshot.Resource, m *coder.ContextResource) (err error) {
	switch b := m.Body.(type) {
	case *coder.ContextResource_InstructionFile:
		r.Kind = abi.KindInstructionFile
		r.Payload = payload(r.Status, b.InstructionFile.GetContent())
	case *coder.ContextResource_Skill:
		r.Kind = abi.KindSkill
		r.Name, r.Description = b.Skill.GetName(), b.Skill.GetDescription()
		r.Payload = payload(r.Status, b.Skill.GetMeta())
	case *coder.ContextResource_McpConfig:
		r.Kind = abi.KindMCPConfig
	case *coder.ContextResource_McpServer:
		r.Kind = abi.KindMCPServer
		r.Name, r.Description = b.McpServer.GetServerName(), b.McpServer.GetDescription()
		r.Payload, err = payloadFromTools(r.Status, b.McpServer.GetTools())
	default:
		return errors.New("body is unset or unknown")
	}
	return err
}

// payload distinguishes an empty file, which has an empty payload, from no payload. The bytes
// type of proto3 can't.
func payload(status snapshot.Status, content []byte) []byte {
	switch {
	case len(content) > 0:
		return content
	case status == snapshot.StatusOK:
		return []byte{}
	default:
		return nil
	}
}

// statusToCoder returns STATUS_UNSPECIFIED for an unknown status.
func statusToCoder(s snapshot.Status) coder.ContextResource_Status {
	// The numbers are the same in both protocols.
	return coder.ContextResource_Status(statusToWaymark(s))
}

func statusFromCoder(s coder.ContextResource_Status) (snapshot.Status, error) {
	switch s {
	case coder.ContextResource_OK:
		return snapshot.StatusOK, nil
	case coder.ContextResource_OVERSIZE:
		return snapshot.StatusOversize, nil
	case coder.ContextResource_UNREADABLE:
		return snapshot.StatusUnreadable, nil
	case coder.ContextResource_INVALID:
		return snapshot.StatusInvalid, nil
	case coder.ContextResource_EXCLUDED:
		return snapshot.StatusExcluded, nil
	default:
		return "", fmt.Errorf("status %d is unset or unknown", s)
	}
}
