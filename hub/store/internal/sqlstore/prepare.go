package sqlstore

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"waymark/hub/store"
	"waymark/snapshot"
	"waymark/wire"
)

// Row is one resource of a push, in the form to be written.
type Row struct {
	ID       string
	Resource *snapshot.Resource
	// Digest covers what a history has of the resource, Whole also its facts.
	Digest, Whole store.Digest
	// Index is the resource's in the push.
	Index int
	// Body names the payload; nil if there is none. Size is its length.
	Body []byte
	Size int64
	// Rest is wire.RowSize.
	Rest int64
}

// Prepared is a checked push with everything that can be computed without the stored state,
// because hashing takes longer than a transaction should.
type Prepared struct {
	Push *store.Push
	// Head is the snapshot's.
	Head Values
	// Rows are ordered by id, so that transactions touch the same rows in the same order.
	Rows []Row
}

// Prepare prepares a push. Its error is store.CheckPush's.
func Prepare(p *store.Push) (*Prepared, error) {
	if err := store.CheckPush(p); err != nil {
		return nil, err
	}
	head, err := wire.HeadOf(&p.Snapshot)
	if err != nil {
		return nil, err
	}
	summary, err := json.Marshal(p.Snapshot.Discovery.Summary())
	if err != nil {
		return nil, err
	}
	prepared := &Prepared{
		Push: p, Rows: make([]Row, len(p.Snapshot.Resources)),
	}
	for i := range p.Snapshot.Resources {
		if prepared.Rows[i], err = makeRow(p, i); err != nil {
			return nil, fmt.Errorf("resource %d: %w", i, err)
		}
	}
	prepared.Head = Values{
		Hash: string(head.AggregateHash), SnapshotError: head.SnapshotError,
		Plugins: head.Plugins, Discovery: head.Discovery, Summary: string(summary),
	}
	for i := range p.Snapshot.Plugins {
		if p.Snapshot.Plugins[i].Failing() {
			prepared.Head.Failing++
		}
	}
	slices.SortFunc(prepared.Rows, func(a, b Row) int { return strings.Compare(a.ID, b.ID) })
	return prepared, nil
}

// makeRow prepares one resource.
func makeRow(p *store.Push, i int) (Row, error) {
	r := &p.Snapshot.Resources[i]
	row := Row{ID: r.ID(), Resource: r, Index: i, Size: int64(len(r.Payload)), Rest: int64(wire.RowSize(r))}
	named, isNamed := p.Bodies[i]
	var body store.Digest
	if isNamed {
		var err error
		if row.Digest, body, err = store.BodyDigests(r, named); err != nil {
			return Row{}, err
		}
		row.Size = named.Size
	} else {
		row.Digest, body = store.Digests(r)
	}
	row.setWhole()
	if isNamed || r.Payload != nil {
		row.Body = body[:]
	}
	return row, nil
}

// attributes returns the resource's attributes as JSON.
func (r *Row) attributes() (string, error) {
	if len(r.Resource.Attributes) == 0 {
		return "{}", nil
	}
	list, err := json.Marshal(r.Resource.Attributes)
	return string(list), err
}

// bytes is what the row adds to the history.
func (w *Write) bytes() int64 {
	n := len(w.Attributes) + len(w.Facts)
	for _, s := range w.Resource.Texts() {
		n += len(*s)
	}
	return w.Size + int64(n)
}

// withheld reports whether the row has a payload that isn't in the push.
func (r *Row) withheld() bool { return r.Body != nil && r.Resource.Payload == nil }

// Withheld returns the names of the payloads that aren't in the push and don't follow from
// the rows of s. State.Bodies must have those of them that the agent has.
func (p *Prepared) Withheld(s *State) (names [][]byte) {
	for i := range p.Rows {
		row := &p.Rows[i]
		if row.withheld() && !bytes.Equal(s.Rows[row.ID].Digest, row.Digest[:]) {
			names = append(names, row.Body)
		}
	}
	return names
}

// Touched returns the ids that a partial push changes or removes.
func (p *Prepared) Touched() []string {
	ids := make([]string, 0, len(p.Rows)+len(p.Push.Update.Removed))
	for i := range p.Rows {
		ids = append(ids, p.Rows[i].ID)
	}
	return append(ids, p.Push.Update.Removed...)
}

// Bytes is the total length of the payloads in the push.
func (p *Prepared) Bytes() (n int64) {
	for i := range p.Rows {
		n += int64(len(p.Rows[i].Resource.Payload))
	}
	return n
}

// name is the name of the push's content, if that is a complete snapshot.
func (p *Prepared) name() wire.Name {
	rows := make([][sha256.Size]byte, len(p.Rows))
	for i := range p.Rows {
		rows[i] = p.Rows[i].Whole
	}
	h := &p.Head
	return wire.NameOf(&wire.Head{AggregateHash: []byte(h.Hash), SnapshotError: h.SnapshotError, Plugins: h.Plugins, Discovery: h.Discovery}, rows)
}

// Name returns the name stored with the result of the push; nil for none.
func (p *Prepared) Name() []byte {
	if p.Push.Update == nil {
		return nil
	}
	return p.Push.Update.Name[:]
}
