package snapshot

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"maps"
	"strconv"

	"waymark/abi"
)

// The attributes by which an mcp_server says that its list of tools is incomplete.
const (
	// AttributeTrimmed is a text for people.
	AttributeTrimmed = "trimmed"
	// AttributeTools is the total number of tools, in decimal.
	AttributeTools = "tools"
)

// The frame of a list of tools.
const (
	toolsStart = `{"tools":[`
	toolsEnd   = `]}`
)

// ToolsPayload returns the payload of an mcp_server with these tools, each a JSON object
// without line breaks.
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

// TrimTools removes tools from an mcp_server until its payload has at most limit bytes, and
// records that in its attributes: half of a server's tools are better than none. It keeps
// every tool that still fits, in order. It changes nothing and returns false if r isn't an
// mcp_server with a list of tools, or if none of them fits. It doesn't change what r shares
// with others.
func (r *Resource) TrimTools(limit int64) bool {
	if r.Kind != abi.KindMCPServer || r.Payload == nil {
		return false
	}
	if int64(len(r.Payload)) <= limit {
		return true
	}
	if limit < int64(len(toolsStart)+len(toolsEnd)+len("{}")) {
		return false // don't try the rest of a budget with each server
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

// setTools replaces the list of tools by a part of it. The hash is that of the part, so that
// no two payloads share one.
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
		all = n // it was trimmed before
	}
	attributes[AttributeTools] = Attribute{Text: strconv.Itoa(all)}
	if len(kept) < all {
		attributes[AttributeTrimmed] = Attribute{Text: strconv.Itoa(all-len(kept)) + " of " + strconv.Itoa(all) + " tools are left out here, since all together are too large"}
	}
	r.Attributes = attributes
}
