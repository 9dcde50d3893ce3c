package push_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"waymark/wire"
	"waymark/wire/coder"
	"waymark/wire/rules"
	"waymark/wire/waymark"
)

// checkCoder is what Coder's server insists on.
func checkCoder(m *coder.PushContextStateRequest) error {
	if err := checkMended(m); err != nil {
		return err
	}
	_, err := rules.Coder(m)
	return err
}

// checkWaymark is what a hub insists on.
func checkWaymark(m *waymark.PushRequest) error {
	if err := checkMended(m); err != nil {
		return err
	}
	_, err := rules.Waymark(m)
	return err
}

// checkMended is what the rules would mend once more, and the size of the whole.
func checkMended(m proto.Message) error {
	if size := proto.Size(m); size > wire.MaxMessage {
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
