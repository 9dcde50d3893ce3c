// Package coder holds the generated code of Coder's Agent API, version 2.10, as far as
// Waymark speaks it: [PushContextStateRequest] and the DRPC service Agent, wire-compatible in
// both directions.
//
// The proto names are Coder's own (package coder.agent.v2), because they are part of the name
// of a method on the wire. A program that links this package together with Coder's
// agent/proto therefore panics at start: the protobuf registry holds a name only once.
//
// Generated messages are safe for concurrent reading, not for concurrent changes. Generate
// with "go generate ./wire/...".
package coder
