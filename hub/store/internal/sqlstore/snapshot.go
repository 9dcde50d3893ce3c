package sqlstore

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"waymark/hub/store"
	"waymark/snapshot"
)

// Snapshot implements store.Store.
func (c *Core) Snapshot(ctx context.Context, q store.Query) (s store.StoredSnapshot, err error) {
	if !store.Findable(q.AgentID) {
		return s, &store.NotFoundError{What: "agent", ID: q.AgentID}
	}
	err = c.Database.View(ctx, func(tx Tx) error {
		s = store.StoredSnapshot{}
		step, err := readHead(ctx, tx, q, &s)
		if err != nil {
			return err
		}
		return readRows(ctx, tx, q.AgentID, step, !q.WithoutPayloads, &s.Snapshot)
	})
	if err != nil {
		return store.StoredSnapshot{}, fmt.Errorf("read snapshot: %w", err)
	}
	return s, nil
}

// readHead reads a snapshot without its resources.
func readHead(ctx context.Context, tx Tx, q store.Query, s *store.StoredSnapshot) (step int64, err error) {
	step, err = resolve(ctx, tx, q)
	if err != nil {
		return 0, err
	}
	var version, received int64
	var hash []byte
	var plugins, discovery string
	err = one(ctx, tx,
		`SELECT revision, version, aggregate_hash, snapshot_error, plugins, discovery, payload_bytes, received_at
		 FROM snapshots WHERE agent_id = $1 AND step = $2`, []any{q.AgentID, step},
		&s.Revision, &version, &hash, &s.Snapshot.SnapshotError, &plugins, &discovery, &s.Snapshot.PayloadBytes, &received)
	if err != nil {
		return 0, err
	}
	s.Snapshot.Version = uint64(version) //nolint:gosec // >= 0 by CHECK
	s.Snapshot.AggregateHash = toHash(hash)
	s.ReceivedAt = toTime(received)
	return step, errors.Join(json.Unmarshal([]byte(plugins), &s.Snapshot.Plugins), json.Unmarshal([]byte(discovery), &s.Snapshot.Discovery))
}

// resolve returns the step for a query. An agent's steps rise with its revisions.
func resolve(ctx context.Context, tx Tx, q store.Query) (int64, error) {
	limit := cmp.Or(q.Revision, math.MaxInt64)
	var step int64
	err := one(ctx, tx, "SELECT step FROM snapshots WHERE agent_id = $1 AND revision <= $2 ORDER BY revision DESC LIMIT 1",
		[]any{q.AgentID, limit}, &step)
	if !errors.Is(err, errNoRow) {
		return step, err
	}
	if err := checkAgent(ctx, tx, q.AgentID); err != nil {
		return 0, err
	}
	if q.Revision == 0 {
		return 0, &store.NotFoundError{What: "snapshot", ID: q.AgentID}
	}
	return 0, &store.NotFoundError{What: "revision", ID: strconv.FormatInt(q.Revision, 10)}
}

// fieldColumns are the columns of resources and of pin_resources that have a field of a
// resource each; fieldsOf has the fields. All statements are made of these two.
const fieldColumns = "r.kind, r.source, r.key, r.source_path, r.name, r.description, r.status, r.error, r.stale, r.content_hash, r.size_bytes, r.resolver"

func fieldsOf(r *snapshot.Resource) []any {
	return []any{
		(*string)(&r.Kind), &r.Source, &r.Key, &r.SourcePath, &r.Name, &r.Description, (*string)(&r.Status), &r.Error,
		&r.Stale, (*[]byte)(&r.ContentHash), &r.SizeBytes, &r.Resolver,
	}
}

// WrittenColumns are the columns of a row of resources that Written has the values for.
var WrittenColumns = "agent_id, since, created_at, updated_at, " + copied + ", whole, row_bytes"

// Written returns the values of a row that is valid since a step: strings, bools, int64s and
// []bytes, each column's always of one type.
func (w *Write) Written(agentID string, step, now int64) []any {
	values := []any{agentID, step, w.CreatedAt, now, w.ID}
	for _, field := range fieldsOf(w.Resource) {
		switch f := field.(type) {
		case *string:
			values = append(values, *f)
		case *bool:
			values = append(values, *f)
		case *int64:
			values = append(values, *f)
		case *[]byte:
			values = append(values, NotNull(*f))
		}
	}
	return append(values, w.Attributes, w.Facts, w.Body, w.Size, w.Digest[:], w.StoredWhole(), w.Rest)
}

// resourceColumns are what scanResource reads. A payload follows.
const resourceColumns = "r.id, " + fieldColumns + ", r.attributes, r.facts, r.body IS NOT NULL"

// The rows of agent $1 that are valid at step $2, in two halves because each has its own
// index.
const (
	holds     = "r.agent_id = $1 AND r.since <= $2 AND r.until IS NULL"
	held      = "r.agent_id = $1 AND r.since <= $2 AND r.until > $2"
	fromNaked = " FROM resources r WHERE "
	fromFull  = " FROM resources r LEFT JOIN bodies b ON b.hash = r.body WHERE "
)

func readRows(ctx context.Context, tx Tx, agentID string, step int64, payloads bool, s *snapshot.Snapshot) error {
	columns, from := "SELECT "+resourceColumns+", NULL", fromNaked
	if payloads {
		columns, from = "SELECT "+resourceColumns+", b.payload", fromFull
	}
	query := columns + from + holds + " UNION ALL " + columns + from + held + " ORDER BY id"
	return each(ctx, tx, query, []any{agentID, step}, func(rows Rows) error {
		var r snapshot.Resource
		if err := scanResource(rows, &r, payloads); err != nil {
			return err
		}
		s.Resources = append(s.Resources, r)
		return nil
	})
}

// scanResource reads resourceColumns and a payload, and what follows.
func scanResource(rows Rows, r *snapshot.Resource, payloads bool, more ...any) error {
	var id, attributes, facts string
	var hasBody bool
	err := rows.Scan(slices.Concat([]any{&id}, fieldsOf(r), []any{&attributes, &facts, &hasBody, &r.Payload}, more)...)
	if err != nil {
		return err
	}
	r.ContentHash = toHash(r.ContentHash)
	r.Payload = toPayload(r.Payload, payloads && hasBody)
	if err := ReadFacts(facts, r); err != nil {
		return err
	}
	if attributes != "{}" {
		return json.Unmarshal([]byte(attributes), &r.Attributes)
	}
	return nil
}

// ResourceBody implements store.Store.
func (c *Core) ResourceBody(ctx context.Context, q store.Query, resourceID string) (payload []byte, err error) {
	if !store.Findable(q.AgentID) || !store.Findable(resourceID) {
		return nil, &store.NotFoundError{What: "resource", ID: resourceID}
	}
	const columns = "SELECT r.body IS NOT NULL, b.payload"
	const query = columns + fromFull + holds + " AND r.id = $3 UNION ALL " + columns + fromFull + held + " AND r.id = $3"
	var hasBody bool
	err = c.Database.View(ctx, func(tx Tx) error {
		step, err := resolve(ctx, tx, q)
		if err != nil {
			return err
		}
		return one(ctx, tx, query, []any{q.AgentID, step, resourceID}, &hasBody, &payload)
	})
	return bodyOf(resourceID, hasBody, payload, err)
}

// bodyOf is the result of a query for one payload.
func bodyOf(resourceID string, hasBody bool, payload []byte, err error) ([]byte, error) {
	switch {
	case errors.Is(err, errNoRow):
		return nil, &store.NotFoundError{What: "resource", ID: resourceID}
	case err != nil:
		return nil, fmt.Errorf("read resource: %w", err)
	case !hasBody:
		return nil, &store.NotFoundError{What: "payload", ID: resourceID}
	}
	return toPayload(payload, true), nil
}

// toPayload distinguishes an empty payload from none. SQLite's driver returns nil for both.
func toPayload(b []byte, exists bool) []byte {
	if exists && b == nil {
		return []byte{}
	}
	return b
}
