package plan

import (
	"bytes"
	"fmt"

	"waymark/hub/store"
)

// State is what is stored of an agent before a push.
type State struct {
	// Newest is the generation that was given out last for the agent.
	Newest int64
	// Head is the newest revision; nil when the agent never pushed.
	Head *Head
	// Past are the newest revisions, as far as Cut needs them, the newest
	// (Head) first.
	Past []Past
	// Rows are the newest revision's, by id: all of them for a full push, for
	// a delta those of Prepared.Touched that exist.
	Rows map[string]Stored
}

// Head is the newest revision of an agent.
type Head struct {
	Revision, Step, Generation, Version int64
	AggregateHash                       []byte
	SnapshotError, Plugins              string
	Resources                           int
	PayloadBytes                        int64
}

// Stored is what a push has to know of a row that is stored.
type Stored struct {
	// Row is the row's number.
	Row       int64
	Digest    []byte
	Payload   int64 // length
	CreatedAt int64
}

// Plan is what a push writes, or that it writes nothing.
type Plan struct {
	// Accepted is false when nothing is to be written.
	Accepted bool
	// Same says that only the head's version, generation and time change: the
	// push brings what is there.
	Same bool
	// Write are the new and the changed rows, in order of id.
	Write []Write
	// Close are the numbers of the rows that end with this revision: those
	// that are changed and those that are removed.
	Close []int64
	// Removed is how many of them are removed.
	Removed int

	// Step is the new revision's among the agent's own.
	Step int64
	// Resources and PayloadBytes are those of the whole snapshot afterwards.
	Resources    int
	PayloadBytes int64
	// Bytes is what the revision adds to the history.
	Bytes int64
	// Cut is the newest revision that goes, with all that are older; 0 means
	// that none does. Oldest is then the step of the oldest one that stays:
	// rows that hold until then or less go, too.
	Cut, Oldest int64
}

// Write is a row to be written.
type Write struct {
	*Row
	// CreatedAt is when the resource first came, in microseconds.
	CreatedAt int64
}

// Result is what the push's caller is told. revision is the agent's revision
// after the push.
func (p *Plan) Result(revision int64) store.PushResult {
	return store.PushResult{Accepted: p.Accepted, Revision: revision, Written: len(p.Write), Removed: p.Removed}
}

// Decide applies the rules of store.Store.Push to what is stored. now is in
// microseconds since 1970.
func (p *Prepared) Decide(s *State, generation, now int64, keep store.Retention) (*Plan, error) {
	push, version := p.Push, int64(p.Push.Snapshot.Version) //nolint:gosec // CheckPush bounds it
	switch {
	case generation < 1 || generation > s.Newest || s.Head != nil && generation < s.Head.Generation:
		return nil, store.ErrSuperseded
	case push.Delta && (s.Head == nil || s.Head.Generation != generation):
		return nil, store.ErrFullNeeded
	case s.Head != nil && !push.Initial && version <= s.Head.Version:
		return &Plan{}, nil
	case push.Delta && int64(push.BaseVersion) != s.Head.Version: //nolint:gosec // one that is too large is negative, and no version is
		return nil, store.ErrFullNeeded
	}
	plan := &Plan{Accepted: true}
	if push.Delta {
		plan.Resources, plan.PayloadBytes = s.Head.Resources, s.Head.PayloadBytes
	}
	if err := p.rows(s, plan, now); err != nil {
		return nil, err
	}
	if err := p.checkSize(plan); err != nil {
		return nil, err
	}
	plan.Same = s.Head != nil && len(plan.Write) == 0 && plan.Removed == 0 && p.sameHead(s.Head)
	if !plan.Same {
		plan.Bytes += p.headBytes()
		plan.Step = 1
		if s.Head != nil {
			plan.Step = s.Head.Step + 1
		}
		plan.Cut = Cut(s.Past, now, now, keep)
		plan.Oldest = plan.Step
		for _, past := range s.Past {
			if past.Revision > plan.Cut {
				plan.Oldest = past.Step
			}
		}
	}
	return plan, nil
}

// rows compares the push's rows with the stored ones.
func (p *Prepared) rows(s *State, plan *Plan, now int64) error {
	found := 0
	for i := range p.Rows {
		row := &p.Rows[i]
		size := int64(len(row.Resource.Payload))
		old, exists := s.Rows[row.ID]
		if exists {
			found++
		}
		if push := p.Push; !push.Delta || !exists {
			plan.Resources++
			plan.PayloadBytes += size
		} else {
			plan.PayloadBytes += size - old.Payload
		}
		if exists && bytes.Equal(old.Digest, row.Digest[:]) {
			continue
		}
		w := Write{Row: row, CreatedAt: now}
		if exists {
			w.CreatedAt = old.CreatedAt
			plan.Close = append(plan.Close, old.Row)
		}
		plan.Write = append(plan.Write, w)
		plan.Bytes += row.bytes
	}
	if p.Push.Delta {
		return p.remove(s, plan)
	}
	if found < len(s.Rows) {
		p.removeOthers(s, plan)
	}
	return nil
}

// remove is for a delta, which names what is gone.
func (p *Prepared) remove(s *State, plan *Plan) error {
	for _, id := range p.Push.Removed {
		old, exists := s.Rows[id]
		if !exists {
			return store.ErrFullNeeded // the two sides have drifted apart
		}
		plan.Close = append(plan.Close, old.Row)
		plan.Removed++
		plan.Resources--
		plan.PayloadBytes -= old.Payload
	}
	return nil
}

// removeOthers is for a full push: what it doesn't hold is gone.
func (p *Prepared) removeOthers(s *State, plan *Plan) {
	stays := make(map[string]struct{}, len(p.Rows))
	for i := range p.Rows {
		stays[p.Rows[i].ID] = struct{}{}
	}
	for id, old := range s.Rows {
		if _, ok := stays[id]; !ok {
			plan.Close = append(plan.Close, old.Row)
			plan.Removed++
		}
	}
}

func (p *Prepared) checkSize(plan *Plan) error {
	if limit := p.Push.MaxResources; limit > 0 && plan.Resources > limit {
		return fmt.Errorf("%w: %d resources, at most %d are allowed", store.ErrInvalid, plan.Resources, limit)
	}
	if limit := p.Push.MaxPayload; limit > 0 && plan.PayloadBytes > limit {
		return fmt.Errorf("%w: payloads of %d bytes, at most %d are allowed", store.ErrInvalid, plan.PayloadBytes, limit)
	}
	return nil
}

func (p *Prepared) sameHead(h *Head) bool {
	s := &p.Push.Snapshot
	return bytes.Equal(h.AggregateHash, s.AggregateHash) && h.SnapshotError == s.SnapshotError && h.Plugins == p.Plugins
}
