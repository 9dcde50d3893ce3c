package store

import (
	"crypto/sha256"
	"fmt"

	"waymark/snapshot"
	"waymark/wire/fingerprint"
)

// Digest is SHA-256.
type Digest [sha256.Size]byte

// Digests returns SHA-256 over everything that a store keeps of a resource but its
// facts, which no chat pins, and over its payload alone.
//
// Implementations keep the first with the row and compare it to tell
// whether a push changes the row, without reading the row back. The second is
// the name under which they keep the payload; it is computed here, since what
// an agent says of its content's hash is no more than what it says.
func Digests(r *snapshot.Resource) (row, payload Digest) {
	payload = sha256.Sum256(r.Payload)
	return fingerprint.Content(r, r.Payload != nil, payload), payload
}

// BodyDigests returns the same of a resource whose payload has a name that the
// push says. A payload that is there must have that name; ErrInvalid.
func BodyDigests(r *snapshot.Resource, body Body) (row, payload Digest, err error) {
	if r.Payload == nil {
		return fingerprint.Content(r, true, body.Digest), body.Digest, nil
	}
	row, payload = Digests(r)
	if payload != body.Digest {
		return row, payload, fmt.Errorf("%w: the body has another SHA-256 than was said", ErrInvalid)
	}
	return row, payload, nil
}
