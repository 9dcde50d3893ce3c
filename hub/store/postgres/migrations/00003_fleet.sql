-- What is known of an agent beside its snapshots.
-- +goose Up
ALTER TABLE agents ADD COLUMN hostname TEXT NOT NULL DEFAULT ''; -- this and the next two are what it says of itself
ALTER TABLE agents ADD COLUMN root TEXT NOT NULL DEFAULT '';
ALTER TABLE agents ADD COLUMN agent_version TEXT NOT NULL DEFAULT '';
ALTER TABLE agents ADD COLUMN labels TEXT NOT NULL DEFAULT '{}'; -- JSON object; given by operators, never by the agent
ALTER TABLE agents ADD COLUMN seen_at BIGINT; -- when a hub last had a connection of it; NULL: never, or before this was written
ALTER TABLE snapshots ADD COLUMN failing INTEGER NOT NULL DEFAULT 0; -- how many plugins: snapshot.Plugin.Failing
UPDATE snapshots SET failing = (SELECT count(*) FROM json_array_elements(snapshots.plugins::json) AS p
    WHERE p ->> 'state' IN ('failing', 'quarantined', 'rejected'));
