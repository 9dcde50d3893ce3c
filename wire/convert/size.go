package convert

import (
	"bytes"
	"encoding/base64"

	"google.golang.org/protobuf/encoding/protojson"

	"waymark/abi"
	"waymark/snapshot"
)

// bodyFrame is more than the braces, field names, quotes and separators of any body take in
// JSON: {"meta":"…", "name":"…", "description":"…"}.
const bodyFrame = 64

// BodyJSON returns the size in bytes that wire.MaxBodyJSON and wire.MaxBodies bound: that of
// the resource's body in Coder's form, as protojson. It is never too low, and about 64 bytes
// too high. For an mcp_server it is also too high by one for each comma, because protojson
// adds blanks there in some builds, and by what Coder's form omits of its tools. Kinds
// without a form are measured like a skill, so that the same bound holds for both protocols.
func BodyJSON(r *snapshot.Resource) int {
	if r.Kind == abi.KindMCPServer {
		return serverJSON(r)
	}
	return BodyJSONOf(r, len(r.Payload))
}

// BodyJSONOf is BodyJSON of a resource with an absent payload of that many bytes. For an
// mcp_server it may be too low, because its schemas aren't known.
func BodyJSONOf(r *snapshot.Resource, payload int) int {
	switch r.Kind {
	case abi.KindMCPConfig:
		return bodyFrame
	case abi.KindMCPServer:
		return bodyFrame + payload
	case abi.KindInstructionFile:
		return bodyFrame + base64.StdEncoding.EncodedLen(payload)
	default:
		return bodyFrame + base64.StdEncoding.EncodedLen(payload) +
			escapedLen(r.Name) + escapedLen(r.Description)
	}
}

// serverJSON encodes the body, because a schema's size can't be computed otherwise. A payload
// that can't be sent counts with its own length.
func serverJSON(r *snapshot.Resource) int {
	m, err := ResourceToCoder(r)
	if err != nil {
		return bodyFrame + len(r.Payload)
	}
	data, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(m.GetMcpServer())
	if err != nil {
		return bodyFrame + len(r.Payload)
	}
	// The payload has more of each tool than Coder's form, and is sent as well.
	return bodyFrame + max(len(data)+bytes.Count(data, []byte(",")), len(r.Payload))
}

// escapedLen returns the length of s in a JSON string of protojson, without the quotes.
func escapedLen(s string) int {
	n := len(s)
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"', c == '\\', c == '\b', c == '\f', c == '\n', c == '\r', c == '\t':
			n++
		case c < ' ':
			n += len(`\u0000`) - 1
		}
	}
	return n
}
