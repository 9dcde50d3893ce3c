-- A database as the first release of the hub left it (schema version 1).
CREATE TABLE goose_db_version (
		id INTEGER PRIMARY KEY AUTOINCREMENT,
		version_id INTEGER NOT NULL,
		is_applied INTEGER NOT NULL,
		tstamp TIMESTAMP DEFAULT (datetime('now'))
	);
CREATE TABLE agents (
    id         TEXT    NOT NULL PRIMARY KEY,
    name       TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    -- the newest session; a push from any other is refused
    generation INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE tokens (
    id           TEXT    NOT NULL PRIMARY KEY,
    hash         BLOB    NOT NULL UNIQUE CHECK (length(hash) = 32),
    role         TEXT    NOT NULL CHECK (role IN ('agent', 'reader')),
    agent_id     TEXT    REFERENCES agents (id) ON DELETE CASCADE,
    name         TEXT    NOT NULL,
    provisioned  INTEGER NOT NULL CHECK (provisioned IN (0, 1)),
    created_at   INTEGER NOT NULL,
    last_used_at INTEGER,
    revoked_at   INTEGER,
    CHECK ((role = 'agent') = (agent_id IS NOT NULL))
) STRICT;
CREATE INDEX tokens_agent ON tokens (agent_id);
CREATE TABLE revision (
    one   INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
    value INTEGER NOT NULL
) STRICT;
CREATE TABLE snapshots (
    agent_id       TEXT    NOT NULL PRIMARY KEY REFERENCES agents (id) ON DELETE CASCADE,
    version        INTEGER NOT NULL CHECK (version >= 0),
    aggregate_hash BLOB    NOT NULL,
    snapshot_error TEXT    NOT NULL,
    plugins        TEXT    NOT NULL, -- JSON list
    resources      INTEGER NOT NULL, -- how many
    received_at    INTEGER NOT NULL,
    revision       INTEGER NOT NULL UNIQUE
) STRICT;
CREATE TABLE resources (
    agent_id     TEXT    NOT NULL REFERENCES snapshots (agent_id) ON DELETE CASCADE,
    id           TEXT    NOT NULL, -- kind:source#key
    kind         TEXT    NOT NULL,
    source       TEXT    NOT NULL,
    key          TEXT    NOT NULL,
    source_path  TEXT    NOT NULL,
    name         TEXT    NOT NULL,
    description  TEXT    NOT NULL,
    status       TEXT    NOT NULL,
    error        TEXT    NOT NULL,
    stale        INTEGER NOT NULL CHECK (stale IN (0, 1)),
    content_hash BLOB    NOT NULL,
    size_bytes   INTEGER NOT NULL CHECK (size_bytes >= 0),
    resolver     TEXT    NOT NULL,
    attributes   TEXT    NOT NULL, -- JSON object
    payload      BLOB,             -- NULL: none
    digest       BLOB    NOT NULL, -- store.RowDigest
    revision     INTEGER NOT NULL, -- of the push that last changed the row
    created_at   INTEGER NOT NULL,
    updated_at   INTEGER NOT NULL,
    PRIMARY KEY (agent_id, id)
) STRICT;
INSERT INTO goose_db_version VALUES (1, 0, 1, '2026-01-02 03:04:05');
INSERT INTO goose_db_version VALUES (2, 1, 1, '2026-01-02 03:04:05');
INSERT INTO agents VALUES ('dev-1', 'build machine', 1767323046000006, 2);
INSERT INTO agents VALUES ('dev-2', '', 1767323047000006, 2);
INSERT INTO agents VALUES ('silent', '', 1767323049000006, 0);
INSERT INTO tokens VALUES ('3f3c606c-d236-4083-9e2b-d0e63cac5fa7', X'7692C3AD3540BB803C020B3AEE66CD8887123234EA0C6E7143C0ADD73FF431ED', 'agent', 'dev-1', 'build machine', 0, 1767323046000006, NULL, NULL);
INSERT INTO tokens VALUES ('1d41020e-0c6b-4de4-a75c-c8de250de871', X'3FC4CCFE745870E2C0D99F71F30FF0656C8DEDD41CC1D7D3D376B0DBE685E2F3', 'agent', 'dev-2', '', 0, 1767323047000006, NULL, 1767323048000006);
INSERT INTO tokens VALUES ('e7d5311d-6aa2-4e5b-82a1-c0c93047bb04', X'8B5B9DB0C13DB24256C829AA364AA90C6D2EBA318B9232A4AB9313B954D3555F', 'agent', 'silent', '', 0, 1767323049000006, NULL, NULL);
INSERT INTO tokens VALUES ('22b0ac79-6eb6-404d-bcfc-9cf259c9963f', X'04EFAF080F5A3E74E1C29D1CA6A48569382CBBCD324E8D59D2B83EF21C039F00', 'reader', NULL, 'laptop', 0, 1767323050000006, NULL, NULL);
INSERT INTO tokens VALUES ('7519543c-41f9-46aa-be96-127575f16ecb', X'222B0BD51FCEF7E65C2E62DB2ED65457013BAB56BE6FAFEB19EE11D453153C80', 'reader', NULL, 'dashboard', 1, 1767323051000006, NULL, NULL);
DELETE FROM revision;
INSERT INTO revision VALUES (1, 4);
INSERT INTO snapshots VALUES ('dev-1', 4, X'AB00', 'no inotify', '[{"name":"waymark","version":"1.0.0","digest":"ab","path":"builtin","state":"ready","error":"","resolvers":["skills"]}]', 4, 1767323054000006, 3);
INSERT INTO snapshots VALUES ('dev-2', 1, X'', '', '[]', 0, 1767323055000006, 4);
INSERT INTO resources VALUES ('dev-1', 'skill:/w/.agents/skills/x#k', 'skill', '/w/.agents/skills/x', 'k', '/w', 'x', 'does <b>things</b> & more ☃  ', 'ok', '', 1, X'010203', 5, 'waymark/skills@1.0.0', '{"globs":["**/*.ts",""],"mode":"always","none":[]}', X'6100FF620A', X'B874182295541C6DA49736700BA301B132E337D0E5C7547CD513E35B71433B23', 1, 1767323052000006, 1767323052000006);
INSERT INTO resources VALUES ('dev-1', 'mcp_config:/w/.mcp.json', 'mcp_config', '/w/.mcp.json', '', '', '', '', 'invalid', 'not an object', 0, X'', 0, '', '{}', NULL, X'8DDF822F16419AC55F78C517D734C61329123DEC4EABA6DC450D0D8488A7A63F', 1, 1767323052000006, 1767323052000006);
INSERT INTO resources VALUES ('dev-1', 'instruction_file:/w/AGENTS.md', 'instruction_file', '/w/AGENTS.md', '', '', '', '', 'ok', '', 0, X'', 0, '', '{}', X'', X'06D572427CA40945DDBE2D26E518FA9FA3965F8BFBA63DCF70B56FFA3C56BADA', 3, 1767323054000006, 1767323054000006);
INSERT INTO resources VALUES ('dev-1', 'instruction_file:/w/CLAUDE.md', 'instruction_file', '/w/CLAUDE.md', '', '', '', '', 'ok', '', 0, X'', 5, '', '{}', X'6100FF620A', X'852F711FF249ACBD8F18364E99B1C13BCA0D50395F90FA2208955D3477FC79BC', 3, 1767323054000006, 1767323054000006);
PRAGMA application_id = 1465470283;
