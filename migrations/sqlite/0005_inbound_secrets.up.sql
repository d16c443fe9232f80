-- What the platform shows to a push agent's callback. The one secret that must be readable again, so it is sealed under the
-- server's key file. A table of its own: heartbeats rewrite the workspace's row all the time.
CREATE TABLE inbound_secrets (
  workspace_id BLOB NOT NULL PRIMARY KEY CHECK (length(workspace_id) = 16),
  sealed       TEXT NOT NULL,
  updated_at   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
