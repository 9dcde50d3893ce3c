-- Pins: copies of snapshots that readers build on. The tables are those of the
-- SQLite store after its migration 3.
-- +goose Up
CREATE TABLE pins (
    id             TEXT    COLLATE "C" NOT NULL PRIMARY KEY,
    agent_id       TEXT    COLLATE "C" NOT NULL, -- of an agent that may be gone
    name           TEXT    NOT NULL,
    revision       BIGINT  NOT NULL, -- that is pinned; 0: empty
    version        BIGINT  NOT NULL,
    aggregate_hash BYTEA   NOT NULL,
    snapshot_error TEXT    NOT NULL,
    plugins        TEXT    NOT NULL, -- JSON list
    received_at    BIGINT  NOT NULL,
    created_at     BIGINT  NOT NULL,
    pinned_at      BIGINT,
    drifted_at     BIGINT,
    drift_revision BIGINT  NOT NULL,
    changed        BIGINT  NOT NULL -- revision of the last change
);
CREATE INDEX pins_agent ON pins (agent_id);
CREATE INDEX pins_changed ON pins (changed);

-- The columns are those of resources.
CREATE TABLE pin_resources (
    pin_id        TEXT    COLLATE "C" NOT NULL REFERENCES pins (id) ON DELETE CASCADE,
    id            TEXT    COLLATE "C" NOT NULL,
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
    size_bytes    BIGINT  NOT NULL,
    resolver      TEXT    NOT NULL,
    attributes    TEXT    NOT NULL,
    body          BYTEA   CONSTRAINT pin_resources_body REFERENCES bodies (hash),
    payload_bytes BIGINT  NOT NULL,
    digest        BYTEA   NOT NULL,
    PRIMARY KEY (pin_id, id)
);
CREATE INDEX pin_resources_body_index ON pin_resources (body) WHERE body IS NOT NULL;

-- What is gone, for readers that follow.
CREATE TABLE removals (
    revision   BIGINT NOT NULL PRIMARY KEY,
    what       TEXT   NOT NULL CHECK (what IN ('pin', 'agent')),
    id         TEXT   COLLATE "C" NOT NULL,
    was        TEXT   NOT NULL, -- JSON of the pin as it was
    removed_at BIGINT NOT NULL
);

-- The resources that a revision touched: how many, and the first of their ids.
ALTER TABLE snapshots ADD COLUMN added INTEGER NOT NULL DEFAULT 0;
ALTER TABLE snapshots ADD COLUMN changed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE snapshots ADD COLUMN removed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE snapshots ADD COLUMN touched TEXT NOT NULL DEFAULT '[]'; -- JSON list

-- The newest revision that is kept no more, which isn't known of the past.
ALTER TABLE revision ADD COLUMN floor BIGINT NOT NULL DEFAULT 0;
UPDATE revision SET floor = value;
