-- What chats need of a database that several hubs share.
-- +goose Up
ALTER TABLE hubs ADD COLUMN url TEXT NOT NULL DEFAULT ''; -- where other hubs reach it; '': nowhere
ALTER TABLE hubs ADD COLUMN secret TEXT NOT NULL DEFAULT ''; -- with which they do, as it is: they have to show it
ALTER TABLE pins ADD COLUMN manifests TEXT; -- of the files of its skills, JSON; NULL: they aren't known
