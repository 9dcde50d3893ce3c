package store

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"maps"
	"slices"

	"waymark/host/snapshot"
)

// RowDigest returns SHA-256 over everything that a store keeps of a resource.
// Implementations keep it beside the row and compare it to tell whether a
// push changes the row, without reading the row back.
func RowDigest(r *snapshot.Resource) [sha256.Size]byte {
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
	d.bytes(r.Payload)
	return [sha256.Size]byte(d.h.Sum(nil))
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
