-- What readers' tokens show, until when, and the sessions of browsers.
-- +goose Up
ALTER TABLE tokens ADD COLUMN scope TEXT; -- JSON list of agents; NULL: all
ALTER TABLE tokens ADD COLUMN expires_at BIGINT;

CREATE TABLE sessions (
    id         TEXT   COLLATE "C" NOT NULL PRIMARY KEY,
    hash       BYTEA  NOT NULL UNIQUE CHECK (length(hash) = 32),
    token_id   TEXT   COLLATE "C" NOT NULL REFERENCES tokens (id) ON DELETE CASCADE,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX sessions_token ON sessions (token_id);

-- Browsers had tokens of their own, which would open the API for ever.
UPDATE tokens SET revoked_at = CAST(extract(epoch FROM now()) * 1000000 AS BIGINT)
 WHERE role = 'reader' AND name = 'page' AND NOT provisioned AND revoked_at IS NULL;
