-- The tables are those of the SQLite store after its migration 2. Times are
-- microseconds since 1970 in UTC. What is compared or ordered is so by bytes.
-- +goose Up
CREATE TABLE agents (
    id         TEXT    COLLATE "C" NOT NULL PRIMARY KEY,
    name       TEXT    NOT NULL,
    created_at BIGINT  NOT NULL,
    -- given out last; see snapshots.generation
    generation BIGINT  NOT NULL DEFAULT 0
);

CREATE TABLE tokens (
    id           TEXT    COLLATE "C" NOT NULL PRIMARY KEY,
    rowid        BIGINT  NOT NULL GENERATED ALWAYS AS IDENTITY,
    hash         BYTEA   NOT NULL UNIQUE CHECK (length(hash) = 32),
    role         TEXT    NOT NULL CHECK (role IN ('agent', 'reader')),
    agent_id     TEXT    COLLATE "C" REFERENCES agents (id) ON DELETE CASCADE,
    name         TEXT    NOT NULL,
    provisioned  BOOLEAN NOT NULL,
    created_at   BIGINT  NOT NULL,
    last_used_at BIGINT,
    revoked_at   BIGINT,
    CHECK ((role = 'agent') = (agent_id IS NOT NULL))
);
CREATE INDEX tokens_agent ON tokens (agent_id);

-- One row: the store-wide revision of the last push that changed something.
-- Whoever makes a revision locks it until the end of the transaction, which
-- makes revisions visible in their order. It is updated by every push, so it
-- has room on its page for its newer versions.
CREATE TABLE revision (
    one   INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
    value BIGINT  NOT NULL
) WITH (fillfactor = 10);
INSERT INTO revision (one, value) VALUES (1, 0);

-- Payloads, once each.
CREATE TABLE bodies (
    hash    BYTEA NOT NULL PRIMARY KEY CHECK (length(hash) = 32), -- SHA-256
    payload BYTEA NOT NULL
);
-- Not compressed: with it, what is new would take nearly twice as long.
ALTER TABLE bodies ALTER COLUMN payload SET STORAGE EXTERNAL;

-- A row is a revision: a push that changed something.
CREATE TABLE snapshots (
    revision       BIGINT  NOT NULL PRIMARY KEY,
    agent_id       TEXT    COLLATE "C" NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    step           BIGINT  NOT NULL, -- rises with the agent's revisions
    generation     BIGINT  NOT NULL, -- of the session that pushed it last; older ones are refused
    version        BIGINT  NOT NULL CHECK (version >= 0),
    aggregate_hash BYTEA   NOT NULL,
    snapshot_error TEXT    NOT NULL,
    plugins        TEXT    NOT NULL, -- JSON list
    resources      INTEGER NOT NULL, -- how many
    payload_bytes  BIGINT  NOT NULL, -- of all of them
    written_bytes  BIGINT  NOT NULL, -- by this revision
    created_at     BIGINT  NOT NULL,
    received_at    BIGINT  NOT NULL -- when a push last brought this
);
CREATE UNIQUE INDEX snapshots_agent ON snapshots (agent_id, revision);
CREATE UNIQUE INDEX snapshots_step ON snapshots (agent_id, step);

-- A row holds from step since to the one before until; NULL: it holds now.
CREATE TABLE resources (
    number        BIGINT  NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    agent_id      TEXT    COLLATE "C" NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    id            TEXT    COLLATE "C" NOT NULL, -- kind:source#key
    since         BIGINT  NOT NULL,
    until         BIGINT  CHECK (until > since),
    kind          TEXT    NOT NULL,
    source        TEXT    NOT NULL,
    key           TEXT    NOT NULL,
    source_path   TEXT    NOT NULL,
    name          TEXT    NOT NULL,
    description   TEXT    NOT NULL,
    status        TEXT    NOT NULL,
    error         TEXT    NOT NULL,
    stale         BOOLEAN NOT NULL,
    content_hash  BYTEA   NOT NULL,
    size_bytes    BIGINT  NOT NULL CHECK (size_bytes >= 0),
    resolver      TEXT    NOT NULL,
    attributes    TEXT    NOT NULL, -- JSON object
    body          BYTEA   CONSTRAINT resources_body REFERENCES bodies (hash), -- NULL: no payload
    payload_bytes BIGINT  NOT NULL,
    digest        BYTEA   NOT NULL, -- of all that a push can change
    created_at    BIGINT  NOT NULL, -- when the agent first had such a resource
    updated_at    BIGINT  NOT NULL
);
CREATE UNIQUE INDEX resources_now ON resources (agent_id, id) WHERE until IS NULL;
CREATE INDEX resources_past ON resources (agent_id, until) WHERE until IS NOT NULL;
CREATE INDEX resources_body_index ON resources (body) WHERE body IS NOT NULL;
