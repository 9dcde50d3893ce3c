-- The tables of a hub's store. They are those of the PostgreSQL store, but for
-- what only one of the two needs. Times are microseconds since 1970 in UTC. Text
-- is UTF-8 without U+0000.
-- +goose Up
-- Who pushes, and who may push and read.

CREATE TABLE agents (
    id         TEXT    NOT NULL PRIMARY KEY,
    name       TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    generation INTEGER NOT NULL DEFAULT 0, -- given out last; see snapshots.generation
    hostname   TEXT    NOT NULL DEFAULT '', -- this and the next two are what it says of itself
    root       TEXT    NOT NULL DEFAULT '',
    agent_version TEXT    NOT NULL DEFAULT '',
    labels     TEXT    NOT NULL DEFAULT '{}', -- JSON object; given by operators, never by the agent
    seen_at    INTEGER -- when a hub last had a connection of it; NULL: never
) STRICT;

CREATE TABLE tokens (
    id           TEXT    NOT NULL PRIMARY KEY,
    hash         BLOB    NOT NULL UNIQUE CHECK (length(hash) = 32), -- SHA-256
    role         TEXT    NOT NULL CHECK (role IN ('agent', 'reader', 'operator')),
    agent_id     TEXT    REFERENCES agents (id) ON DELETE CASCADE,
    name         TEXT    NOT NULL,
    provisioned  INTEGER NOT NULL CHECK (provisioned IN (0, 1)), -- comes from a file of tokens
    scope        TEXT, -- JSON list of the agents that a reader may see; NULL: all
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER,
    last_used_at INTEGER,
    revoked_at   INTEGER,
    scope_labels TEXT, -- a reader's token may be for agents with certain labels: JSON object; NULL: all
    enrolled_by  TEXT, -- id of the enrollment key that made it
    CHECK ((role = 'agent') = (agent_id IS NOT NULL))
) STRICT;
CREATE INDEX tokens_agent ON tokens (agent_id);

-- The sessions of browsers, each with the rights of a reader's token.
CREATE TABLE sessions (
    id         TEXT    NOT NULL PRIMARY KEY,
    hash       BLOB    NOT NULL UNIQUE CHECK (length(hash) = 32),
    token_id   TEXT    NOT NULL REFERENCES tokens (id) ON DELETE CASCADE,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX sessions_token ON sessions (token_id);

-- Signed approvals of MCP servers, as they were brought.
CREATE TABLE approvals (
    id         TEXT    NOT NULL PRIMARY KEY,
    signed     BLOB    NOT NULL,
    expires_at INTEGER NOT NULL,
    added_by   TEXT    NOT NULL, -- id of a token
    added_at   INTEGER NOT NULL,
    revoked_at INTEGER,
    changed    INTEGER NOT NULL -- revision of the last change
) STRICT;
CREATE INDEX approvals_changed ON approvals (changed);

-- What was pushed.

-- One row: the newest revision of the whole store.
CREATE TABLE revision (
    one   INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
    value INTEGER NOT NULL,
    floor INTEGER NOT NULL, -- the newest revision that is no longer kept
    boot  TEXT    NOT NULL  -- the boot of the machine in which value was last known to be right
) STRICT;
INSERT INTO revision (one, value, floor, boot) VALUES (1, 0, 0, '');

-- Payloads, once each.
CREATE TABLE bodies (
    hash    BLOB NOT NULL PRIMARY KEY CHECK (length(hash) = 32), -- SHA-256
    payload BLOB NOT NULL
) STRICT;

-- Payloads that agents have brought and not named yet.
CREATE TABLE uploads (
    agent_id      TEXT    NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    body          BLOB NOT NULL CHECK (length(body) = 32), -- SHA-256
    payload       BLOB NOT NULL,
    payload_bytes INTEGER NOT NULL,
    created_at    INTEGER NOT NULL,
    PRIMARY KEY (agent_id, body)
) STRICT;
CREATE INDEX uploads_age ON uploads (created_at);

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
    discovery      TEXT    NOT NULL, -- JSON object
    summary        TEXT    NOT NULL, -- of discovery: JSON object
    resources      INTEGER NOT NULL, -- how many
    added          INTEGER NOT NULL, -- resources by this revision
    changed        INTEGER NOT NULL, -- likewise
    removed        INTEGER NOT NULL, -- likewise
    touched        TEXT    NOT NULL, -- ids of the first of those: JSON list
    payload_bytes  INTEGER NOT NULL, -- of all resources
    row_bytes      INTEGER NOT NULL, -- of all resources: claim.Size
    name           BLOB, -- what the agent calls it; NULL: nothing
    written_bytes  INTEGER NOT NULL, -- by this revision
    created_at     INTEGER NOT NULL,
    received_at    INTEGER NOT NULL, -- when a push last brought this
    failing        INTEGER NOT NULL DEFAULT 0 -- how many plugins: snapshot.Plugin.Failing
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
    row_bytes     INTEGER NOT NULL,
    digest        BLOB    NOT NULL, -- of all that a push can change: store.Digests
    created_at    INTEGER NOT NULL, -- when the agent first had such a resource
    updated_at    INTEGER NOT NULL,
    facts         TEXT    NOT NULL DEFAULT '', -- JSON object; '': none
    whole         BLOB -- SHA-256 of the row with its facts: claim.Row; NULL: none, it is the digest
) STRICT;
CREATE UNIQUE INDEX resources_now ON resources (agent_id, id) WHERE until IS NULL;
CREATE INDEX resources_past ON resources (agent_id, until) WHERE until IS NOT NULL;
CREATE INDEX resources_body ON resources (body) WHERE body IS NOT NULL;

-- What readers build on and follow.

-- Pins: copies of snapshots.
CREATE TABLE pins (
    id             TEXT    NOT NULL PRIMARY KEY,
    agent_id       TEXT    NOT NULL, -- of an agent that may be gone
    name           TEXT    NOT NULL,
    revision       INTEGER NOT NULL, -- that is pinned; 0: empty
    version        INTEGER NOT NULL,
    aggregate_hash BLOB    NOT NULL,
    snapshot_error TEXT    NOT NULL,
    plugins        TEXT    NOT NULL, -- JSON list
    received_at    INTEGER NOT NULL,
    created_at     INTEGER NOT NULL,
    pinned_at      INTEGER,
    drifted_at     INTEGER,
    drift_revision INTEGER NOT NULL,
    changed        INTEGER NOT NULL, -- revision of the last change
    manifests      TEXT -- of the files of its skills, JSON; NULL: they aren't known
) STRICT;
CREATE INDEX pins_agent ON pins (agent_id);
CREATE INDEX pins_changed ON pins (changed);

-- The columns are those of resources.
CREATE TABLE pin_resources (
    pin_id        TEXT    NOT NULL REFERENCES pins (id) ON DELETE CASCADE,
    id            TEXT    NOT NULL,
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
    size_bytes    INTEGER NOT NULL,
    resolver      TEXT    NOT NULL,
    attributes    TEXT    NOT NULL,
    body          BLOB    REFERENCES bodies (hash),
    payload_bytes INTEGER NOT NULL,
    digest        BLOB    NOT NULL,
    facts         TEXT    NOT NULL DEFAULT '',
    PRIMARY KEY (pin_id, id)
) STRICT;
CREATE INDEX pin_resources_body ON pin_resources (body) WHERE body IS NOT NULL;

-- What is gone, for readers that follow.
CREATE TABLE removals (
    revision   INTEGER NOT NULL PRIMARY KEY,
    what       TEXT    NOT NULL CHECK (what IN ('pin', 'agent')),
    id         TEXT    NOT NULL,
    was        TEXT    NOT NULL, -- JSON of the pin as it was
    removed_at INTEGER NOT NULL
) STRICT;

-- Codes and keys with which agents get tokens.
CREATE TABLE enrollments (
    id         TEXT    NOT NULL PRIMARY KEY,
    hash       BLOB    NOT NULL UNIQUE CHECK (length(hash) = 32), -- SHA-256
    name       TEXT    NOT NULL,
    agent_id   TEXT    NOT NULL, -- of the one agent that it makes; '': hubs choose
    labels     TEXT    NOT NULL, -- JSON object
    max_uses   INTEGER NOT NULL CHECK (max_uses > 0),
    uses       INTEGER NOT NULL CHECK (uses BETWEEN 0 AND max_uses),
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    revoked_at INTEGER
) STRICT;

-- Whom to tell of what goes wrong.
CREATE TABLE webhooks (
    id         TEXT    NOT NULL PRIMARY KEY,
    name       TEXT    NOT NULL,
    url        TEXT    NOT NULL,
    secret     TEXT    NOT NULL, -- as it is: signing needs it
    types      TEXT    NOT NULL, -- JSON list; of none: all
    insecure   INTEGER NOT NULL CHECK (insecure IN (0, 1)),
    private    INTEGER NOT NULL CHECK (private IN (0, 1)),
    created_at INTEGER NOT NULL,
    next_at    INTEGER NOT NULL, -- nothing is sent to it before; also a claim, while a hub sends
    failures   INTEGER NOT NULL DEFAULT 0,
    last_error TEXT    NOT NULL DEFAULT '',
    sent       INTEGER NOT NULL DEFAULT 0,
    sent_at    INTEGER,
    dropped    INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE webhook_messages (
    webhook_id TEXT    NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
    created_at INTEGER NOT NULL,
    id         TEXT    NOT NULL,
    body       TEXT    NOT NULL, -- JSON
    PRIMARY KEY (webhook_id, created_at, id)
) STRICT;
-- What was told, and holds or has held a while ago.
CREATE TABLE webhook_conditions (
    type       TEXT NOT NULL,
    subject    TEXT NOT NULL,
    cleared_at INTEGER, -- NULL: it holds
    PRIMARY KEY (type, subject)
) STRICT;
-- When a hub has looked last; whoever changes the row looks alone.
CREATE TABLE webhook_turn (
    one        INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
    at         INTEGER NOT NULL
) STRICT;
INSERT INTO webhook_turn (one, at) VALUES (1, 0);

-- The schema itself: a digest of these files, as package sqlstore computes it.
CREATE TABLE waymark_schema (
    digest TEXT NOT NULL
) STRICT;
