-- What readers' tokens show, until when, and the sessions of browsers.
-- +goose Up
ALTER TABLE tokens ADD COLUMN scope TEXT; -- JSON list of agents; NULL: all
ALTER TABLE tokens ADD COLUMN expires_at INTEGER;

CREATE TABLE sessions (
    id         TEXT    NOT NULL PRIMARY KEY,
    hash       BLOB    NOT NULL UNIQUE CHECK (length(hash) = 32),
    token_id   TEXT    NOT NULL REFERENCES tokens (id) ON DELETE CASCADE,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX sessions_token ON sessions (token_id);

-- Browsers had tokens of their own, which would open the API for ever.
UPDATE tokens SET revoked_at = CAST(strftime('%s', 'now') AS INTEGER) * 1000000
 WHERE role = 'reader' AND name = 'page' AND NOT provisioned AND revoked_at IS NULL;
