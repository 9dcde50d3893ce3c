package convert_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"waymark/abi"
	"waymark/snapshot"
	"waymark/wire/coder"
	"waymark/wire/convert"
)

// TestBodyJSON holds the estimate against what Coder's server would measure.
func TestBodyJSON(t *testing.T) {
	for _, r := range []snapshot.Resource{
		{Kind: abi.KindInstructionFile},
		{Kind: abi.KindInstructionFile, Payload: []byte(strings.Repeat("x", 1000))},
		{Kind: abi.KindSkill, Name: "a\"b\\c\n\t\x01\x1f\x7f", Description: "ä</>\u2028", Payload: []byte("x")},
		{Kind: abi.KindSkill, Description: strings.Repeat("\x02", 500)},
		{Kind: abi.KindMCPConfig, Payload: []byte("never sent")},
		{Kind: abi.KindMCPServer, Name: "docs", Payload: []byte(`{"tools":[{"name":"a","input_schema":{"x":[1,2,3]}},{"name":"b"}]}`)},
		{Kind: abi.KindMCPServer, Name: "docs"},
	} {
		m, err := convert.ResourceToCoder(&r)
		if err != nil {
			t.Fatal(err)
		}
		actual := bodyJSON(t, m)
		got := convert.BodyJSON(&r)
		if slack := 72 + strings.Count(string(r.Payload), ","); got < actual || got > actual+slack {
			t.Errorf("%s %q: BodyJSON = %d, protojson has %d", r.Kind, r.Name, got, actual)
		}
	}
}

func TestBodyJSONOfOtherKinds(t *testing.T) {
	hook := snapshot.Resource{Kind: abi.KindHook, Payload: make([]byte, 300)}
	broken := snapshot.Resource{Kind: abi.KindMCPServer, Payload: []byte(strings.Repeat("{", 300))}
	// What Coder's form leaves out of a tool travels to a hub all the same.
	annotated := snapshot.Resource{Kind: abi.KindMCPServer, Payload: []byte(`{"tools":[{"name":"a","title":"` + strings.Repeat("x", 300) + `"}]}`)}
	for _, r := range []*snapshot.Resource{&hook, &broken, &annotated} {
		if got := convert.BodyJSON(r); got < 300 {
			t.Errorf("%s: BodyJSON = %d, less than its payload", r.Kind, got)
		}
	}
}

func bodyJSON(t *testing.T, m *coder.ContextResource) int {
	t.Helper()
	var body proto.Message
	switch b := m.Body.(type) {
	case *coder.ContextResource_InstructionFile:
		body = b.InstructionFile
	case *coder.ContextResource_Skill:
		body = b.Skill
	case *coder.ContextResource_McpConfig:
		body = b.McpConfig
	case *coder.ContextResource_McpServer:
		body = b.McpServer
	}
	data, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return len(data)
}
