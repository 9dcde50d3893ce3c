-- What is known of an agent beside its snapshots.
-- +goose Up
ALTER TABLE agents ADD COLUMN hostname TEXT NOT NULL DEFAULT ''; -- this and the next two are what it says of itself
ALTER TABLE agents ADD COLUMN root TEXT NOT NULL DEFAULT '';
ALTER TABLE agents ADD COLUMN agent_version TEXT NOT NULL DEFAULT '';
ALTER TABLE agents ADD COLUMN labels TEXT NOT NULL DEFAULT '{}'; -- JSON object; given by operators, never by the agent
ALTER TABLE agents ADD COLUMN seen_at INTEGER; -- when a hub last had a connection of it; NULL: never, or before this was written
ALTER TABLE snapshots ADD COLUMN failing INTEGER NOT NULL DEFAULT 0; -- how many plugins: snapshot.Plugin.Failing
UPDATE snapshots SET failing = (SELECT count(*) FROM json_each(snapshots.plugins) AS p
    WHERE json_extract(p.value, '$.state') IN ('failing', 'quarantined', 'rejected'));

-- A reader's token may be for agents with certain labels: JSON object; NULL: all.
ALTER TABLE tokens ADD COLUMN scope_labels TEXT;
ALTER TABLE tokens ADD COLUMN enrolled_by TEXT; -- id of the enrollment key that made it

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
    created_at INTEGER  NOT NULL,
    next_at    INTEGER  NOT NULL, -- nothing is sent to it before; also a claim, while a hub sends
    failures   INTEGER NOT NULL DEFAULT 0,
    last_error TEXT    NOT NULL DEFAULT '',
    sent       INTEGER  NOT NULL DEFAULT 0,
    sent_at    INTEGER,
    dropped    INTEGER  NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE webhook_messages (
    webhook_id TEXT    NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
    created_at INTEGER  NOT NULL,
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
    at         INTEGER  NOT NULL
) STRICT;
INSERT INTO webhook_turn (one, at) VALUES (1, 0);
