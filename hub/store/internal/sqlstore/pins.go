package sqlstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"waymark/hub/store"
)

const selectPins = `SELECT p.id, p.agent_id, p.name, p.revision, p.aggregate_hash, p.created_at, p.pinned_at, p.drifted_at,
	p.drift_revision, p.changed, NOT EXISTS (SELECT 1 FROM agents a WHERE a.id = p.agent_id) FROM pins p `

func scanPin(rows Rows, p *store.Pin) error {
	var hash []byte
	var created int64
	var pinned, drifted *int64
	err := rows.Scan(&p.ID, &p.AgentID, &p.Name, &p.Revision, &hash, &created, &pinned, &drifted, &p.DriftRevision, &p.Changed, &p.AgentGone)
	p.AggregateHash = toHash(hash)
	p.CreatedAt, p.PinnedAt, p.DriftedAt = toTime(created), nullTime(pinned), nullTime(drifted)
	return err
}

func readPins(ctx context.Context, tx Tx, where string, args ...any) (list []store.Pin, err error) {
	err = each(ctx, tx, selectPins+where, args, func(rows Rows) error {
		var p store.Pin
		err := scanPin(rows, &p)
		list = append(list, p)
		return err
	})
	return list, err
}

func readPin(ctx context.Context, tx Tx, id string) (store.Pin, error) {
	list, err := readPins(ctx, tx, "WHERE p.id = $1", id)
	if err == nil && len(list) == 0 {
		err = &store.NotFoundError{What: "pin", ID: id}
	}
	if err != nil {
		return store.Pin{}, err
	}
	return list[0], nil
}

// Pins implements store.Pins.
func (c *Core) Pins(ctx context.Context, agentID string) (list []store.Pin, err error) {
	if !store.Findable(agentID) {
		return nil, nil
	}
	err = c.Database.Read(ctx, func(tx Tx) error {
		list, err = readPins(ctx, tx, "WHERE $1 = '' OR p.agent_id = $1 ORDER BY p.created_at, p.id", agentID)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list pins: %w", err)
	}
	return list, nil
}

// Pin implements store.Pins.
func (c *Core) Pin(ctx context.Context, id string) (pin store.Pin, err error) {
	if !store.Findable(id) {
		return pin, &store.NotFoundError{What: "pin", ID: id}
	}
	err = c.Database.Read(ctx, func(tx Tx) error {
		pin, err = readPin(ctx, tx, id)
		return err
	})
	if err != nil {
		return store.Pin{}, fmt.Errorf("read pin: %w", err)
	}
	return pin, nil
}

// lockAgent blocks pushes of the agent, and reports whether the agent exists. It comes
// before the transaction's first write, so that an agent's events are in order.
func (c *Core) lockAgent(ctx context.Context, tx Tx, id string) (exists bool, err error) {
	if err := c.LockAgents(ctx, tx, id); err != nil {
		return false, err
	}
	err = checkAgent(ctx, tx, id)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// LockAgents blocks pushes of agents, which may not exist.
func (c *Core) LockAgents(ctx context.Context, tx Tx, ids ...string) error {
	what := make([]string, len(ids))
	for i, id := range ids {
		what[i] = "agent " + id
	}
	return c.lock(ctx, tx, what...)
}

func (c *Core) lock(ctx context.Context, tx Tx, what ...string) error {
	if c.Lock == "" {
		return nil
	}
	return each(ctx, tx, c.Lock, []any{what}, func(Rows) error { return nil })
}

func (c *Core) nextRevision(ctx context.Context, tx Tx) (revision int64, err error) {
	err = one(ctx, tx, c.NextRevision, nil, &revision)
	return revision, err
}

// CreatePin implements store.Pins.
func (c *Core) CreatePin(ctx context.Context, agentID, name string) (pin store.Pin, err error) {
	if err := store.CheckPinName(name); err != nil {
		return pin, fmt.Errorf("create pin: %w", err)
	}
	if !store.Findable(agentID) {
		return pin, fmt.Errorf("create pin: %w", &store.NotFoundError{What: "agent", ID: agentID})
	}
	id, now := uuid.NewString(), c.Stamp()
	err = c.Database.Update(ctx, func(tx Tx) error {
		if pin, err = readPin(ctx, tx, id); !errors.Is(err, store.ErrNotFound) {
			return err // an earlier try had been stored after all
		}
		pin, err = c.createPin(ctx, tx, store.Pin{ID: id, AgentID: agentID, Name: name, CreatedAt: toTime(now)}, now)
		return err
	})
	if err != nil {
		return store.Pin{}, fmt.Errorf("create pin: %w", err)
	}
	c.Notices.Give()
	return pin, nil
}

func (c *Core) createPin(ctx context.Context, tx Tx, pin store.Pin, now int64) (store.Pin, error) {
	exists, err := c.lockAgent(ctx, tx, pin.AgentID)
	if err == nil && !exists {
		err = &store.NotFoundError{What: "agent", ID: pin.AgentID}
	}
	if err != nil {
		return pin, err
	}
	var count int64
	if err := one(ctx, tx, "SELECT count(*) FROM pins WHERE agent_id = $1", []any{pin.AgentID}, &count); err != nil {
		return pin, err
	}
	if count >= store.MaxPins {
		return pin, store.ErrTooManyPins
	}
	_, err = tx.Exec(ctx,
		`INSERT INTO pins (id, agent_id, name, revision, version, aggregate_hash, snapshot_error, plugins, received_at, created_at,
		   drift_revision, changed) VALUES ($1, $2, $3, 0, 0, $4, '', 'null', 0, $5, 0, 0)`,
		pin.ID, pin.AgentID, pin.Name, []byte{}, now)
	if err != nil {
		return pin, err
	}
	return c.fill(ctx, tx, &pin, now)
}

// fill copies the agent's content into the pin, which has no rows, and gives the change a
// revision.
func (c *Core) fill(ctx context.Context, tx Tx, pin *store.Pin, now int64) (store.Pin, error) {
	// Values are copied between tables; missing ones are empty.
	_, err := tx.Exec(ctx,
		`UPDATE pins SET revision = s.revision, version = s.version, aggregate_hash = s.aggregate_hash,
		   snapshot_error = s.snapshot_error, plugins = s.plugins, received_at = s.received_at, pinned_at = $2
		 FROM (SELECT * FROM snapshots WHERE agent_id = $3 ORDER BY revision DESC LIMIT 1) s WHERE pins.id = $1`,
		pin.ID, now, pin.AgentID)
	if err != nil {
		return *pin, err
	}
	_, err = tx.Exec(ctx, "INSERT INTO pin_resources (pin_id, "+copied+") SELECT CAST($1 AS TEXT), "+rCopied+
		" FROM resources r WHERE r.agent_id = $2 AND r.until IS NULL", pin.ID, pin.AgentID)
	if err != nil {
		return *pin, err
	}
	changed, err := c.nextRevision(ctx, tx)
	if err != nil {
		return *pin, err
	}
	if _, err := tx.Exec(ctx, "UPDATE pins SET changed = $2 WHERE id = $1", pin.ID, changed); err != nil {
		return *pin, err
	}
	if _, err := tx.Exec(ctx, insertPinEvent, pin.ID, now); err != nil {
		return *pin, err
	}
	return readPin(ctx, tx, pin.ID)
}
