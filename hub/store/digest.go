package store

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"maps"
	"slices"

	"waymark/snapshot"
)

// Digest is SHA-256.
type Digest [sha256.Size]byte

// Digests returns SHA-256 over everything that a store keeps of a resource,
// and over its payload alone.
//
// Implementations keep the first with the row and compare it to tell
// whether a push changes the row, without reading the row back. The second is
// the name under which they keep the payload; it is computed here, since what
// an agent says of its content's hash is no more than what it says.
func Digests(r *snapshot.Resource) (row, payload Digest) {
	payload = sha256.Sum256(r.Payload)
	d := digester{h: sha256.New()}
	for _, s := range []string{
		string(r.Kind), r.Source, r.Key, r.SourcePath, r.Name, r.Description,
		string(r.Status), r.Error, r.Resolver,
	} {
		d.text(s)
	}
	d.flag(r.Stale)
	d.number(uint64(r.SizeBytes)) //nolint:gosec // a bijection is all that is needed
	d.bytes(r.ContentHash)
	d.number(uint64(len(r.Attributes)))
	for _, k := range slices.Sorted(maps.Keys(r.Attributes)) {
		a := r.Attributes[k]
		d.text(k)
		d.text(a.Text)
		d.flag(a.List != nil)
		d.number(uint64(len(a.List)))
		for _, s := range a.List {
			d.text(s)
		}
	}
	d.flag(r.Payload != nil)
	d.bytes(payload[:])
	return Digest(d.h.Sum(nil)), payload
}

// digester writes values so that no two different rows write the same bytes:
// everything of variable length is preceded by its length.
type digester struct{ h hash.Hash }

func (d digester) number(n uint64) { d.h.Write(binary.BigEndian.AppendUint64(nil, n)) }

func (d digester) bytes(b []byte) {
	d.number(uint64(len(b)))
	d.h.Write(b)
}

func (d digester) text(s string) { d.bytes([]byte(s)) }

func (d digester) flag(b bool) {
	if b {
		d.number(1)
		return
	}
	d.number(0)
}
