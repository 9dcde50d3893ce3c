package store

import (
	"crypto/sha256"
	"fmt"

	"waymark/snapshot"
	"waymark/wire"
)

// Digest is SHA-256.
type Digest [sha256.Size]byte

// Digests returns the SHA-256 of everything that a store keeps of a resource except its
// facts, which pins ignore, and the SHA-256 of its payload alone.
//
// Implementations store the first with the row, and compare it to detect changes without
// reading the row. The second is the name of the stored payload. It is computed here,
// because the agent's content hash is only a claim.
func Digests(r *snapshot.Resource) (row, payload Digest) {
	payload = sha256.Sum256(r.Payload)
	return wire.ContentName(r, r.Payload != nil, payload), payload
}

// BodyDigests returns the same for a resource whose payload is named by the push. If the
// payload is present but has another name, the error is ErrInvalid.
func BodyDigests(r *snapshot.Resource, body Body) (row, payload Digest, err error) {
	if r.Payload == nil {
		return wire.ContentName(r, true, body.Digest), body.Digest, nil
	}
	row, payload = Digests(r)
	if payload != body.Digest {
		return row, payload, fmt.Errorf("%w: the body has another SHA-256 than was said", ErrInvalid)
	}
	return row, payload, nil
}
