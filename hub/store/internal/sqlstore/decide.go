package sqlstore

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"waymark/abi"
	"waymark/hub/store"
)

// Decide applies the rules of store.Store.Push to the stored state. now is in microseconds
// since 1970.
func (p *Prepared) Decide(s *State, generation, now int64, keep store.Retention) (*Plan, error) {
	push, version := p.Push, int64(p.Push.Snapshot.Version) //nolint:gosec // CheckPush bounds it
	switch {
	case generation < 1 || generation > s.Newest || s.Head != nil && generation < s.Head.Generation:
		return nil, store.ErrSuperseded
	case s.Head != nil && version <= s.Head.Version && !push.Initial && (push.Update == nil || s.Head.Generation == generation):
		return &Plan{}, nil
	case push.Partial() && (s.Head == nil || !bytes.Equal(s.Head.Name, push.Update.Base[:])):
		return nil, store.ErrFullNeeded
	}
	plan := &Plan{Accepted: true}
	if push.Partial() {
		plan.Resources, plan.PayloadBytes, plan.RowBytes = s.Head.Resources, s.Head.PayloadBytes, s.Head.RowBytes
	}
	if plan.Head = p.Head; push.Update != nil && !push.Update.Head {
		plan.Head = s.Head.Values
	}
	if err := p.rows(s, plan, now); err != nil {
		return nil, err
	}
	if err := p.checkSize(plan); err != nil {
		return nil, err
	}
	if len(plan.Missing) > 0 {
		slices.Sort(plan.Missing)
		return &Plan{Missing: plan.Missing}, nil
	}
	plan.Same = s.Head != nil && len(plan.Write) == 0 && len(plan.Facts) == 0 && plan.Removed == 0 && s.Head.Values == plan.Head
	if !plan.Same {
		if err := plan.touch(s.Head == nil || s.Head.Discovery != plan.Head.Discovery); err != nil {
			return nil, err
		}
		plan.Bytes += plan.Head.bytes() + int64(len(plan.TouchedJSON))
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
	found, partial := 0, p.Push.Partial()
	for i := range p.Rows {
		row := &p.Rows[i]
		old, exists := s.Rows[row.ID]
		if exists {
			found++
		}
		plan.PayloadBytes += row.Size
		plan.RowBytes += row.Rest
		if partial && exists {
			plan.PayloadBytes -= old.Payload
			plan.RowBytes -= old.Rest
		} else {
			plan.Resources++
		}
		same := exists && bytes.Equal(old.Digest, row.Digest[:])
		if row.withheld() {
			size, known := old.Payload, same
			if !same {
				size, known = s.Bodies[store.Digest(row.Body)]
			}
			switch {
			case !known:
				plan.Missing = append(plan.Missing, row.Index)
			case size != row.Size:
				return fmt.Errorf("%w: resource %d: the body has %d bytes and should have %d", store.ErrInvalid, row.Index, size, row.Size)
			}
		}
		if same {
			if err := plan.facts(row, old); err != nil {
				return err
			}
			continue
		}
		attributes, err := row.attributes()
		if err != nil {
			return err
		}
		facts, err := factsOf(row.Resource)
		if err != nil {
			return err
		}
		w := Write{Row: row, Attributes: attributes, Facts: facts, CreatedAt: now}
		if exists {
			w.CreatedAt = old.CreatedAt
			plan.Close = append(plan.Close, old.Row)
			plan.Changed++
		} else {
			plan.Added++
		}
		plan.Touched = append(plan.Touched, row.ID)
		plan.Write = append(plan.Write, w)
		plan.Bytes += w.bytes()
	}
	if partial {
		return p.remove(s, plan)
	}
	if p.Push.Update != nil && p.name() != p.Push.Update.Name {
		return fmt.Errorf("%w: what the push brings has another name than it says", store.ErrInvalid)
	}
	if found < len(s.Rows) {
		p.removeOthers(s, plan)
	}
	return nil
}

// remove handles a partial push, which names the removed rows.
func (p *Prepared) remove(s *State, plan *Plan) error {
	for _, id := range p.Push.Update.Removed {
		old, exists := s.Rows[id]
		if !exists {
			return store.ErrFullNeeded // agent and hub disagree about the rows
		}
		plan.Close = append(plan.Close, old.Row)
		plan.Touched = append(plan.Touched, id)
		plan.Removed++
		plan.Resources--
		plan.PayloadBytes -= old.Payload
		plan.RowBytes -= old.Rest
	}
	return nil
}

// removeOthers handles a complete push: rows that it doesn't hold are removed.
func (p *Prepared) removeOthers(s *State, plan *Plan) {
	stays := make(map[string]struct{}, len(p.Rows))
	for i := range p.Rows {
		stays[p.Rows[i].ID] = struct{}{}
	}
	for id, old := range s.Rows {
		if _, ok := stays[id]; !ok {
			plan.Close = append(plan.Close, old.Row)
			plan.Touched = append(plan.Touched, id)
			plan.Removed++
		}
	}
}

// touch sorts and limits the touched ids, and sets what follows from them. discovered says
// that the discovery has changed.
func (p *Plan) touch(discovered bool) error {
	slices.Sort(p.Touched)
	p.TouchesLive = p.TouchesLive || discovered || slices.ContainsFunc(p.Touched, func(id string) bool {
		kind, _, _ := strings.Cut(id, ":")
		return store.FollowsLive(abi.Kind(kind))
	})
	p.Touched = p.Touched[:min(len(p.Touched), store.MaxTouched)]
	p.TouchedJSON = "[]"
	if len(p.Touched) == 0 {
		return nil
	}
	list, err := json.Marshal(p.Touched)
	p.TouchedJSON = string(list)
	return err
}

func (p *Prepared) checkSize(plan *Plan) error {
	if limit := p.Push.MaxResources; limit > 0 && plan.Resources > limit {
		return fmt.Errorf("%w: %d resources, at most %d are allowed", store.ErrInvalid, plan.Resources, limit)
	}
	if limit := p.Push.MaxRows; limit > 0 && plan.RowBytes > limit {
		return fmt.Errorf("%w: resources are longer than %d bytes together, without their payloads", store.ErrInvalid, limit)
	}
	if limit := p.Push.MaxPayload; limit > 0 && plan.PayloadBytes > limit {
		return fmt.Errorf("%w: payloads of %d bytes, at most %d are allowed", store.ErrInvalid, plan.PayloadBytes, limit)
	}
	return nil
}

// Past is what Cut needs to know about a revision.
type Past struct {
	Revision  int64
	Step      int64
	CreatedAt int64 // microseconds
	Bytes     int64 // number of bytes that it wrote
}

// Cut returns the newest of the past revisions to be dropped, with all older ones. 0 means
// that all are kept.
//
// past begins with the revision before the newest one, which is always kept; ended is when
// that one ceased to be the newest. past needs no more than keep.Revisions entries. keep is
// effective.
func Cut(past []Past, ended, now int64, keep store.Retention) int64 {
	var total int64
	for i, r := range past {
		total += r.Bytes
		if i+1 >= keep.Revisions || total > keep.Bytes || ended < now-keep.Age.Microseconds() {
			return r.Revision
		}
		ended = r.CreatedAt
	}
	return 0
}
