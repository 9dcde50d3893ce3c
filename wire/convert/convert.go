// Package convert translates snapshots to the messages of both protocols and back, so that
// agent and hub agree on the meaning of every field.
//
// It only translates. It neither mends what a peer would refuse, which package push does
// before sending, nor checks sizes and duplicates, which a receiver must do because an agent
// isn't trusted. One exception: the tools of an mcp_server are cleaned while they are
// translated. Only what has no translation is an error. A snapshot goes through waymark.v1
// and back unchanged; Coder's wire carries less.
//
// Byte slices are shared, not copied: payloads are large and snapshots immutable. All
// functions are safe for concurrent use.
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

// inRow adds to an error which row of a push couldn't be translated. The index suffices to
// find it and, unlike the source, can't be hostile text.
func inRow(i int, err error) error {
	return fmt.Errorf("resource %d: %w", i, err)
}

// size checks a size from the wire, because databases and Go use signed integers.
func size(n uint64) (int64, error) {
	if n > math.MaxInt64 {
		return 0, fmt.Errorf("size of %d bytes is out of range", n)
	}
	return int64(n), nil
}

// unsigned is the inverse of size; a negative size means that nothing is known.
func unsigned(n int64) uint64 {
	return uint64(max(n, 0))
}

// orNil makes an empty hash nil, as snapshot.Hash requires.
func orNil(hash []byte) snapshot.Hash {
	if len(hash) == 0 {
		return nil
	}
	return hash
}

// countPayload sets the sum, which no wire carries.
func countPayload(s *snapshot.Snapshot) {
	s.PayloadBytes = 0
	for i := range s.Resources {
		s.PayloadBytes += int64(len(s.Resources[i].Payload))
	}
}
