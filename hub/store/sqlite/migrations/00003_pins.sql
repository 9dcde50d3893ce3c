-- Pins: copies of snapshots that readers build on.
-- +goose Up
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
    changed        INTEGER NOT NULL -- revision of the last change
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

-- The resources that a revision touched: how many, and the first of their ids.
ALTER TABLE snapshots ADD COLUMN added INTEGER NOT NULL DEFAULT 0;
ALTER TABLE snapshots ADD COLUMN changed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE snapshots ADD COLUMN removed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE snapshots ADD COLUMN touched TEXT NOT NULL DEFAULT '[]'; -- JSON list

-- The newest revision that is kept no more, which isn't known of the past.
ALTER TABLE revision ADD COLUMN floor INTEGER NOT NULL DEFAULT 0;
UPDATE revision SET floor = value;
