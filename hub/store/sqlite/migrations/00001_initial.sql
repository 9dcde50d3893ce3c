-- Times are microseconds since 1970 in UTC. Text is UTF-8 without U+0000.
-- +goose Up
CREATE TABLE agents (
    id         TEXT    NOT NULL PRIMARY KEY,
    name       TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    -- the newest session; a push from any other is refused
    generation INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE tokens (
    id           TEXT    NOT NULL PRIMARY KEY,
    hash         BLOB    NOT NULL UNIQUE CHECK (length(hash) = 32),
    role         TEXT    NOT NULL CHECK (role IN ('agent', 'reader')),
    agent_id     TEXT    REFERENCES agents (id) ON DELETE CASCADE,
    name         TEXT    NOT NULL,
    provisioned  INTEGER NOT NULL CHECK (provisioned IN (0, 1)),
    created_at   INTEGER NOT NULL,
    last_used_at INTEGER,
    revoked_at   INTEGER,
    CHECK ((role = 'agent') = (agent_id IS NOT NULL))
) STRICT;
CREATE INDEX tokens_agent ON tokens (agent_id);

-- One row: the store-wide revision of the last accepted push.
CREATE TABLE revision (
    one   INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
    value INTEGER NOT NULL
) STRICT;
INSERT INTO revision (one, value) VALUES (1, 0);

CREATE TABLE snapshots (
    agent_id       TEXT    NOT NULL PRIMARY KEY REFERENCES agents (id) ON DELETE CASCADE,
    version        INTEGER NOT NULL CHECK (version >= 0),
    aggregate_hash BLOB    NOT NULL,
    snapshot_error TEXT    NOT NULL,
    plugins        TEXT    NOT NULL, -- JSON list
    resources      INTEGER NOT NULL, -- how many
    received_at    INTEGER NOT NULL,
    revision       INTEGER NOT NULL UNIQUE
) STRICT;

CREATE TABLE resources (
    agent_id     TEXT    NOT NULL REFERENCES snapshots (agent_id) ON DELETE CASCADE,
    id           TEXT    NOT NULL, -- kind:source#key
    kind         TEXT    NOT NULL,
    source       TEXT    NOT NULL,
    key          TEXT    NOT NULL,
    source_path  TEXT    NOT NULL,
    name         TEXT    NOT NULL,
    description  TEXT    NOT NULL,
    status       TEXT    NOT NULL,
    error        TEXT    NOT NULL,
    stale        INTEGER NOT NULL CHECK (stale IN (0, 1)),
    content_hash BLOB    NOT NULL,
    size_bytes   INTEGER NOT NULL CHECK (size_bytes >= 0),
    resolver     TEXT    NOT NULL,
    attributes   TEXT    NOT NULL, -- JSON object
    payload      BLOB,             -- NULL: none
    digest       BLOB    NOT NULL, -- store.RowDigest
    revision     INTEGER NOT NULL, -- of the push that last changed the row
    created_at   INTEGER NOT NULL,
    updated_at   INTEGER NOT NULL,
    PRIMARY KEY (agent_id, id)
) STRICT;
