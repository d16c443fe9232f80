-- oldest-binary: 11
-- Which agents have been reported as silent. In the database, so that servers on one database report a silence once, and a
-- restart does not report it again. A table of its own: polls rewrite the workspace's row all the time.
CREATE TABLE silences (
  workspace_id BLOB NOT NULL PRIMARY KEY CHECK (length(workspace_id) = 16),
  since        INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- An agent that is offline became silent before.
INSERT INTO silences SELECT id, last_poll_at FROM workspaces
  WHERE status = 'offline' AND delivery_mode = 'poll' AND last_poll_at IS NOT NULL;

-- Tokens and sessions that ended long ago leave.
CREATE INDEX idx_tokens_revoked ON tokens (revoked_at) WHERE revoked_at IS NOT NULL;
CREATE INDEX idx_tokens_expires ON tokens (expires_at) WHERE expires_at IS NOT NULL;
