package sqlstore

import (
	"bytes"
	"encoding/json"

	"waymark/hub/store"
	"waymark/snapshot"
	"waymark/wire"
)

// Facts is a stored row of which only the facts change, which no chat pins.
type Facts struct {
	// Row is the row's number.
	Row int64
	ID  string
	// JSON and Whole are the row's new values; Whole is nil if there are no facts.
	JSON  string
	Whole []byte
}

// factsJSON is the stored form of facts.
type factsJSON struct {
	Convention string             `json:"convention,omitempty"`
	Readers    []string           `json:"readers,omitempty"`
	Scope      snapshot.Scope     `json:"scope,omitempty"`
	Findings   []snapshot.Finding `json:"findings,omitempty"`
}

// factsOf returns a resource's facts in stored form.
func factsOf(r *snapshot.Resource) (string, error) {
	if !r.HasFacts() {
		return "", nil
	}
	text, err := json.Marshal(factsJSON{r.Convention, r.Readers, r.Scope, r.Findings})
	return string(text), err
}

// ReadFacts sets a resource's facts from their stored form.
func ReadFacts(text string, r *snapshot.Resource) error {
	if text == "" {
		return nil
	}
	var f factsJSON
	if err := json.Unmarshal([]byte(text), &f); err != nil {
		return err
	}
	r.Convention, r.Readers, r.Scope, r.Findings = f.Convention, f.Readers, f.Scope, f.Findings
	return nil
}

// facts plans the change of a row whose facts alone differ.
func (p *Plan) facts(row *Row, old Stored) error {
	if bytes.Equal(old.Whole, row.Whole[:]) {
		return nil
	}
	text, err := factsOf(row.Resource)
	if err != nil {
		return err
	}
	p.Facts = append(p.Facts, Facts{Row: old.Row, ID: row.ID, JSON: text, Whole: row.StoredWhole()})
	if store.FollowsLive(row.Resource.Kind) {
		p.TouchesLive = true
	}
	return nil
}

// StoredWhole is the stored form of Whole: nil if there are no facts.
func (r *Row) StoredWhole() []byte {
	if !r.Resource.HasFacts() {
		return nil
	}
	return r.Whole[:]
}

// setWhole completes a row that has its digest.
func (r *Row) setWhole() { r.Whole = wire.NameWithFacts(r.Resource, r.Digest) }
