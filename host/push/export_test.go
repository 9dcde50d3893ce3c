package push

import (
	"waymark/host/snapshot"
	"waymark/wire"
)

// Prepare lets the tests look at a push without a connection, so that a fuzz
// target can make many.
func Prepare(s *snapshot.Snapshot, protocol wire.Protocol) ([]byte, HeldBack, int, error) {
	content, rep, err := prepare(s, protocol)
	return content, rep.held, rep.mended, err
}
