// Package wire holds what both ends of a push agree on: names, sizes and the
// meaning of an error. The messages themselves are in wire/waymark (our own
// protocol) and wire/coder (Coder's Agent API); wire/convert turns snapshots
// into them and back; wire/rules says what they must be like.
//
// The package has no state.
package wire

import (
	"strings"

	"storj.io/drpc/drpcerr"
)

//go:generate go run waymark/internal/tools/protogen

// Protocol names what is spoken on a connection.
type Protocol string

// The protocols, best first.
const (
	ProtocolWaymark Protocol = "waymark.v1"
	ProtocolCoder   Protocol = "coder.agent.v2"
	ProtocolNone    Protocol = "" // no peer has answered yet
)

// The full names of the methods, as they go over the wire.
const (
	MethodOpen             = "/waymark.v1.Context/Open"
	MethodPush             = "/waymark.v1.Context/Push"
	MethodUpload           = "/waymark.v1.Context/Upload"
	MethodReverse          = "/waymark.v1.Context/Reverse"
	ServiceAgent           = "/coder.agent.v2.Agent/"
	MethodPushContextState = ServiceAgent + "PushContextState"
)

// TokenMetadata is the key under which plain DRPC carries the agent's token,
// as call metadata. Over a WebSocket the token is an HTTP header instead.
const TokenMetadata = "waymark-token"

// Coder's agent endpoint, as a workspace agent dials it and a hub serves it: a
// WebSocket that carries yamux, on which each call has a stream of its own.
const (
	// EndpointPath is its path below the server's URL.
	EndpointPath = "/api/v2/workspaceagents/me/rpc"
	// TokenHeader carries the agent's token in the handshake.
	TokenHeader = "Coder-Session-Token"
	// APIMajor and APIMinor are the version of the Agent API that this
	// repository speaks. 2.10 is the first one that has PushContextState.
	APIMajor = 2
	APIMinor = 10
	// Role says what connects. Coder's server monitors the workspace's agent
	// by the connections whose role is "agent" or missing; any other value
	// leaves what it knows of the workspace's own agent alone.
	Role = "waymark"
)

// The codes that a hub puts on the error of a push, with the numbers that
// gRPC gives them. Coder's server uses CodeUnimplemented only.
const (
	// CodeBusy: too many requests; the same push may succeed later.
	CodeBusy uint64 = 8
	// CodeTooLarge: the message is over MaxMessage, or decoded it would be
	// out of all proportion.
	CodeTooLarge uint64 = 11
	// CodeSuperseded: a newer session of the same agent has taken over.
	CodeSuperseded uint64 = 10
	// CodeUnimplemented is what every generated Unimplemented server says.
	CodeUnimplemented uint64 = drpcerr.Unimplemented
	// CodeUnauthorized: the token is missing, wrong, revoked, or of another
	// role.
	CodeUnauthorized uint64 = 16
)

// IsUnimplemented reports whether err says that the peer doesn't have the
// method. There are two forms: the generated servers' code 12, and the mux's
// own error for a service it doesn't know, whose class and code are lost on
// the way.
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

// IsSuperseded reports whether err says that a newer session of the same
// agent has taken over.
func IsSuperseded(err error) bool {
	return err != nil && drpcerr.Code(err) == CodeSuperseded
}

// The sizes that a receiver insists on, in bytes where nothing else is said.
// They are those of Coder's server: one resource over one of them makes it refuse the
// whole push.
const (
	// MaxSource bounds Resource.source and source_path: in Coder's database
	// the source is part of a btree key.
	MaxSource = 1024
	// MaxError bounds a resource's error and the snapshot's.
	MaxError = 4096
	// MaxHash bounds content and aggregate hashes.
	MaxHash = 64
	// MaxResources bounds the number of resources of one push.
	MaxResources = 1000
	// MaxBodyJSON bounds the protojson form of one body, in which bytes are
	// base64.
	MaxBodyJSON = 256 << 10
	// MaxBodies bounds the sum of the bodies' protojson forms.
	MaxBodies = 4 << 20
	// MaxMessage bounds one encoded message: it is DRPC's default buffer. A
	// longer one makes the receiver drop the stream without saying why.
	MaxMessage = 4 << 20
	// MaxParts bounds the messages within a message (resources, attributes,
	// the values of a schema): decoded, each takes a hundred bytes and more,
	// whatever it took on the wire. It is our hub's own rule, and far above
	// what fits into the other limits by any honest use.
	MaxParts = 500_000
)

// What a hub of ours takes, in bytes where nothing else is said.
const (
	// MaxUpload bounds the payloads of one message: of an Upload 1 MiB, so that what
	// comes over a slow line doesn't begin anew from far back, and of a push what an
	// edit has, which stays one round trip so.
	MaxUpload = 1 << 20
	MaxInline = 64 << 10
	// MaxHubResources and MaxHubBytes bound a snapshot: its resources, and the sum
	// of the lengths of their payloads.
	MaxHubResources = 4000
	MaxHubBytes     = 16 << 20
	// MaxPayload bounds each of them.
	MaxPayload = 256 << 10
	// MaxRows bounds all of a snapshot but its payloads and its head, by claim.Size, so
	// that it fits into a message.
	MaxRows = MaxMessage - 512<<10
)
