package snapshot

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"maps"
	"strconv"

	"waymark/abi"
)

// The attributes by which an mcp_server says that its list of tools isn't whole.
const (
	// AttributeTrimmed says it for a person.
	AttributeTrimmed = "trimmed"
	// AttributeTools counts the tools that there are in all, in decimal.
	AttributeTools = "tools"
)

// The frame of a list of tools.
const (
	toolsStart = `{"tools":[`
	toolsEnd   = `]}`
)

// ToolsPayload is the payload of an mcp_server with these tools, each an object in
// JSON without line breaks.
func ToolsPayload(tools []json.RawMessage) []byte {
	out := append([]byte(toolsStart), bytes.Join(asBytes(tools), []byte(","))...)
	return append(out, toolsEnd...)
}

func asBytes(tools []json.RawMessage) [][]byte {
	list := make([][]byte, len(tools))
	for i := range tools {
		list[i] = tools[i]
	}
	return list
}

// TrimTools takes tools from an mcp_server until its payload has at most limit
// bytes, and says so in its attributes: half of a server's tools are better than
// none of them. Tools are kept in their order, each that still fits. It reports
// false, and changes nothing, where r isn't an mcp_server with a list of tools, or
// where not one of them fits. Nothing that r shares with others is changed.
func (r *Resource) TrimTools(limit int64) bool {
	if r.Kind != abi.KindMCPServer || r.Payload == nil {
		return false
	}
	if int64(len(r.Payload)) <= limit {
		return true
	}
	if limit < int64(len(toolsStart)+len(toolsEnd)+len("{}")) {
		return false // what is left of a budget needn't be tried with each server
	}
	var list struct {
		Tools []json.RawMessage `json:"tools"`
	}
	if json.Unmarshal(r.Payload, &list) != nil {
		return false
	}
	kept := make([]json.RawMessage, 0, len(list.Tools))
	room := limit - int64(len(toolsStart)+len(toolsEnd))
	for _, t := range list.Tools {
		var short bytes.Buffer
		if json.Compact(&short, t) != nil {
			return false
		}
		size := int64(short.Len()) + 1 // and a comma
		if len(kept) == 0 {
			size--
		}
		if size > room {
			continue
		}
		room -= size
		kept = append(kept, short.Bytes())
	}
	if len(kept) == 0 {
		return false
	}
	r.setTools(kept, len(list.Tools))
	return true
}

// setTools replaces the list of tools by a part of it. The hash is that of the part:
// two payloads never have one.
func (r *Resource) setTools(kept []json.RawMessage, before int) {
	r.Payload = ToolsPayload(kept)
	sum := sha256.Sum256(r.Payload)
	r.ContentHash = sum[:]
	attributes := maps.Clone(r.Attributes)
	if attributes == nil {
		attributes = Attributes{}
	}
	all := before
	if n, err := strconv.Atoi(attributes[AttributeTools].Text); err == nil && n > before {
		all = n // it has been trimmed before
	}
	attributes[AttributeTools] = Attribute{Text: strconv.Itoa(all)}
	if len(kept) < all {
		attributes[AttributeTrimmed] = Attribute{Text: strconv.Itoa(all-len(kept)) + " of " + strconv.Itoa(all) + " tools are left out here, since all together are too large"}
	}
	r.Attributes = attributes
}
