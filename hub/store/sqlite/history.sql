-- From the newest snapshot of each agent to its history.
ALTER TABLE resources RENAME TO old_resources;
ALTER TABLE snapshots RENAME TO old_snapshots;

-- The boot of the machine in which the revision was last known to be right.
ALTER TABLE revision ADD COLUMN boot TEXT NOT NULL DEFAULT '';

-- Payloads, once each.
CREATE TABLE bodies (
    hash    BLOB NOT NULL PRIMARY KEY CHECK (length(hash) = 32), -- SHA-256
    payload BLOB NOT NULL
) STRICT;

-- A row is a revision: a push that changed something.
CREATE TABLE snapshots (
    revision       INTEGER NOT NULL PRIMARY KEY,
    agent_id       TEXT    NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    step           INTEGER NOT NULL, -- rises with the agent's revisions
    generation     INTEGER NOT NULL, -- of the session that pushed it last; older ones are refused
    version        INTEGER NOT NULL CHECK (version >= 0),
    aggregate_hash BLOB    NOT NULL,
    snapshot_error TEXT    NOT NULL,
    plugins        TEXT    NOT NULL, -- JSON list
    resources      INTEGER NOT NULL, -- how many
    payload_bytes  INTEGER NOT NULL, -- of all of them
    written_bytes  INTEGER NOT NULL, -- by this revision
    created_at     INTEGER NOT NULL,
    received_at    INTEGER NOT NULL -- when a push last brought this
) STRICT;
CREATE UNIQUE INDEX snapshots_agent ON snapshots (agent_id, revision);
CREATE UNIQUE INDEX snapshots_step ON snapshots (agent_id, step);

-- A row holds from step since to the one before until; NULL: it holds now.
CREATE TABLE resources (
    number        INTEGER NOT NULL PRIMARY KEY,
    agent_id      TEXT    NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    id            TEXT    NOT NULL, -- kind:source#key
    since         INTEGER NOT NULL,
    until         INTEGER CHECK (until > since),
    kind          TEXT    NOT NULL,
    source        TEXT    NOT NULL,
    key           TEXT    NOT NULL,
    source_path   TEXT    NOT NULL,
    name          TEXT    NOT NULL,
    description   TEXT    NOT NULL,
    status        TEXT    NOT NULL,
    error         TEXT    NOT NULL,
    stale         INTEGER NOT NULL CHECK (stale IN (0, 1)),
    content_hash  BLOB    NOT NULL,
    size_bytes    INTEGER NOT NULL CHECK (size_bytes >= 0),
    resolver      TEXT    NOT NULL,
    attributes    TEXT    NOT NULL, -- JSON object
    body          BLOB    REFERENCES bodies (hash), -- NULL: no payload
    payload_bytes INTEGER NOT NULL,
    digest        BLOB    NOT NULL, -- of all that a push can change
    created_at    INTEGER NOT NULL, -- when the agent first had such a resource
    updated_at    INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX resources_now ON resources (agent_id, id) WHERE until IS NULL;
CREATE INDEX resources_past ON resources (agent_id, until) WHERE until IS NOT NULL;
CREATE INDEX resources_body ON resources (body) WHERE body IS NOT NULL;
