-- What chats need.
-- +goose Up
ALTER TABLE pins ADD COLUMN manifests TEXT; -- of the files of its skills, JSON; NULL: they aren't known
