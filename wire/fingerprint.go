package wire

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"maps"
	"slices"

	"waymark/snapshot"
)

// Name is the name of a snapshot.
type Name [sha256.Size]byte

// Head is what a snapshot has besides its resources. Plugins and Discovery are JSON.
type Head struct {
	AggregateHash                     []byte
	SnapshotError, Plugins, Discovery string
}

// HeadOf returns the head of a snapshot in the form in which it arrives over the wire.
func HeadOf(s *snapshot.Snapshot) (h Head, err error) {
	plugins, err := json.Marshal(s.Plugins)
	if err != nil {
		return Head{}, err
	}
	discovery, err := json.Marshal(s.Discovery)
	return Head{s.AggregateHash, s.SnapshotError, string(plugins), string(discovery)}, err
}

// NameOf returns the name of a snapshot with the head and those rows, which must be distinct, in
// any order. It sorts rows.
func NameOf(h *Head, rows [][sha256.Size]byte) Name {
	slices.SortFunc(rows, func(a, b [sha256.Size]byte) int { return bytes.Compare(a[:], b[:]) })
	d := make(digester, 0, rowText+len(h.SnapshotError)+len(h.Plugins)+len(h.Discovery)+len(rows)*sha256.Size)
	d.text("waymark claim 1")
	d.bytes(h.AggregateHash)
	d.text(h.SnapshotError)
	d.text(h.Plugins)
	d.text(h.Discovery)
	d.number(uint64(len(rows)))
	for i := range rows {
		d = append(d, rows[i][:]...)
	}
	return sha256.Sum256(d)
}

// RowSize is what a resource counts for MaxRows: at least what it takes in a push, without
// its payload.
func RowSize(r *snapshot.Resource) int {
	const fields = 200 // tags, lengths, numbers, and the name of a payload
	n := fields + len(r.ContentHash)
	for _, s := range r.Texts() {
		n += len(*s)
	}
	const attribute, item = 40, 8
	for key, a := range r.Attributes {
		n += attribute + len(key) + len(a.Text)
		for _, s := range a.List {
			n += item + len(s)
		}
	}
	n += len(r.Convention) + len(r.Scope)
	for _, reader := range r.Readers {
		n += item + len(reader)
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		n += attribute + len(f.Code) + len(f.Severity) + len(f.Message)
	}
	return n
}

// RowName returns the SHA-256 over everything that a hub keeps of a resource. payload is that of
// its payload, if hasPayload.
func RowName(r *snapshot.Resource, hasPayload bool, payload [sha256.Size]byte) [sha256.Size]byte {
	return NameWithFacts(r, ContentName(r, hasPayload, payload))
}

// NameWithFacts returns the RowName of a resource with the given ContentName. A resource without facts
// has the same name as before facts were introduced.
func NameWithFacts(r *snapshot.Resource, content [sha256.Size]byte) [sha256.Size]byte {
	if !r.HasFacts() {
		return content
	}
	d := make(digester, 0, rowText)
	d.bytes(content[:])
	d.text("facts")
	d.text(r.Convention)
	d.text(string(r.Scope))
	d.number(uint64(len(r.Readers)))
	for _, reader := range r.Readers {
		d.text(reader)
	}
	d.number(uint64(len(r.Findings)))
	for _, f := range r.Findings {
		d.text(f.Code)
		d.text(string(f.Severity))
		d.text(f.Message)
	}
	return sha256.Sum256(d)
}

// ContentName is RowName without the facts, which no chat pins: while it is unchanged, so is the
// resource in a history.
func ContentName(r *snapshot.Resource, hasPayload bool, payload [sha256.Size]byte) [sha256.Size]byte {
	d := make(digester, 0, rowText+len(r.Description)+len(r.Source)+len(r.SourcePath)+len(r.Error))
	for _, s := range r.Texts() {
		d.text(*s)
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
	d.flag(hasPayload)
	d.bytes(payload[:])
	return sha256.Sum256(d)
}

// rowText is room for what is usually short in a row.
const rowText = 512

// digester gathers values so that different rows have different bytes: everything of variable
// length is preceded by its length. Passing the values to a hash one by one takes twice as
// long.
type digester []byte

func (d *digester) number(n uint64) { *d = binary.BigEndian.AppendUint64(*d, n) }

func (d *digester) bytes(b []byte) {
	d.number(uint64(len(b)))
	*d = append(*d, b...)
}

func (d *digester) text(s string) {
	d.number(uint64(len(s)))
	*d = append(*d, s...)
}

func (d *digester) flag(b bool) {
	if b {
		d.number(1)
		return
	}
	d.number(0)
}
