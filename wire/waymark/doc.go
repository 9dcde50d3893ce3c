// Package waymark holds the generated code of the Waymark context protocol,
// version 1: how an agent brings its whole snapshot to a hub. Over DRPC the
// method is called /waymark.v1.Context/Push.
//
// A push is a change against what the hub has of the agent, by its name (package
// wire), also on a new connection. Without such a base it is everything.
// The constants of package wire bound the sizes. Package wire/convert turns snapshots
// into messages and back.
//
// Generated messages are safe for concurrent reading, not for concurrent
// changes. Generate with "go generate ./wire/...".
package waymark
