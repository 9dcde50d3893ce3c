package convert

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	"waymark/snapshot"
	"waymark/wire/coder"
)

// maxDepth bounds the nesting of a tool's schema. Real ones stay below 20; protobuf decoders
// give up at 10 000 messages, three of which make a level.
const maxDepth = 200

// toolList is the payload of an mcp_server: what the server offers, as JSON. It has only the
// fields of a tool that Coder's form takes; waymark.v1 carries the payload unchanged, with
// titles and annotations.
type toolList struct {
	Tools []tool `json:"tools"`
}

type tool struct {
	Name        string         `json:"name"`
	Description string         `json:"description,omitempty"`
	InputSchema map[string]any `json:"input_schema,omitzero"` // {} is a schema too
}

// toolsFromPayload reads a toolList. It removes NULs from strings, because PostgreSQL refuses
// them; encoding/json has already repaired their UTF-8.
func toolsFromPayload(payload []byte) ([]*coder.MCPTool, error) {
	if len(payload) == 0 {
		return nil, nil
	}
	var list toolList
	if err := json.Unmarshal(payload, &list); err != nil {
		// The decoder's own error quotes the payload.
		return nil, errors.New("the payload of an mcp_server isn't a list of tools in JSON")
	}
	tools := make([]*coder.MCPTool, 0, len(list.Tools))
	for _, t := range list.Tools {
		m := &coder.MCPTool{Name: withoutNUL(t.Name), Description: withoutNUL(t.Description)}
		if t.InputSchema != nil {
			schema, err := cleanMap(t.InputSchema, maxDepth)
			if err != nil {
				return nil, err
			}
			if m.InputSchema, err = structpb.NewStruct(schema); err != nil {
				return nil, err
			}
		}
		tools = append(tools, m)
	}
	return tools, nil
}

// payloadFromTools is the inverse of toolsFromPayload. Keys are sorted, so that equal tools
// yield equal bytes.
func payloadFromTools(status snapshot.Status, tools []*coder.MCPTool) ([]byte, error) {
	if len(tools) == 0 && status != snapshot.StatusOK {
		return nil, nil
	}
	list := toolList{Tools: make([]tool, 0, len(tools))}
	for _, m := range tools {
		t := tool{Name: m.GetName(), Description: m.GetDescription()}
		if m.GetInputSchema() != nil {
			t.InputSchema = m.GetInputSchema().AsMap()
		}
		list.Tools = append(list.Tools, t)
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false) // schemas are full of < and >
	if err := encoder.Encode(list); err != nil {
		return nil, fmt.Errorf("the tools of an mcp_server have no JSON form: %w", err)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// clean copies a decoded JSON value without NULs in its strings.
func clean(v any, depth int) (any, error) {
	if depth == 0 {
		return nil, fmt.Errorf("a tool's schema is nested more than %d deep", maxDepth)
	}
	switch v := v.(type) {
	case string:
		return withoutNUL(v), nil
	case []any:
		out := make([]any, 0, len(v))
		for _, e := range v {
			e, err := clean(e, depth-1)
			if err != nil {
				return nil, err
			}
			out = append(out, e)
		}
		return out, nil
	case map[string]any:
		return cleanMap(v, depth)
	default:
		return v, nil
	}
}

// cleanMap does the same for an object. If two keys become one, the first in order is kept,
// so that the result doesn't depend on map order.
func cleanMap(m map[string]any, depth int) (map[string]any, error) {
	out := make(map[string]any, len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		value, err := clean(m[key], depth-1)
		if err != nil {
			return nil, err
		}
		key = withoutNUL(key)
		if _, taken := out[key]; !taken {
			out[key] = value
		}
	}
	return out, nil
}

func withoutNUL(s string) string { return strings.ReplaceAll(s, "\x00", "") }
