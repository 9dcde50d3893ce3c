-- Which agents are connected to which hub. It is said again every few seconds,
-- so nothing is lost when a crash empties the table.
-- +goose Up
CREATE UNLOGGED TABLE hubs (
    id     TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    agents TEXT        NOT NULL, -- JSON list
    until  TIMESTAMPTZ NOT NULL  -- by the database's clock
);
