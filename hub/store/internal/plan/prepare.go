package plan

import (
	"encoding/json"
	"slices"
	"strings"

	"waymark/hub/store"
	"waymark/snapshot"
)

// Row is one resource of a push, as it will be written.
type Row struct {
	ID       string
	Resource *snapshot.Resource
	Digest   store.Digest
	// Body names the payload; nil when there is none.
	Body []byte
	// Attributes are JSON.
	Attributes string
	// bytes is what the row adds to the history.
	bytes int64
}

// Prepared is a checked push with all that can be computed without knowing
// what is stored: hashing takes longer than the transaction ought to.
type Prepared struct {
	Push *store.Push
	// Plugins are JSON.
	Plugins string
	// Rows are in order of id, so that transactions that touch the same rows
	// touch them in the same order.
	Rows []Row
}

// Prepare prepares a push. Its error is store.CheckPush's.
func Prepare(p *store.Push) (*Prepared, error) {
	if err := store.CheckPush(p); err != nil {
		return nil, err
	}
	plugins, err := json.Marshal(p.Snapshot.Plugins)
	if err != nil {
		return nil, err
	}
	prepared := &Prepared{Push: p, Plugins: string(plugins), Rows: make([]Row, len(p.Snapshot.Resources))}
	for i := range p.Snapshot.Resources {
		if prepared.Rows[i], err = MakeRow(&p.Snapshot.Resources[i]); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(prepared.Rows, func(a, b Row) int { return strings.Compare(a.ID, b.ID) })
	return prepared, nil
}

// MakeRow prepares one resource.
func MakeRow(r *snapshot.Resource) (Row, error) {
	row := Row{ID: r.ID(), Resource: r, Attributes: "{}"}
	if len(r.Attributes) > 0 {
		attributes, err := json.Marshal(r.Attributes)
		if err != nil {
			return Row{}, err
		}
		row.Attributes = string(attributes)
	}
	var body store.Digest
	row.Digest, body = store.Digests(r)
	if r.Payload != nil {
		row.Body = body[:]
	}
	row.bytes = int64(len(r.Payload) + len(row.Attributes) + len(r.Source) + len(r.Key) + len(r.SourcePath) +
		len(r.Name) + len(r.Description) + len(r.Error) + len(r.Resolver))
	return row, nil
}

// Touched returns the ids that a delta changes or removes.
func (p *Prepared) Touched() []string {
	ids := make([]string, 0, len(p.Rows)+len(p.Push.Removed))
	for i := range p.Rows {
		ids = append(ids, p.Rows[i].ID)
	}
	return append(ids, p.Push.Removed...)
}

// headBytes is what a revision adds to the history on top of its rows.
func (p *Prepared) headBytes() int64 {
	s := &p.Push.Snapshot
	return int64(len(p.Plugins) + len(s.SnapshotError) + len(s.AggregateHash))
}
