package sqlstore

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"waymark/hub/store"
	"waymark/snapshot"
)

const changeColumns = "SELECT revision, agent_id, version, aggregate_hash, resources, created_at, added, changed, removed, touched, summary, failing FROM snapshots "

// History implements store.Store.
func (c *Core) History(ctx context.Context, agentID string) (list []store.Change, err error) {
	if !store.Findable(agentID) {
		return nil, &store.NotFoundError{What: "agent", ID: agentID}
	}
	err = c.Database.Read(ctx, func(tx Tx) error {
		list, err = readChanges(ctx, tx, changeColumns+"WHERE agent_id = $1 ORDER BY revision DESC", agentID)
		if err == nil && len(list) == 0 {
			err = checkAgent(ctx, tx, agentID)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list history: %w", err)
	}
	return list, nil
}

func readTouched(text string, ch *store.Change) error {
	if text == "[]" {
		return nil
	}
	return json.Unmarshal([]byte(text), &ch.Touched)
}

func readChanges(ctx context.Context, tx Tx, query string, args ...any) ([]store.Change, error) {
	var list []store.Change
	err := each(ctx, tx, query, args, func(rows Rows) error {
		var ch store.Change
		var version, created int64
		var hash []byte
		var touched, summary string
		err := rows.Scan(&ch.Revision, &ch.AgentID, &version, &hash, &ch.Resources, &created, &ch.Added, &ch.Changed, &ch.Removed, &touched, &summary, &ch.FailingPlugins)
		if err != nil {
			return err
		}
		ch.Version = uint64(version) //nolint:gosec // >= 0 by CHECK
		ch.AggregateHash, ch.At = toHash(hash), toTime(created)
		err = errors.Join(readTouched(touched, &ch), json.Unmarshal([]byte(summary), &ch.Discovery))
		list = append(list, ch)
		return err
	})
	return list, err
}

// Diff implements store.Store.
func (c *Core) Diff(ctx context.Context, agentID string, from, to int64) (list []store.ResourceChange, err error) {
	if !store.Findable(agentID) {
		return nil, &store.NotFoundError{What: "agent", ID: agentID}
	}
	err = c.Database.View(ctx, func(tx Tx) error {
		a, err := resolve(ctx, tx, store.Query{AgentID: agentID, Revision: from})
		if err != nil {
			return err
		}
		b, err := resolve(ctx, tx, store.Query{AgentID: agentID, Revision: to})
		if err != nil {
			return err
		}
		list, err = readDiff(ctx, tx, diffQuery, agentID, min(a, b), max(a, b))
		if a > b {
			for i := range list {
				list[i].Before, list[i].After = list[i].After, list[i].Before
			}
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("compare revisions: %w", err)
	}
	return list, nil
}

// The rows of agent $1 that are valid at exactly one of the steps $2 and $3, the later one;
// three parts because of the indices. Rows valid at both, and those added and removed in
// between, are left out.
const diffRows = "SELECT " + resourceColumns + ", b.payload, r.digest, CASE WHEN r.since <= $2 THEN 0 ELSE 1 END AS later" + fromFull

const diffQuery = diffRows + "r.agent_id = $1 AND r.until > $2 AND r.until <= $3 AND r.since <= $2 UNION ALL " +
	diffRows + "r.agent_id = $1 AND r.until IS NULL AND r.since > $2 AND r.since <= $3 UNION ALL " +
	diffRows + "r.agent_id = $1 AND r.until > $3 AND r.since > $2 AND r.since <= $3 ORDER BY id, later"

func readDiff(ctx context.Context, tx Tx, query string, args ...any) ([]store.ResourceChange, error) {
	var list []store.ResourceChange
	var before []byte // the digest of the last one's Before
	err := each(ctx, tx, query, args, func(rows Rows) error {
		r := new(snapshot.Resource)
		var digest []byte
		var later int
		if err := scanResource(rows, r, true, &digest, &later); err != nil {
			return err
		}
		if later == 0 {
			list, before = append(list, store.ResourceChange{ID: r.ID(), Before: r}), digest
			return nil
		}
		last := len(list) - 1
		switch id := r.ID(); {
		case last < 0 || list[last].ID != id:
			list = append(list, store.ResourceChange{ID: id, After: r})
		case bytes.Equal(before, digest): // changed, and changed back
			list = list[:last]
		default:
			list[last].After = r
		}
		return nil
	})
	return list, err
}
