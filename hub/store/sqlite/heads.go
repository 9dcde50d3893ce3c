package sqlite

import (
	"bytes"
	"maps"

	"waymark/hub/store/internal/sqlstore"
)

const (
	// maxHeads limits the remembered agents, at some 3 KiB each for their pasts.
	maxHeads = 4096
	// maxHeadRows limits their rows, of some 250 bytes each.
	maxHeadRows = 100_000
)

// head is what is remembered of an agent.
type head struct {
	// past is never empty, and begins with the newest revision.
	past []sqlstore.Past
	// rows are all rows of the newest revision, by id; nil if unknown.
	rows map[string]sqlstore.Stored
}

// heads remembers the state of agents after their last pushes. So a push needn't read all
// rows of an agent to know which ones it changes, nor a hundred revisions to know which one
// is dropped. The key is the newest revision, which no two states share: a state that
// another process pushed or a backup restored has another one. Revisions pruned meanwhile
// are older than those kept, and so decide nothing. Only the writing goroutine uses it.
type heads struct {
	byAgent map[string]*head
	rows    int
}

// get returns the head with that newest revision, or nil. It must not be changed until the
// transaction is committed.
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

// forget forgets an agent's head. It must be called before the agent's rows are changed.
func (h *heads) forget(agentID string) {
	if old := h.byAgent[agentID]; old != nil {
		h.rows -= len(old.rows)
		delete(h.byAgent, agentID)
	}
}

// apply applies a plan to all rows. numbers are those of the written rows.
func apply(rows map[string]sqlstore.Stored, decided *sqlstore.Plan, numbers []int64) map[string]sqlstore.Stored {
	if decided.Removed > 0 {
		closed := make(map[int64]bool, len(decided.Close))
		for _, number := range decided.Close {
			closed[number] = true
		}
		maps.DeleteFunc(rows, func(_ string, row sqlstore.Stored) bool { return closed[row.Row] })
	}
	if rows == nil {
		rows = make(map[string]sqlstore.Stored, len(decided.Write))
	}
	for i := range decided.Write {
		w := &decided.Write[i]
		stored := sqlstore.Stored{Row: numbers[i], Digest: bytes.Clone(w.Digest[:]), Payload: w.Size, Rest: w.Rest, CreatedAt: w.CreatedAt}
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

// wholeOf returns the digest of a row with its facts, if it has any, without the rest of
// its push.
func wholeOf(whole, digest []byte) []byte {
	if whole == nil {
		return digest
	}
	return bytes.Clone(whole)
}
