package hub

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"waymark/wire"
	"waymark/wire/coder"
)

// mendCoder takes U+0000 out of the push's text.
func mendCoder(request *coder.PushContextStateRequest) {
	mend(&request.SnapshotError)
	for _, r := range request.GetResources() {
		mend(&r.Source)
		mend(r.SourcePath)
		mend(&r.Error)
		switch b := r.GetBody().(type) {
		case *coder.ContextResource_Skill:
			mend(&b.Skill.Name)
			mend(&b.Skill.Description)
		case *coder.ContextResource_McpServer:
			mend(&b.McpServer.ServerName)
			mend(&b.McpServer.Description)
		}
	}
}

// mend takes U+0000 out of *s: PostgreSQL can't hold it, and it has no place
// in any text of a push.
func mend(s *string) {
	if s != nil && strings.IndexByte(*s, 0) >= 0 {
		*s = strings.ReplaceAll(*s, "\x00", "")
	}
}

// checkCoder applies the rules of Coder's server in its order, so that an
// agent gets the same answer from both.
func checkCoder(request *coder.PushContextStateRequest) error {
	switch {
	case request == nil:
		return errors.New("request is missing")
	case request.GetVersion() > math.MaxInt64:
		return errors.New("version is out of range")
	}
	if err := tooLong("aggregate_hash", len(request.GetAggregateHash()), wire.MaxHash); err != nil {
		return err
	}
	if err := tooLong("snapshot_error", len(request.GetSnapshotError()), wire.MaxError); err != nil {
		return err
	}
	if n := len(request.GetResources()); n > wire.MaxResources {
		return fmt.Errorf("%d resources, at most %d are allowed", n, wire.MaxResources)
	}
	sources := make(map[string]struct{}, len(request.GetResources()))
	bodies := 0
	for i, r := range request.GetResources() {
		if err := checkCoderResource(r, sources, &bodies); err != nil {
			return fmt.Errorf("resource %d: %w", i, err)
		}
	}
	return nil
}

func checkCoderResource(r *coder.ContextResource, sources map[string]struct{}, bodies *int) error {
	if r == nil {
		return errors.New("resource is missing")
	}
	if r.GetSource() == "" {
		return errors.New("source is empty")
	}
	if err := tooLong("source", len(r.GetSource()), wire.MaxSource); err != nil {
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
		if err := tooLong(field.name, field.len, field.max); err != nil {
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
	if err := tooLong("body", size, wire.MaxBodyJSON); err != nil {
		return err
	}
	if *bodies += size; *bodies > wire.MaxBodies {
		return fmt.Errorf("bodies are longer than %d bytes together", wire.MaxBodies)
	}
	if _, known := coder.ContextResource_Status_name[int32(r.GetStatus())]; !known || r.GetStatus() == 0 {
		return errors.New("status is unset or unknown")
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

// tooLong is the rule that what is at most limit bytes long.
func tooLong(what string, n, limit int) error {
	if n > limit {
		return fmt.Errorf("%s is %d bytes long, at most %d are allowed", what, n, limit)
	}
	return nil
}
