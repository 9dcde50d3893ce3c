-- What is known of a resource that no chat pins. A push that changes nothing else of a
-- row changes it in place, so that no history and no pin has another resource.
-- +goose Up
ALTER TABLE resources ADD COLUMN facts TEXT NOT NULL DEFAULT ''; -- JSON object; '': none
ALTER TABLE resources ADD COLUMN whole BLOB; -- SHA-256 of the row with its facts: claim.Row; NULL: none, it is the digest
ALTER TABLE pin_resources ADD COLUMN facts TEXT NOT NULL DEFAULT '';
