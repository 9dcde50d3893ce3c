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
    seen_at    INTEGER, -- when a hub last had a connection of it; NULL: never
    -- Where it is connected: the id in hubs; 'away': nowhere, '': nowhere yet.
    hub        TEXT    NOT NULL DEFAULT '',
    -- By which lists are ordered and searched: sqlstore.indexAgent.
    name_key     TEXT  NOT NULL DEFAULT '',
    hostname_key TEXT  NOT NULL DEFAULT '',
    root_key     TEXT  NOT NULL DEFAULT '',
    version_key  TEXT  NOT NULL DEFAULT '',
    labels_key   TEXT  NOT NULL DEFAULT '',
    about        TEXT    NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX agents_name ON agents (name_key, id);
CREATE INDEX agents_hostname ON agents (hostname_key, name_key, id);
CREATE INDEX agents_root ON agents (root_key, name_key, id);
CREATE INDEX agents_version ON agents (version_key, name_key, id);
CREATE INDEX agents_labels ON agents (labels_key, name_key, id);
CREATE INDEX agents_hub ON agents (hub, name_key, id);
CREATE INDEX agents_away ON agents (hub, seen_at, name_key, id);

-- The labels of agents, once more.
CREATE TABLE agent_labels (
    name     TEXT NOT NULL,
    value    TEXT NOT NULL,
    agent_id TEXT NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    PRIMARY KEY (name, value, agent_id)
) STRICT;
CREATE INDEX agent_labels_agent ON agent_labels (agent_id);

-- A row for each agent: what lists show of its newest snapshot and its pins.
CREATE TABLE heads (
    agent_id       TEXT    NOT NULL PRIMARY KEY REFERENCES agents (id) ON DELETE CASCADE,
    name_key       TEXT    NOT NULL DEFAULT '', -- that of agents
    revision       INTEGER NOT NULL DEFAULT 0,
    version        INTEGER NOT NULL DEFAULT 0,
    aggregate_hash BLOB    NOT NULL DEFAULT x'',
    summary        TEXT    NOT NULL DEFAULT '', -- '': it has never pushed
    snapshot_error TEXT    NOT NULL DEFAULT '',
    resources      INTEGER NOT NULL DEFAULT 0,
    pushed_at      INTEGER NOT NULL DEFAULT 0,
    failing        INTEGER NOT NULL DEFAULT 0,
    -- The session whose push was accepted last, its run, and its hub; '': it has ended.
    writer         INTEGER NOT NULL DEFAULT 0,
    writer_run     TEXT    NOT NULL DEFAULT '',
    writer_hub     TEXT    NOT NULL DEFAULT '',
    drifted        INTEGER NOT NULL DEFAULT 0,
    invalid        INTEGER NOT NULL DEFAULT 0, -- resources of which nothing, or something old, was pushed
    -- MCP servers, by the outcomes in summary:
    failing_servers INTEGER GENERATED ALWAYS AS (CASE WHEN summary = '' THEN 0 ELSE coalesce(json_extract(summary, '$.outcomes.failed'), 0) END) STORED,
    waiting_servers INTEGER GENERATED ALWAYS AS (CASE WHEN summary = '' THEN 0 ELSE coalesce(json_extract(summary, '$.outcomes.needs_approval'), 0) + coalesce(json_extract(summary, '$.outcomes.needs_authorization'), 0) END) STORED,
    attention      INTEGER GENERATED ALWAYS AS (CASE WHEN snapshot_error <> '' THEN 1 ELSE 0 END
        + CASE WHEN failing > 0 THEN 1 ELSE 0 END + CASE WHEN drifted > 0 THEN 1 ELSE 0 END + CASE WHEN invalid > 0 THEN 1 ELSE 0 END
        + CASE WHEN (CASE WHEN summary = '' THEN 0 ELSE coalesce(json_extract(summary, '$.outcomes.failed'), 0) END) > 0 THEN 1 ELSE 0 END
        + CASE WHEN (CASE WHEN summary = '' THEN 0 ELSE coalesce(json_extract(summary, '$.outcomes.needs_approval'), 0) + coalesce(json_extract(summary, '$.outcomes.needs_authorization'), 0) END) > 0 THEN 1 ELSE 0 END) STORED
) STRICT;
CREATE INDEX heads_pushed ON heads (pushed_at, name_key, agent_id);
CREATE INDEX heads_resources ON heads (resources, name_key, agent_id);
CREATE INDEX heads_failing ON heads (failing, name_key, agent_id);
CREATE INDEX heads_drifted ON heads (drifted, name_key, agent_id);
CREATE INDEX heads_attention ON heads (attention, name_key, agent_id);
CREATE INDEX heads_error ON heads (name_key, agent_id) WHERE snapshot_error <> '';
CREATE INDEX heads_invalid ON heads (name_key, agent_id) WHERE invalid > 0;
CREATE INDEX heads_failing_servers ON heads (name_key, agent_id) WHERE failing_servers > 0;
CREATE INDEX heads_waiting_servers ON heads (name_key, agent_id) WHERE waiting_servers > 0;

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
    boot  TEXT    NOT NULL  -- the boot of the machine in which value was last known to be right
) STRICT;
INSERT INTO revision (one, value, boot) VALUES (1, 0, '');

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
CREATE INDEX resources_invalid ON resources (agent_id) WHERE until IS NULL AND (status <> 'ok' OR stale);
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
CREATE INDEX pins_drifted ON pins (agent_id) WHERE drifted_at IS NOT NULL;

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

-- What happened, for readers that follow. Rows are only added, and deleted when they are old.
-- No number comes again, also if its row was lost in a crash: sqlite_sequence has the last.
CREATE TABLE events (
    n              INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    what           TEXT    NOT NULL CHECK (what IN ('push', 'pin', 'deleted', 'agent')), -- a pin that was deleted, an agent that was removed
    revision       INTEGER NOT NULL,
    agent_id       TEXT    NOT NULL,
    pin_id         TEXT,
    was            TEXT, -- JSON of a deleted pin
    at             INTEGER NOT NULL,
    -- Of a push, as in snapshots, whose row may be gone:
    version        INTEGER NOT NULL DEFAULT 0,
    aggregate_hash BLOB    NOT NULL DEFAULT x'',
    resources      INTEGER NOT NULL DEFAULT 0,
    added          INTEGER NOT NULL DEFAULT 0,
    changed        INTEGER NOT NULL DEFAULT 0,
    removed        INTEGER NOT NULL DEFAULT 0,
    touched        TEXT    NOT NULL DEFAULT '[]',
    summary        TEXT    NOT NULL DEFAULT '{}',
    failing        INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX events_removed ON events (agent_id) WHERE what = 'agent';

-- One row: which life of the database this is, and up to where its events are deleted.
CREATE TABLE events_kept (
    one   INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
    epoch TEXT    NOT NULL,
    n     INTEGER NOT NULL
) STRICT;
INSERT INTO events_kept (one, epoch, n) VALUES (1, lower(hex(randomblob(6))), 0);

-- Hubs that serve, or did until a moment ago. Each writes its row every few seconds.
CREATE TABLE hubs (
    id     TEXT    NOT NULL PRIMARY KEY,
    until  INTEGER NOT NULL, -- its lease
    url    TEXT    NOT NULL, -- where other hubs reach it; '': nowhere
    secret TEXT    NOT NULL -- with which they do, as it is: they have to show it
) STRICT;

-- Agents that may have connections at several hubs: each looks at its rows.
CREATE TABLE contested (
    hub       TEXT  NOT NULL REFERENCES hubs (id) ON DELETE CASCADE,
    agent_id  TEXT  NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    not_heard INTEGER NOT NULL DEFAULT 0, -- connections there that know that another one has taken over
    PRIMARY KEY (hub, agent_id)
) STRICT;
CREATE INDEX contested_agent ON contested (agent_id);

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

-- What operators did. Rows are only added, and deleted when they are old.
CREATE TABLE audit (
    id       TEXT    NOT NULL PRIMARY KEY,
    at       INTEGER NOT NULL,
    by_token TEXT    NOT NULL, -- id of a token that may be gone
    by_name  TEXT    NOT NULL,
    what     TEXT    NOT NULL,
    subject  TEXT    NOT NULL, -- id of a token, an agent or something else that may be gone
    detail   TEXT    NOT NULL
) STRICT;
CREATE INDEX audit_at ON audit (at, id);
CREATE INDEX audit_subject ON audit (subject, at, id);

-- The schema itself: a digest of these files, as package sqlstore computes it.
CREATE TABLE waymark_schema (
    digest TEXT NOT NULL
) STRICT;
