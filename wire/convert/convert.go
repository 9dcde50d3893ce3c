// Package convert turns snapshots into the messages of both protocols and
// back, so that agent and hub can't differ about what a field means.
//
// It translates and nothing else: it neither mends what a peer would refuse
// (package push does, before sending) nor checks sizes and duplicates (a
// receiver must, because an agent isn't trusted), except that the tools of an
// mcp_server are cleaned while they are translated. Only what has no
// translation is an error. A snapshot goes through waymark.v1 and back
// unchanged; Coder's wire carries less.
//
// Byte slices are shared, not copied: payloads are large and snapshots
// immutable. All functions are safe for concurrent use.
package convert

import (
	"errors"
	"fmt"
	"math"

	"waymark/snapshot"
)

// ErrKind says that a wire has no form for a resource's kind.
var ErrKind = errors.New("the wire doesn't know this kind of resource")

// errMissing says that a list holds a nil message, which no decoder makes.
var errMissing = errors.New("resource is missing")

// inRow says which row of a push couldn't be translated. The index is enough
// to find it, and unlike the source it can't be hostile text.
func inRow(i int, err error) error {
	return fmt.Errorf("resource %d: %w", i, err)
}

// size checks a size that came over the wire: databases and Go count in
// signed integers.
func size(n uint64) (int64, error) {
	if n > math.MaxInt64 {
		return 0, fmt.Errorf("size of %d bytes is out of range", n)
	}
	return int64(n), nil
}

// unsigned is the other way; a negative size means that nothing is known.
func unsigned(n int64) uint64 {
	return uint64(max(n, 0))
}

// orNil makes an empty hash nil, as snapshot.Hash has it.
func orNil(hash []byte) snapshot.Hash {
	if len(hash) == 0 {
		return nil
	}
	return hash
}

// countPayload sets the sum that no wire carries.
func countPayload(s *snapshot.Snapshot) {
	s.PayloadBytes = 0
	for i := range s.Resources {
		s.PayloadBytes += int64(len(s.Resources[i].Payload))
	}
}
