package push_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"waymark/abi"
	"waymark/wire"
	"waymark/wire/coder"
	"waymark/wire/convert"
	"waymark/wire/waymark"
)

// checkCoder is what Coder's server insists on, in its order.
func checkCoder(m *coder.PushContextStateRequest) error {
	if err := checkHead(m.Version, m.AggregateHash, m.SnapshotError, len(m.Resources)); err != nil {
		return err
	}
	seen, sum := map[string]bool{}, 0
	for i, r := range m.Resources {
		if err := checkTexts(r.Source, r.GetSourcePath(), r.Error); err != nil {
			return fmt.Errorf("resource %d: %w", i, err)
		}
		if seen[r.Source] {
			return fmt.Errorf("resource %d: duplicate source", i)
		}
		seen[r.Source] = true
		if err := checkNumbers(r.ContentHash, r.SizeBytes, int32(r.Status)); err != nil {
			return fmt.Errorf("resource %d: %w", i, err)
		}
		body, err := coderBody(r)
		if err != nil {
			return fmt.Errorf("resource %d: %w", i, err)
		}
		sum += body
	}
	return checkSums(sum, m)
}

// checkWaymark is the same for our own protocol, where an id takes the place
// of the source.
func checkWaymark(m *waymark.PushRequest) error {
	if err := checkHead(m.Version, m.AggregateHash, m.SnapshotError, len(m.Resources)); err != nil {
		return err
	}
	s, err := convert.FromWaymark(m)
	if err != nil {
		return err
	}
	seen, sum := map[string]bool{}, 0
	for i, r := range m.Resources {
		if err := checkExtras(r); err != nil {
			return fmt.Errorf("resource %d: %w", i, err)
		}
		if err := checkTexts(r.Source, r.SourcePath, r.Error); err != nil {
			return fmt.Errorf("resource %d: %w", i, err)
		}
		id := s.Resources[i].ID()
		if seen[id] {
			return fmt.Errorf("resource %d: duplicate id", i)
		}
		seen[id] = true
		if err := checkNumbers(r.ContentHash, r.SizeBytes, int32(r.Status)); err != nil {
			return fmt.Errorf("resource %d: %w", i, err)
		}
		payload := r.Status == waymark.Status_STATUS_OK || r.Status == waymark.Status_STATUS_INVALID
		if r.Payload != nil && (!payload || r.Kind == string(abi.KindMCPConfig)) {
			return fmt.Errorf("resource %d: a %s of status %s has a payload", i, r.Kind, r.Status)
		}
		body := convert.BodyJSON(&s.Resources[i])
		if body > wire.MaxBodyJSON {
			return fmt.Errorf("resource %d: body of %d bytes", i, body)
		}
		sum += body
	}
	return checkSums(sum, m)
}

// checkExtras is what our own protocol adds.
func checkExtras(r *waymark.Resource) error {
	kinds := []abi.Kind{
		abi.KindInstructionFile, abi.KindSkill, abi.KindMCPConfig, abi.KindMCPServer,
		abi.KindPlugin, abi.KindHook, abi.KindSubagent, abi.KindCommand,
	}
	if !slices.Contains(kinds, abi.Kind(r.Kind)) {
		return fmt.Errorf("kind %q is unknown", r.Kind)
	}
	attributes := 0
	for key, a := range r.Attributes {
		attributes += len(key) + len(a.GetText()) + len(strings.Join(a.GetList().GetItems(), ""))
	}
	if len(r.Key) > 1024 || len(r.Resolver) > 1024 || len(r.Name) > abi.MaxName ||
		len(r.Description) > abi.MaxDescription || attributes > abi.MaxAttributes {
		return errors.New("key, resolver, name, description or attributes too long")
	}
	return nil
}

func checkHead(version uint64, hash []byte, text string, resources int) error {
	switch {
	case version > math.MaxInt64:
		return errors.New("version out of range")
	case len(hash) > 64:
		return errors.New("aggregate hash too long")
	case len(text) > 4096:
		return errors.New("snapshot error too long")
	case resources > 1000:
		return errors.New("too many resources")
	}
	return nil
}

func checkTexts(source, sourcePath, text string) error {
	switch {
	case source == "":
		return errors.New("source is empty")
	case len(source) > 1024:
		return errors.New("source too long")
	case len(sourcePath) > 1024:
		return errors.New("source path too long")
	case len(text) > 4096:
		return errors.New("error too long")
	}
	return nil
}

func checkNumbers(hash []byte, size uint64, status int32) error {
	switch {
	case len(hash) > 64:
		return errors.New("content hash too long")
	case size > math.MaxInt64:
		return errors.New("size out of range")
	case status < 1 || status > 5:
		return errors.New("status unset or unknown")
	}
	return nil
}

func coderBody(r *coder.ContextResource) (int, error) {
	var body proto.Message
	switch b := r.Body.(type) {
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
	if err == nil && len(data) > 256<<10 {
		err = fmt.Errorf("body of %d bytes", len(data))
	}
	return len(data), err
}

// checkSums looks at the whole: sizes, and what PostgreSQL doesn't store.
func checkSums(sum int, m proto.Message) error {
	if sum > 4<<20 {
		return fmt.Errorf("bodies of %d bytes", sum)
	}
	if size := proto.Size(m); size > 4<<20 {
		return fmt.Errorf("message of %d bytes", size)
	}
	data, err := protojson.Marshal(m)
	if err != nil {
		return err
	}
	if strings.Contains(string(data), `\u0000`) {
		return errors.New("a text holds a NUL")
	}
	if !utf8.Valid(data) {
		return errors.New("a text isn't UTF-8")
	}
	return nil
}

// decode reads what Prepare made, as a peer would.
func decode(t *testing.T, content []byte, protocol wire.Protocol) (proto.Message, error) {
	t.Helper()
	if protocol == wire.ProtocolCoder {
		m := &coder.PushContextStateRequest{}
		if err := proto.Unmarshal(content, m); err != nil {
			t.Fatal(err)
		}
		return m, checkCoder(m)
	}
	m := &waymark.PushRequest{}
	if err := proto.Unmarshal(content, m); err != nil {
		t.Fatal(err)
	}
	return m, checkWaymark(m)
}
