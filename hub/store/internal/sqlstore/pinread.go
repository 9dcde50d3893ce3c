package sqlstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"waymark/hub/store"
	"waymark/snapshot"
)

const (
	pinFull  = " FROM pin_resources r LEFT JOIN bodies b ON b.hash = r.body "
	pinNaked = " FROM pin_resources r "
)

// PinSnapshot implements store.Pins.
func (c *Core) PinSnapshot(ctx context.Context, id string, withoutPayloads bool) (pin store.Pin, s store.StoredSnapshot, err error) {
	if !store.Findable(id) {
		return pin, s, &store.NotFoundError{What: "pin", ID: id}
	}
	err = c.Database.View(ctx, func(tx Tx) error {
		s = store.StoredSnapshot{}
		if pin, err = readPin(ctx, tx, id); err != nil {
			return err
		}
		if pin.Revision == 0 {
			return &store.NotFoundError{What: "snapshot", ID: pin.AgentID}
		}
		if err := readPinHead(ctx, tx, &pin, &s); err != nil {
			return err
		}
		return readPinRows(ctx, tx, id, !withoutPayloads, &s.Snapshot)
	})
	if err != nil {
		return store.Pin{}, store.StoredSnapshot{}, fmt.Errorf("read pin: %w", err)
	}
	return pin, s, nil
}

// PinManifests implements store.Pins.
func (c *Core) PinManifests(ctx context.Context, id string) (manifests []byte, err error) {
	if !store.Findable(id) {
		return nil, &store.NotFoundError{What: "pin", ID: id}
	}
	err = c.Database.Read(ctx, func(tx Tx) error {
		if _, err := readPin(ctx, tx, id); err != nil {
			return err
		}
		var kept *string
		err := one(ctx, tx, "SELECT manifests FROM pins WHERE id = $1", []any{id}, &kept)
		manifests = nil
		if kept != nil {
			manifests = []byte(*kept)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read manifests: %w", err)
	}
	return manifests, nil
}

// readPinHead reads a pin without its resources. The discovery is the agent's current one,
// as are the rows that it describes.
func readPinHead(ctx context.Context, tx Tx, pin *store.Pin, s *store.StoredSnapshot) error {
	var version, received int64
	var plugins string
	var discovery *string
	err := one(ctx, tx,
		`SELECT version, snapshot_error, plugins, received_at,
		   (SELECT CAST(coalesce(sum(payload_bytes), 0) AS BIGINT) FROM pin_resources WHERE pin_id = $1),
		   (SELECT discovery FROM snapshots WHERE agent_id = pins.agent_id ORDER BY revision DESC LIMIT 1)
		 FROM pins WHERE id = $1`, []any{pin.ID}, &version, &s.Snapshot.SnapshotError, &plugins, &received, &s.Snapshot.PayloadBytes, &discovery)
	if err != nil {
		return err
	}
	s.Snapshot.Version = uint64(version) //nolint:gosec // of a snapshot, >= 0
	s.Snapshot.AggregateHash = pin.AggregateHash
	s.ReceivedAt, s.Revision = toTime(received), pin.Revision
	if discovery != nil { // otherwise the agent is removed
		err = json.Unmarshal([]byte(*discovery), &s.Snapshot.Discovery)
	}
	return errors.Join(err, json.Unmarshal([]byte(plugins), &s.Snapshot.Plugins))
}

func readPinRows(ctx context.Context, tx Tx, id string, payloads bool, s *snapshot.Snapshot) error {
	query := "SELECT " + resourceColumns + ", NULL" + pinNaked
	if payloads {
		query = "SELECT " + resourceColumns + ", b.payload" + pinFull
	}
	return each(ctx, tx, query+"WHERE r.pin_id = $1 ORDER BY id", []any{id}, func(rows Rows) error {
		var r snapshot.Resource
		if err := scanResource(rows, &r, payloads); err != nil {
			return err
		}
		s.Resources = append(s.Resources, r)
		return nil
	})
}

// PinBody implements store.Pins.
func (c *Core) PinBody(ctx context.Context, id, resourceID string) (payload []byte, err error) {
	if !store.Findable(id) {
		return nil, &store.NotFoundError{What: "pin", ID: id}
	}
	if !store.Findable(resourceID) {
		return nil, &store.NotFoundError{What: "resource", ID: resourceID}
	}
	var hasBody bool
	err = c.Database.View(ctx, func(tx Tx) error {
		if _, err := readPin(ctx, tx, id); err != nil {
			return err
		}
		return one(ctx, tx, "SELECT r.body IS NOT NULL, b.payload"+pinFull+"WHERE r.pin_id = $1 AND r.id = $2",
			[]any{id, resourceID}, &hasBody, &payload)
	})
	return bodyOf(resourceID, hasBody, payload, err)
}

// Rows that are in pin $1 but not the same in agent $2 now, and vice versa.
const pinDiffQuery = "SELECT " + resourceColumns + ", b.payload, r.digest, 0 AS later" + pinFull +
	`WHERE r.pin_id = $1 AND NOT EXISTS (
		SELECT 1 FROM resources o WHERE o.agent_id = $2 AND o.until IS NULL AND o.id = r.id AND o.digest = r.digest)
	UNION ALL SELECT ` + resourceColumns + ", b.payload, r.digest, 1" + fromFull +
	`r.agent_id = $2 AND r.until IS NULL AND NOT EXISTS (
		SELECT 1 FROM pin_resources o WHERE o.pin_id = $1 AND o.id = r.id AND o.digest = r.digest)
	ORDER BY id, later`

// PinDiff implements store.Pins.
func (c *Core) PinDiff(ctx context.Context, id string) (pin store.Pin, list []store.ResourceChange, revision int64, err error) {
	if !store.Findable(id) {
		return pin, nil, 0, &store.NotFoundError{What: "pin", ID: id}
	}
	err = c.Database.View(ctx, func(tx Tx) error {
		if pin, err = readPin(ctx, tx, id); err != nil {
			return err
		}
		err := one(ctx, tx, "SELECT coalesce(max(revision), 0) FROM snapshots WHERE agent_id = $1", []any{pin.AgentID}, &revision)
		if err != nil {
			return err
		}
		list, err = readDiff(ctx, tx, pinDiffQuery, id, pin.AgentID)
		return err
	})
	if err != nil {
		return store.Pin{}, nil, 0, fmt.Errorf("compare pin: %w", err)
	}
	return pin, list, revision, nil
}
