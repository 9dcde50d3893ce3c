// Package wire holds what both ends of a push agree on: names, sizes and the meaning of
// errors. The messages themselves are in wire/waymark (our own protocol) and wire/coder
// (Coder's Agent API). wire/convert translates snapshots from and to them, and wire/rules
// checks them.
//
// It also names an agent's state, so that both ends can tell with a few bytes that they have
// the same. The hub names what it holds of the agent, the agent what it pushes. A [Name] is a
// SHA-256 over everything of a snapshot that a hub keeps, except its version: two snapshots
// that differ in anything have different names, whoever made them. The name of a snapshot may
// change with the version of this package; a peer with another version then gets one complete
// push, and there is no other effect.
//
// The package has no state.
package wire

import (
	"strings"

	"storj.io/drpc/drpcerr"
)

//go:generate go run waymark/internal/tools/generate protos

// Protocol is the protocol of a connection.
type Protocol string

// The protocols, best first.
const (
	ProtocolWaymark Protocol = "waymark.v1"
	ProtocolCoder   Protocol = "coder.agent.v2"
	ProtocolNone    Protocol = "" // no peer has answered yet
)

// The full names of the methods on the wire.
const (
	MethodOpen             = "/waymark.v1.Context/Open"
	MethodPush             = "/waymark.v1.Context/Push"
	MethodUpload           = "/waymark.v1.Context/Upload"
	MethodReverse          = "/waymark.v1.Context/Reverse"
	ServiceAgent           = "/coder.agent.v2.Agent/"
	MethodPushContextState = ServiceAgent + "PushContextState"
)

// TokenMetadata is the metadata key of calls under which plain DRPC carries the agent's
// token. Over a WebSocket the token is an HTTP header instead.
const TokenMetadata = "waymark-token"

// Coder's agent endpoint, as a workspace agent dials it and a hub serves it: a WebSocket that
// carries yamux, with a stream for each call.
const (
	// EndpointPath is its path below the server's URL.
	EndpointPath = "/api/v2/workspaceagents/me/rpc"
	// TokenHeader carries the agent's token in the handshake.
	TokenHeader = "Coder-Session-Token"
	// APIMajor and APIMinor are the version of the Agent API that this repository speaks.
	// 2.10 is the first one that has PushContextState.
	APIMajor = 2
	APIMinor = 10
	// Role identifies what connects. Coder's server monitors the workspace's agent by the
	// connections whose role is "agent" or missing. Any other value doesn't affect what it
	// knows of the workspace's own agent.
	Role = "waymark"
)

// The codes that a hub sets on the error of a push, with gRPC's numbers. Coder's server uses
// CodeUnimplemented only.
const (
	// CodeBusy: too many requests; the same push may succeed later.
	CodeBusy uint64 = 8
	// CodeTooLarge: the message is over MaxMessage, or would be disproportionately large when
	// decoded.
	CodeTooLarge uint64 = 11
	// CodeSuperseded: a newer session of the same agent has taken over.
	CodeSuperseded uint64 = 10
	// CodeUnimplemented is the code of every generated Unimplemented server.
	CodeUnimplemented uint64 = drpcerr.Unimplemented
	// CodeUnauthorized: the token is missing, wrong, revoked, or of another role.
	CodeUnauthorized uint64 = 16
)

// IsUnimplemented reports whether err says that the peer doesn't have the method. There are
// two forms: the generated servers' code 12, and the mux's own error for an unknown service,
// whose class and code are lost on the wire.
func IsUnimplemented(err error) bool {
	if err == nil {
		return false
	}
	return drpcerr.Code(err) == CodeUnimplemented || strings.Contains(err.Error(), "unknown rpc:")
}

// IsUnauthorized reports whether err says that the peer refuses the token.
func IsUnauthorized(err error) bool {
	return err != nil && drpcerr.Code(err) == CodeUnauthorized
}

// IsBusy reports whether err says that the peer wants to be asked later.
func IsBusy(err error) bool {
	return err != nil && drpcerr.Code(err) == CodeBusy
}

// IsTooLarge reports whether err says that a message is too large.
func IsTooLarge(err error) bool {
	return err != nil && drpcerr.Code(err) == CodeTooLarge
}

// IsSuperseded reports whether err says that a newer session of the same agent has taken
// over.
func IsSuperseded(err error) bool {
	return err != nil && drpcerr.Code(err) == CodeSuperseded
}

// The sizes that a receiver enforces, in bytes unless stated otherwise. They are those of
// Coder's server, which refuses the whole push if one resource exceeds one of them.
const (
	// MaxSource bounds Resource.source and source_path: in Coder's database the source is
	// part of a btree key.
	MaxSource = 1024
	// MaxError bounds a resource's error and the snapshot's.
	MaxError = 4096
	// MaxHash bounds content and aggregate hashes.
	MaxHash = 64
	// MaxResources bounds the number of resources of one push.
	MaxResources = 1000
	// MaxBodyJSON bounds the protojson form of one body, in which bytes are base64.
	MaxBodyJSON = 256 << 10
	// MaxBodies bounds the sum of the bodies' protojson forms.
	MaxBodies = 4 << 20
	// MaxMessage bounds one encoded message: it is DRPC's default buffer. A longer message
	// makes the receiver drop the stream without a reason.
	MaxMessage = 4 << 20
	// MaxParts bounds the messages within a message (resources, attributes, the values of a
	// schema): decoded, each takes a hundred bytes or more, whatever its size on the wire. It
	// is our hub's own rule, and far above what honest use fits into the other limits.
	MaxParts = 500_000
)

// What our hub accepts, in bytes unless stated otherwise.
const (
	// MaxUpload and MaxInline bound the payloads of an Upload and of a push. An Upload is small
	// enough that a slow line doesn't have to repeat much after a failure. The payloads of an
	// edit fit into a push, which then takes one round trip.
	MaxUpload = 1 << 20
	MaxInline = 64 << 10
	// MaxHubResources and MaxHubBytes bound a snapshot: its resources, and the sum of the
	// lengths of their payloads.
	MaxHubResources = 4000
	MaxHubBytes     = 16 << 20
	// MaxPayload bounds each payload.
	MaxPayload = 256 << 10
	// MaxRows bounds all of a snapshot except its payloads and its head, by RowSize,
	// so that it fits into a message.
	MaxRows = MaxMessage - 512<<10
)
