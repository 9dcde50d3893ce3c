package rules

import (
	"errors"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"waymark/snapshot"
	"waymark/wire"
	"waymark/wire/coder"
	"waymark/wire/convert"
)

// Coder cleans the texts of a push of Coder's protocol and applies the rules of Coder's
// server in its order, so that an agent gets the same answer from both.
func Coder(request *coder.PushContextStateRequest) (*snapshot.Snapshot, error) {
	cleanCoder(request)
	if err := checkCoder(request); err != nil {
		return nil, err
	}
	return convert.FromCoder(request)
}

func cleanCoder(request *coder.PushContextStateRequest) {
	if request == nil {
		return
	}
	Clean(&request.SnapshotError)
	for _, r := range request.GetResources() {
		if r == nil {
			continue
		}
		Clean(&r.Source)
		if r.SourcePath != nil {
			Clean(r.SourcePath)
		}
		Clean(&r.Error)
		switch b := r.GetBody().(type) {
		case *coder.ContextResource_Skill:
			Clean(&b.Skill.Name)
			Clean(&b.Skill.Description)
		case *coder.ContextResource_McpServer:
			Clean(&b.McpServer.ServerName)
			Clean(&b.McpServer.Description)
		}
	}
}

func checkCoder(request *coder.PushContextStateRequest) error {
	if request == nil {
		return errors.New("request is missing")
	}
	if err := checkVersion(request.GetVersion()); err != nil {
		return err
	}
	if err := checkHead(request.GetAggregateHash(), request.GetSnapshotError()); err != nil {
		return err
	}
	if err := checkCount(len(request.GetResources()), wire.MaxResources); err != nil {
		return err
	}
	sources := make(map[string]struct{}, len(request.GetResources()))
	var sum bodies
	for i, r := range request.GetResources() {
		if err := checkCoderResource(r, sources, &sum); err != nil {
			return fmt.Errorf("resource %d: %w", i, err)
		}
	}
	return nil
}

func checkCoderResource(r *coder.ContextResource, sources map[string]struct{}, sum *bodies) error {
	if r == nil {
		return errors.New("resource is missing")
	}
	if r.GetSource() == "" {
		return ErrSource
	}
	if err := checkLen("source", len(r.GetSource()), wire.MaxSource); err != nil {
		return err
	}
	if _, duplicate := sources[r.GetSource()]; duplicate {
		return errors.New("source appears twice")
	}
	sources[r.GetSource()] = struct{}{}
	for _, field := range []struct {
		name     string
		len, max int
	}{
		{"source_path", len(r.GetSourcePath()), wire.MaxSource},
		{"error", len(r.GetError()), wire.MaxError},
		{"content_hash", len(r.GetContentHash()), wire.MaxHash},
	} {
		if err := checkLen(field.name, field.len, field.max); err != nil {
			return err
		}
	}
	if r.GetSizeBytes() > math.MaxInt64 {
		return errors.New("size_bytes is out of range")
	}
	size, err := bodySize(r)
	if err != nil {
		return err
	}
	if err := checkLen("body", size, wire.MaxBodyJSON); err != nil {
		return err
	}
	if err := sum.add(size); err != nil {
		return err
	}
	if _, known := coder.ContextResource_Status_name[int32(r.GetStatus())]; !known || r.GetStatus() == 0 {
		return ErrStatus
	}
	return nil
}

// bodySize returns the length of the body as Coder's server would store it.
func bodySize(r *coder.ContextResource) (int, error) {
	var body proto.Message
	switch b := r.GetBody().(type) {
	case *coder.ContextResource_InstructionFile:
		body = b.InstructionFile
	case *coder.ContextResource_Skill:
		body = b.Skill
	case *coder.ContextResource_McpConfig:
		body = b.McpConfig
	case *coder.ContextResource_McpServer:
		body = b.McpServer
	default:
		return 0, errors.New("missing body variant")
	}
	data, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(body)
	if err != nil {
		return 0, errors.New("body has no JSON form")
	}
	return len(data), nil
}
