package sqlstore

import (
	"fmt"
	"strings"

	"waymark/hub/store"
)

// The statements of a push that are the same in both databases. How they are
// sent differs: PostgreSQL gets them in batches, to save round trips.
const (
	SelectGeneration = "SELECT generation FROM agents WHERE id = $1"
	// SelectHead is for ScanHead: of the agent that %[1]s stands for.
	SelectHead = `SELECT revision, step, generation, version, name, aggregate_hash, snapshot_error, plugins, discovery, summary, failing,
		  resources, payload_bytes, row_bytes
		FROM snapshots WHERE agent_id = %[1]s ORDER BY revision DESC LIMIT 1`
	// SelectPast is for ScanPast: of the agent %[1]s, $2 at most.
	SelectPast = "SELECT revision, step, created_at, written_bytes FROM snapshots WHERE agent_id = %[1]s ORDER BY revision DESC LIMIT $2"
	// StoredColumns are for ScanStored.
	StoredColumns = "id, number, digest, coalesce(whole, digest), payload_bytes, row_bytes, created_at"
	// SelectBodies is for ScanBody: of those payloads that the condition, which is
	// the driver's, names, the ones that the agent has.
	SelectBodies = `SELECT body, payload_bytes FROM resources WHERE agent_id = $1 AND until IS NULL AND %[1]s
		UNION SELECT body, payload_bytes FROM resources WHERE agent_id = $1 AND until IS NOT NULL AND %[1]s
		UNION SELECT body, payload_bytes FROM uploads WHERE agent_id = $1 AND %[1]s`
	// UpdateHead writes that the push brought what is there: version,
	// generation, time, name and revision.
	UpdateHead = "UPDATE snapshots SET version = $1, generation = $2, received_at = $3, name = $4 WHERE revision = $5"
	// TakeUploads has payloads that the condition, which is the driver's, names be those of
	// rows, and DropUploads forgets what the agent has uploaded.
	TakeUploads = `INSERT INTO bodies (hash, payload) SELECT body, payload FROM uploads WHERE agent_id = $1 AND %s
		ON CONFLICT (hash) DO NOTHING`
	DropUploads = "DELETE FROM uploads WHERE agent_id = $1"
	InsertBody  = "INSERT INTO bodies (hash, payload) VALUES ($1, $2) ON CONFLICT (hash) DO NOTHING"
	DeletePast  = "DELETE FROM snapshots WHERE agent_id = $1 AND revision <= $2"
	DeleteRows  = "DELETE FROM resources WHERE agent_id = $1 AND until <= $2"
	// HeadFields bring the agent's newest snapshot s into heads.
	HeadFields = `revision = s.revision, version = s.version, aggregate_hash = s.aggregate_hash, summary = s.summary,
		snapshot_error = s.snapshot_error, resources = s.resources, pushed_at = s.received_at, failing = s.failing,
		invalid = (SELECT count(*) FROM resources r WHERE r.agent_id = s.agent_id AND r.until IS NULL AND (r.status <> 'ok' OR r.stale))`
	PushHead = "UPDATE heads SET " + HeadFields + " FROM (SELECT * FROM snapshots WHERE agent_id = $1 ORDER BY revision DESC LIMIT 1) AS s WHERE heads.agent_id = $1"
	// SetWriter says that a session's push was accepted first.
	SetWriter = "UPDATE heads SET writer = $2, writer_run = $3, writer_hub = $4 WHERE agent_id = $1"
	// countDrifted follows all that changes pins of agent $1.
	countDrifted = "UPDATE heads SET drifted = (SELECT count(*) FROM pins WHERE agent_id = $1 AND drifted_at IS NOT NULL) WHERE agent_id = $1"
)

// ScanHead reads the answer to SelectHead.
func ScanHead(scan func(dest ...any) error) (*Head, error) {
	h := new(Head)
	var hash []byte
	err := scan(&h.Revision, &h.Step, &h.Generation, &h.Version, &h.Name, &hash, &h.SnapshotError, &h.Plugins, &h.Discovery, &h.Summary, &h.Failing,
		&h.Resources, &h.PayloadBytes, &h.RowBytes)
	h.Hash = string(hash)
	return h, err
}

// ScanPast reads a row of the answer to SelectPast.
func ScanPast(scan func(dest ...any) error) (p Past, err error) {
	err = scan(&p.Revision, &p.Step, &p.CreatedAt, &p.Bytes)
	return p, err
}

// ScanStored reads a row of the answer to SelectStored.
func ScanStored(scan func(dest ...any) error) (id string, s Stored, err error) {
	err = scan(&id, &s.Row, &s.Digest, &s.Whole, &s.Payload, &s.Rest, &s.CreatedAt)
	return id, s, err
}

// ScanBody reads a row of the answer to SelectBodies into bodies.
func ScanBody(scan func(dest ...any) error, bodies map[store.Digest]int64) error {
	var name []byte
	var size int64
	if err := scan(&name, &size); err != nil {
		return err
	}
	if len(name) != len(store.Digest{}) {
		return fmt.Errorf("%w: the name of a payload has %d bytes", store.ErrCorrupt, len(name))
	}
	bodies[store.Digest(name)] = size
	return nil
}

// NotNull keeps an absent hash out of a driver's NULL.
func NotNull(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// Statement is one with its arguments.
type Statement struct {
	SQL  string
	Args []any
}

const (
	live = "('mcp_config', 'mcp_server')" // store.FollowsLive
	// headRevision is the newest revision of agent $1.
	headRevision = "(SELECT max(revision) FROM snapshots WHERE agent_id = $1)"

	hydratePins = "UPDATE pins SET revision = " + headRevision + ", changed = " + headRevision + `, version = $2, aggregate_hash = $3,
		snapshot_error = $4, plugins = $5, received_at = $6, pinned_at = $6 WHERE agent_id = $1 AND revision = 0`

	driftPins = "UPDATE pins SET drifted_at = $2, drift_revision = " + headRevision + ", changed = " + headRevision + `
		WHERE agent_id = $1 AND revision > 0 AND drifted_at IS NULL AND aggregate_hash <> $3`

	// What is live is the same in all pins of an agent, so that a push which
	// touches it changes them all.
	syncPins  = "UPDATE pins SET changed = " + headRevision + " WHERE agent_id = $1 AND revision > 0"
	synced    = "p.agent_id = $1 AND p.revision > 0 AND p.revision < " + headRevision
	unsyncRow = "DELETE FROM pin_resources WHERE kind IN " + live + " AND pin_id IN (SELECT p.id FROM pins p WHERE " + synced + ")"

	// rCopied are the columns that a pin copies of a row.
	rCopied = "r.id, " + fieldColumns + ", r.attributes, r.facts, r.body, r.payload_bytes, r.digest"
)

var (
	copied   = strings.ReplaceAll(rCopied, "r.", "")
	copyRows = "INSERT INTO pin_resources (pin_id, " + copied + ") SELECT p.id, " + rCopied +
		" FROM pins p JOIN resources r ON r.agent_id = p.agent_id WHERE "
	hydrateRows = copyRows + "p.agent_id = $1 AND p.revision = " + headRevision + " AND r.until IS NULL"
	syncRow     = copyRows + synced + " AND r.until IS NULL AND r.kind IN " + live
)

// PinStatements are what a push does to the pins of its agent, and what readers hear of
// them. They run after the push's snapshot is there, in its transaction; first says that the
// agent had no snapshot before. Payloads that only a pin's MCP rows had are left to Prune.
func PinStatements(agentID string, version int64, decided *Plan, first bool, now int64) []Statement {
	var list []Statement
	hash := []byte(decided.Head.Hash)
	if first {
		list = append(list,
			Statement{hydratePins, []any{agentID, version, hash, decided.Head.SnapshotError, decided.Head.Plugins, now}},
			Statement{hydrateRows, []any{agentID}})
	}
	// Pins of an agent of the same id that was removed have what was live then,
	// and learn that it is there again.
	if first || decided.TouchesLive {
		list = append(list, Statement{syncPins, []any{agentID}}, Statement{unsyncRow, []any{agentID}}, Statement{syncRow, []any{agentID}})
	}
	return append(list, Statement{driftPins, []any{agentID, now, hash}}, Statement{countDrifted, []any{agentID}}, Statement{pinEvents, []any{agentID, now}})
}
