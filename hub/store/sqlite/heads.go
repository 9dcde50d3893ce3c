package sqlite

import (
	"bytes"
	"maps"

	"waymark/hub/store/internal/plan"
)

const (
	// maxHeads bounds the agents of which something is remembered, at some 3 KiB each
	// for their pasts.
	maxHeads = 4096
	// maxHeadRows bounds their rows, of some 250 bytes each.
	maxHeadRows = 100_000
)

// head is what is remembered of an agent.
type head struct {
	// past is never empty, and begins with the newest revision.
	past []plan.Past
	// rows are all that the newest revision has, by id; nil when they aren't known.
	rows map[string]plan.Stored
}

// heads remembers agents as their last pushes have left them, so that a push doesn't
// read all of an agent's rows to know which of them it changes, and a hundred
// revisions to know which one goes. It is by the newest revision, which no two states
// have in common: whatever another process pushes, or a restored backup holds, is
// another one. What was pruned meanwhile is older than is kept, and so decides
// nothing. It belongs to the goroutine that writes.
type heads struct {
	byAgent map[string]*head
	rows    int
}

// get returns the head whose newest revision is that one; nil when it isn't known.
// Until the transaction is committed it isn't to be changed.
func (h *heads) get(agentID string, revision int64) *head {
	if known := h.byAgent[agentID]; known != nil && known.past[0].Revision == revision {
		return known
	}
	return nil
}

// put remembers an agent's head.
func (h *heads) put(agentID string, known *head) {
	h.forget(agentID)
	if h.byAgent == nil || len(h.byAgent) >= maxHeads || h.rows+len(known.rows) > maxHeadRows {
		h.byAgent, h.rows = make(map[string]*head), 0
	}
	if len(known.rows) > maxHeadRows {
		known.rows = nil
	}
	h.byAgent[agentID] = known
	h.rows += len(known.rows)
}

// forget forgets an agent's head, which is to be done before its rows are changed.
func (h *heads) forget(agentID string) {
	if old := h.byAgent[agentID]; old != nil {
		h.rows -= len(old.rows)
		delete(h.byAgent, agentID)
	}
}

// apply makes of all rows what a plan has made of them. numbers are those of the rows
// that were written.
func apply(rows map[string]plan.Stored, decided *plan.Plan, numbers []int64) map[string]plan.Stored {
	if decided.Removed > 0 {
		closed := make(map[int64]bool, len(decided.Close))
		for _, number := range decided.Close {
			closed[number] = true
		}
		maps.DeleteFunc(rows, func(_ string, row plan.Stored) bool { return closed[row.Row] })
	}
	if rows == nil {
		rows = make(map[string]plan.Stored, len(decided.Write))
	}
	for i := range decided.Write {
		w := &decided.Write[i]
		stored := plan.Stored{Row: numbers[i], Digest: bytes.Clone(w.Digest[:]), Payload: w.Size, Rest: w.Rest, CreatedAt: w.CreatedAt}
		stored.Whole = wholeOf(w.StoredWhole(), stored.Digest)
		rows[w.ID] = stored
	}
	for _, f := range decided.Facts {
		stored := rows[f.ID]
		stored.Whole = wholeOf(f.Whole, stored.Digest)
		rows[f.ID] = stored
	}
	return rows
}

// wholeOf is the digest of a row with its facts, where it has some, without the rest of
// the push that it is from.
func wholeOf(whole, digest []byte) []byte {
	if whole == nil {
		return digest
	}
	return bytes.Clone(whole)
}
